//! Running heads, running feet and page numbers, recognised across pages.
//!
//! In: the lines of every page. Out: which of them are furniture. A line near the edge
//! is, when the same words stand at the same height on other pages, one number in them
//! counting with the pages perhaps, or when it is a page number itself. A place where most
//! lines repeat is furniture as a whole: heads change with the chapter. What is set larger
//! than the text, or is bold and unlike all others, or is named by the outline, is a title,
//! and what stands alone on its page is that page's text: neither is taken. To lose a line of
//! text is far worse than to keep a running head.

use std::collections::HashMap;

use super::block::Body;
use super::folded::Folded;
use super::heading::Named;
use super::line::Line;
use super::order::median;
use super::page::PageText;

/// How many lines from either end are looked at.
const EDGE_LINES: usize = 4;
/// How far in the edges reach, as a part of the page's height.
const EDGE: f32 = 0.14;
/// A line set this much larger than the text is no running head.
const LARGE: f32 = 1.25;
/// A line of more numbers than this is no head: a row of figures.
const FEW_NUMBERS: usize = 6;
/// A page of fewer lines has no block of text that a head could be detached from.
const FULL_PAGE: usize = 8;

/// The lines near the edges of every page, as the pages were read.
#[derive(Debug, Default)]
pub(super) struct Edges {
    candidates: Vec<Candidate>,
    pages: usize,
}

/// A line near an edge.
#[derive(Debug)]
struct Candidate {
    page: usize,
    /// The page's own number, counted from 1.
    sheet: u32,
    line: usize,
    /// Height above or below the nearer edge, to the point; negative from the bottom.
    slot: i32,
    /// Its letters, with a sign for each of its numbers.
    words: String,
    numbers: Vec<i64>,
    /// Its own, where it is nothing but the number of a page.
    number: Option<i64>,
    /// Nothing stands further out, and white space parts it from the text it looks like.
    detached: bool,
    on_full_page: bool,
    size: f32,
}

impl Edges {
    /// Looks at the next page.
    pub(super) fn take(&mut self, page: &PageText) {
        self.candidates.extend(edge_lines(self.pages, page));
        self.pages += 1;
    }

    /// Marks what is furniture on the pages looked at.
    pub(super) fn mark(self, pages: &mut [Folded], named: &Named) {
        let body = Body::of(pages.iter().map(Folded::lines));
        for (page, line) in counting_numbers(&self.candidates) {
            pages[page].lines_mut()[line].artifact = true;
        }
        let heads = detached_slots(&self.candidates, pages, named);
        let found = repeated_lines(&self.candidates, &heads, body.size * LARGE);
        take_all_but_whole_pages(&found, pages);
    }
}

/// Pages and lines of what repeats, or stands where repeated lines or heads stand, and is not
/// large.
fn repeated_lines(
    candidates: &[Candidate],
    heads: &[i32],
    large: f32,
) -> HashMap<usize, Vec<usize>> {
    let repeated = repeats(candidates);
    let slots = furnished_slots(candidates, &repeated);
    let mut found: HashMap<usize, Vec<usize>> = HashMap::new();
    for (c, again) in candidates.iter().zip(&repeated) {
        let furniture =
            *again || slots.contains(&c.slot) || (c.detached && heads.contains(&c.slot));
        let is_title = c.size > large;
        if furniture && !is_title {
            found.entry(c.page).or_default().push(c.line);
        }
    }
    found
}

/// A page on which nothing would be left keeps its lines: they are its text, however like
/// another page's.
fn take_all_but_whole_pages(found: &HashMap<usize, Vec<usize>>, pages: &mut [Folded]) {
    for (page, taken) in found {
        let lines = pages[*page].lines_mut();
        let is_left = |at: usize| !lines[at].artifact && !taken.contains(&at);
        if (0..lines.len()).any(is_left) {
            taken.iter().for_each(|at| lines[*at].artifact = true);
        }
    }
}

