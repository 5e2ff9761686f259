//! The lines near the upper and the lower edge of a page: where running heads would be.

use super::block::Body;
use super::line::Line;
use super::page::PageText;
use super::page_number::page_number;

/// How many lines from either end are looked at.
const EDGE_LINES: usize = 4;
/// How far in the edges reach, as a part of the page's height.
const EDGE: f32 = 0.14;
/// A page of fewer lines has no block of text that a head could be detached from.
const FULL_PAGE: usize = 8;
/// Lines this much further apart than their size is are not those of one block.
const DETACHED: f32 = 1.7;

/// A line near an edge.
#[derive(Debug)]
pub(super) struct EdgeLine {
    /// Which of the pages read, counted from 0.
    pub(super) page: usize,
    /// The page's own number, counted from 1.
    pub(super) sheet: u32,
    /// Which of the page's lines.
    pub(super) line: usize,
    /// Height above or below the nearer edge, in steps of two points; negative from the bottom.
    pub(super) slot: i32,
    /// Its letters, with a sign for each of its numbers.
    pub(super) words: String,
    pub(super) numbers: Vec<i64>,
    /// Its own, where it is nothing but the number of a page.
    pub(super) number: Option<i64>,
    /// What it begins and ends with, where that might be the number of a page.
    pub(super) ends: [Option<i64>; 2],
    pub(super) size: f32,
    pub(super) on_full_page: bool,
    /// Nothing stands further out.
    pub(super) is_outermost: bool,
    /// How far it is to the next line further in.
    gap: f32,
    /// Bold over text that is not, and without a number that might be the page's.
    is_bold_title: bool,
}

impl EdgeLine {
    /// Stands outermost, no larger than the text, and further from it than its lines are from
    /// each other. What stands alone on its page is the text; what is bold over text that is
    /// not is a title.
    pub(super) fn is_detached(&self, body: &Body) -> bool {
        let alike = self.size < body.size * 1.1 && !self.is_bold_title;
        self.is_outermost && alike && self.gap > body.size * DETACHED && self.gap.is_finite()
    }

    /// As close to the next line as lines of a text are.
    pub(super) fn is_attached(&self, body: &Body) -> bool {
        self.gap <= body.size * DETACHED
    }
}

/// The lines near both edges of the `index`th page read, outermost first on either side.
pub(super) fn edge_lines(index: usize, page: &PageText) -> Vec<EdgeLine> {
    let height = page.size.height;
    let mut from_top: Vec<usize> = (0..page.lines.len())
        .filter(|line| page.lines[*line].angle == 0)
        .collect();
    from_top.sort_by(|a, b| page.lines[*a].baseline.total_cmp(&page.lines[*b].baseline));
    let from_bottom: Vec<usize> = from_top.iter().rev().copied().collect();
    let mut found = Vec::new();
    for (nth, at) in from_top.iter().take(EDGE_LINES).enumerate() {
        let line = &page.lines[*at];
        if line.bottom() < height * EDGE {
            found.push(edge_line((index, page), &from_top, nth, line.baseline));
        }
    }
    for (nth, at) in from_bottom.iter().take(EDGE_LINES).enumerate() {
        let line = &page.lines[*at];
        if line.top() > height * (1.0 - EDGE) {
            let place = line.baseline - height - 2.0;
            found.push(edge_line((index, page), &from_bottom, nth, place));
        }
    }
    found
}

/// The `nth` of the lines named by `inward`, which are those of the page from the edge on.
fn edge_line(
    (index, page): (usize, &PageText),
    inward: &[usize],
    nth: usize,
    place: f32,
) -> EdgeLine {
    let line = &page.lines[inward[nth]];
    let text = line.text();
    let (words, numbers) = words_and_numbers(&text);
    // What stands beside it, a number at the other margin say, is neither further out nor in.
    let distance = |at: &usize| (page.lines[*at].baseline - line.baseline).abs();
    let is_beside = |at: &&usize| distance(at) < line.size * 0.5;
    let next = inward[nth + 1..].iter().find(|at| !is_beside(at));
    let next_is_bold = next.is_some_and(|at| page.lines[*at].look.is_bold());
    EdgeLine {
        page: index,
        sheet: page.number,
        line: inward[nth],
        slot: (place / 2.0).round() as i32,
        number: page_number(&text),
        words,
        numbers,
        ends: number_at_ends(&text),
        size: line.size,
        on_full_page: page.lines.len() >= FULL_PAGE,
        is_outermost: inward[..nth].iter().all(|at| is_beside(&at)),
        gap: next.map_or(f32::INFINITY, distance),
        is_bold_title: line.look.is_bold() && !next_is_bold && !has_number_at_an_end(line),
    }
}

fn has_number_at_an_end(line: &Line) -> bool {
    let ends = [line.parts.first(), line.parts.last()];
    let mut ends = ends.into_iter().flatten();
    ends.any(|part| page_number(&part.text).is_some())
}

fn number_at_ends(text: &str) -> [Option<i64>; 2] {
    let mut words = text.split_whitespace();
    [words.next(), words.next_back()].map(|word| word.and_then(page_number))
}

/// Stands for a number among the letters of a line.
pub(super) const NUMBER: char = '#';

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
