//! Running heads, running feet and page numbers, recognised across pages.
//!
//! In: the lines of every page. Out: which of them are furniture. A line near the edge
//! is, when the same words (numbers aside) stand at the same height on other pages, or
//! when it is a page number that counts with the pages. A place where most lines repeat
//! is furniture as a whole: heads change with the chapter. What is set larger than the
//! text is a title, and what stands alone on its page is that page's text: neither is taken.

use std::collections::HashMap;

use super::block::Body;
use super::folded::Folded;
use super::line::Line;
use super::order::median;
use super::page::PageText;

/// How many lines from either end are looked at.
const EDGE_LINES: usize = 4;
/// How far in the edges reach, as a part of the page's height.
const EDGE: f32 = 0.14;
/// A line set this much larger than the text is no running head.
const LARGE: f32 = 1.25;
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
    line: usize,
    /// Height above or below the nearer edge, to the point; negative from the bottom.
    slot: i32,
    words: String,
    number: Option<i64>,
    /// Nothing stands further out, and white space parts it from the text.
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
    pub(super) fn mark(self, pages: &mut [Folded]) {
        let body = Body::of(pages.iter().map(Folded::lines));
        for (page, line) in counting_numbers(&self.candidates) {
            pages[page].lines_mut()[line].artifact = true;
        }
        let large = body.size * LARGE;
        let found = repeated_lines(&self.candidates, self.pages, large);
        take_all_but_whole_pages(&found, pages);
    }
}

/// Pages and lines of what repeats, or stands where repeated lines stand, and is not large.
fn repeated_lines(
    candidates: &[Candidate],
    pages: usize,
    large: f32,
) -> HashMap<usize, Vec<usize>> {
    let repeated = repeats(candidates);
    let slots = furnished_slots(candidates, &repeated);
    let heads = detached_slots(candidates, pages);
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
            let next = at.get(nth + 1).map(|next| lines(*next));
            let gap = next.map_or(0.0, |next| next.baseline - lines(*line).baseline);
            let detached = nth == 0 && is_detached(lines(*line), gap, body);
            let from_top = lines(*line).baseline;
            found.push(candidate(index, page, *line, from_top, detached));
        }
    }
    for (nth, line) in at.iter().rev().take(EDGE_LINES).enumerate() {
        if lines(*line).top() > height * (1.0 - EDGE) {
            let next = at.iter().rev().nth(nth + 1).map(|next| lines(*next));
            let gap = next.map_or(0.0, |next| lines(*line).baseline - next.baseline);
            let detached = nth == 0 && is_detached(lines(*line), gap, body);
            let from_bottom = lines(*line).baseline - height - 2.0;
            found.push(candidate(index, page, *line, from_bottom, detached));
        }
    }
    found
}

/// No larger than the text, and further from it than its lines are from each other. What
/// stands alone on its page is the text.
fn is_detached(line: &Line, gap: f32, body: f32) -> bool {
    line.size < body * 1.1 && gap > body * 1.7
}

fn candidate(index: usize, page: &PageText, line: usize, place: f32, detached: bool) -> Candidate {
    let text = page.lines[line].text();
    // A head differs in the number of the page; a sentence with other numbers says another thing.
    let exact = is_sentence(&text);
    let words = text
        .chars()
        .filter(|c| (exact || !c.is_numeric()) && !c.is_whitespace());
    Candidate {
        page: index,
        line,
        slot: (place / 2.0).round() as i32,
        number: page_number(&text),
        words: words.collect(),
        detached,
        on_full_page: page.lines.len() >= FULL_PAGE,
        size: page.lines[line].size,
    }
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

/// Which candidates' words stand at the same height on at least two other pages (or on the
/// other one, of two).
fn repeats(candidates: &[Candidate]) -> Vec<bool> {
    let mut pages: HashMap<(i32, &str), Vec<usize>> = HashMap::new();
    for c in candidates.iter().filter(|c| !c.words.is_empty()) {
        let seen = pages.entry((c.slot, &c.words)).or_default();
        if seen.last() != Some(&c.page) {
            seen.push(c.page);
        }
    }
    let needed = if candidates.iter().any(|c| c.page > 1) {
        3
    } else {
        2
    };
    candidates
        .iter()
        .map(|c| {
            let near = |slot: i32| pages.get(&(slot, c.words.as_str())).map_or(0, Vec::len);
            near(c.slot) + near(c.slot - 1) + near(c.slot + 1) >= needed
        })
        .collect()
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
/// that name the section at hand never repeat.
fn detached_slots(candidates: &[Candidate], pages: usize) -> Vec<i32> {
    let mut counts: HashMap<i32, usize> = HashMap::new();
    for c in candidates.iter().filter(|c| c.detached && c.on_full_page) {
        *counts.entry(c.slot).or_default() += 1;
    }
    let many = counts
        .into_iter()
        .filter(|(_, count)| *count >= 5 && count * 10 >= pages * 3);
    many.map(|(slot, _)| slot).collect()
}

/// Numbers that stand alone and grow as the pages do.
fn counting_numbers(candidates: &[Candidate]) -> Vec<(usize, usize)> {
    let mut by_offset: HashMap<i64, Vec<(usize, usize)>> = HashMap::new();
    for c in candidates {
        if let Some(number) = c.number {
            let offset = number - c.page as i64;
            by_offset.entry(offset).or_default().push((c.page, c.line));
        }
    }
    let counting = by_offset.into_values().filter(|found| found.len() >= 2);
    counting.flatten().collect()
}