fn edge_lines(index: usize, page: &PageText) -> Vec<Candidate> {
    let height = page.size.height;
    let mut at: Vec<usize> = (0..page.lines.len())
        .filter(|line| page.lines[*line].angle == 0)
        .collect();
    at.sort_by(|a, b| page.lines[*a].baseline.total_cmp(&page.lines[*b].baseline));
    let body = median(at.iter().map(|line| page.lines[*line].size)).unwrap_or(10.0);
    let lines = |at: usize| &page.lines[at];
    let mut found = Vec::new();
    for (nth, line) in at.iter().take(EDGE_LINES).enumerate() {
        if lines(*line).bottom() < height * EDGE {
            let next = at.get(nth + 1).filter(|_| nth == 0);
            let detached = next.is_some_and(|next| is_detached(lines(*line), lines(*next), body));
            let from_top = lines(*line).baseline;
            found.push(candidate(index, page, *line, from_top, detached));
        }
    }
    for (nth, line) in at.iter().rev().take(EDGE_LINES).enumerate() {
        if lines(*line).top() > height * (1.0 - EDGE) {
            let next = at.iter().rev().nth(nth + 1).filter(|_| nth == 0);
            let detached = next.is_some_and(|next| is_detached(lines(*line), lines(*next), body));
            let from_bottom = lines(*line).baseline - height - 2.0;
            found.push(candidate(index, page, *line, from_bottom, detached));
        }
    }
    found
}

/// No larger than the text, and further from it than its lines are from each other. What
/// stands alone on its page is the text; what is bold over text that is not is a title, unless
/// it has the number of the page with it.
fn is_detached(line: &Line, next: &Line, body: f32) -> bool {
    let gap = (next.baseline - line.baseline).abs();
    let is_title = line.look.is_bold() && !next.look.is_bold() && !has_number_at_an_end(line);
    line.size < body * 1.1 && gap > body * 1.7 && !is_title
}

fn has_number_at_an_end(line: &Line) -> bool {
    let ends = [line.parts.first(), line.parts.last()];
    let mut ends = ends.into_iter().flatten();
    ends.any(|part| page_number(&part.text).is_some())
}

fn candidate(index: usize, page: &PageText, line: usize, place: f32, detached: bool) -> Candidate {
    let text = page.lines[line].text();
    let (words, numbers) = words_and_numbers(&text);
    Candidate {
        page: index,
        sheet: page.number,
        line,
        slot: (place / 2.0).round() as i32,
        number: page_number(&text),
        words,
        numbers,
        detached,
        on_full_page: page.lines.len() >= FULL_PAGE,
        size: page.lines[line].size,
    }
}

/// Stands for a number among the letters of a line.
const NUMBER: char = '#';

/// The letters of a line, and its numbers. Those of a sentence are among its letters: with
/// others it says another thing.
fn words_and_numbers(text: &str) -> (String, Vec<i64>) {
    let (mut words, mut numbers) = (String::with_capacity(text.len()), Vec::new());
    let apart = is_sentence(text);
    let is_digit = |c: char| c.is_ascii_digit();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let same = |c: char| is_digit(c) == is_digit(first);
        let (run, after) = rest.split_at(rest.find(|c| !same(c)).unwrap_or(rest.len()));
        match run.parse() {
            Ok(number) if is_digit(first) && !apart => {
                numbers.push(number);
                words.push(NUMBER);
            }
            _ => words.extend(run.chars().filter(|c| !c.is_whitespace())),
        }
        rest = after;
    }
    (words, numbers)
}

fn is_sentence(text: &str) -> bool {
    text.split_whitespace().count() > 6 && text.trim_end().ends_with(['.', '?', '!'])
}

/// The number a line consists of, give or take ornaments: `- 12 -`, `Page 12`, `xii`.
fn page_number(text: &str) -> Option<i64> {
    let bare = text.trim_matches(|c: char| !c.is_alphanumeric());
    let bare = bare
        .strip_prefix("Page ")
        .or(bare.strip_prefix("page "))
        .unwrap_or(bare);
    let bare = bare
        .split_once(" of ")
        .map_or(bare, |(first, _)| first)
        .trim();
    if bare.len() <= 5
        && let Ok(number) = bare.parse()
    {
        return Some(number);
    }
    roman(bare)
}

fn roman(text: &str) -> Option<i64> {
    if text.is_empty() || text.len() > 8 {
        return None;
    }
    let value = |c: char| {
        Some(match c.to_ascii_lowercase() {
            'i' => 1,
            'v' => 5,
            'x' => 10,
            'l' => 50,
            'c' => 100,
            _ => return None,
        })
    };
    let digits: Vec<i64> = text.chars().map(value).collect::<Option<_>>()?;
    let signed = digits.iter().enumerate().map(|(at, digit)| {
        let smaller = digits.get(at + 1).is_some_and(|next| next > digit);
        if smaller { -digit } else { *digit }
    });
    Some(signed.sum())
}

/// What two lines have in common if they are the same head: their height, their words and all
/// numbers, the one that counts with the pages as its distance from them.
type Likeness<'c> = (i32, &'c str, Option<usize>, Vec<i64>);

/// What a line may have in common with others at this height. No more than one number counts:
/// two that both do are a date or a price, and not those of a page.
fn likenesses(c: &Candidate, slot: i32) -> impl Iterator<Item = Likeness<'_>> {
    let few = Some(c.numbers.len()).filter(|count| *count <= FEW_NUMBERS);
    let counting = std::iter::once(None).chain((0..few.unwrap_or(0)).map(Some));
    counting.map(move |counting| {
        let mut numbers = c.numbers.clone();
        if let Some(at) = counting {
            numbers[at] -= i64::from(c.sheet);
        }
        (slot, c.words.as_str(), counting, numbers)
    })
}

/// Which candidates' words stand at the same height on at least two other pages (or on the
/// other one, of two).
fn repeats(candidates: &[Candidate]) -> Vec<bool> {
    let is_number = |c: &Candidate| c.words.chars().eq([NUMBER]);
    // On how many pages, and the last of them.
    let mut pages: HashMap<Likeness<'_>, (usize, usize)> = HashMap::new();
    for c in candidates.iter().filter(|c| !is_number(c)) {
        for likeness in likenesses(c, c.slot) {
            let (seen, last) = pages.entry(likeness).or_insert((0, usize::MAX));
            *seen += usize::from(*last != c.page);
            *last = c.page;
        }
    }
    let needed = if candidates.iter().any(|c| c.page > 1) {
        3
    } else {
        2
    };
    let seen = |likeness: &Likeness<'_>| pages.get(likeness).map_or(0, |(seen, _)| *seen);
    let again = |c: &Candidate| {
        likenesses(c, c.slot).any(|mut likeness| {
            let near = (c.slot - 1..=c.slot + 1).map(|slot| {
                likeness.0 = slot;
                seen(&likeness)
            });
            near.sum::<usize>() >= needed
        })
    };
    candidates.iter().map(again).collect()
}

/// Heights where most of at least five lines are repeated somewhere.
fn furnished_slots(candidates: &[Candidate], repeated: &[bool]) -> Vec<i32> {
    let mut counts: HashMap<i32, (usize, usize)> = HashMap::new();
    for (c, again) in candidates.iter().zip(repeated) {
        let (all, some) = counts.entry(c.slot).or_default();
        *all += 1;
        *some += usize::from(*again || c.number.is_some());
    }
    let most = counts
        .into_iter()
        .filter(|(_, (all, some))| *all >= 5 && some * 10 >= all * 7);
    most.map(|(slot, _)| slot).collect()
}

/// Heights where a good part of the pages have a line detached from a block of text: heads
/// that name the section at hand never repeat. Where the outline names nearly all of them, each
/// on its page, they are the titles of those pages.
fn detached_slots(candidates: &[Candidate], pages: &[Folded], named: &Named) -> Vec<i32> {
    let mut counts: HashMap<i32, (usize, usize)> = HashMap::new();
    for c in candidates.iter().filter(|c| c.detached && c.on_full_page) {
        let (all, titles) = counts.entry(c.slot).or_default();
        *all += 1;
        *titles += usize::from(is_named(c, &pages[c.page], named));
    }
    let many = counts.into_iter().filter(|(_, (all, titles))| {
        *all >= 5 && all * 10 >= pages.len() * 3 && titles * 10 < all * 9
    });
    many.map(|(slot, _)| slot).collect()
}

fn is_named(c: &Candidate, page: &Folded, named: &Named) -> bool {
    let words = page.words();
    let text = words.get(c.line).map(|words| words.join(" "));
    text.is_some_and(|text| named.level(&text, c.sheet).is_some())
}

/// Numbers that stand alone and grow as the pages do.
fn counting_numbers(candidates: &[Candidate]) -> Vec<(usize, usize)> {
    let mut by_offset: HashMap<i64, Vec<(usize, usize)>> = HashMap::new();
    for c in candidates {
        if let Some(number) = c.number {
            let offset = number - i64::from(c.sheet);
            by_offset.entry(offset).or_default().push((c.page, c.line));
        }
    }
    let counting = by_offset.into_values().filter(|found| found.len() >= 2);
    counting.flatten().collect()
}
