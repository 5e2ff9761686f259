//! Running heads, running feet and page numbers, recognised across pages.
//!
//! In: the lines of every page. Out: which of them are furniture. A line near the edge
//! is, when the same words stand at the same height on other pages, one number in them
//! counting with the pages perhaps, or when it is a page number itself, or has one at an end
//! where most lines do. A place where most lines repeat is furniture as a whole: heads change
//! with the chapter. Where text stands on other pages nothing is taken, unless most lines
//! there repeat. What is set larger than the text, or is bold and unlike all others, or is
//! named by the outline, is a title, and what stands alone on its page is that page's text,
//! unless other pages have it above theirs. To lose a line of text is far worse than to keep a
//! running head.

use std::collections::{HashMap, HashSet};

use super::block::Body;
use super::edge::{EdgeLine, edge_lines};
use super::folded::Folded;
use super::heading::Named;
use super::page::PageText;
use super::running::{counting_numbers, running_lines};
use super::text_area::TextArea;

/// A line set this much larger than the text is no running head.
const LARGE: f32 = 1.25;
/// So many lines at one height tell what kind of place it is.
const TELLING: usize = 5;

/// The lines near the edges of every page, as the pages were read.
#[derive(Debug, Default)]
pub(super) struct Edges {
    lines: Vec<EdgeLine>,
    pages: usize,
}

impl Edges {
    /// Looks at the next page.
    pub(super) fn take(&mut self, page: &PageText) {
        self.lines.extend(edge_lines(self.pages, page));
        self.pages += 1;
    }

    /// Marks what is furniture on the pages looked at.
    pub(super) fn mark(self, pages: &mut [Folded], named: &Named) {
        let body = Body::of(pages.iter().map(Folded::lines));
        let numbers = counting_numbers(&self.lines);
        let running: Vec<bool> = running_lines(&self.lines)
            .into_iter()
            .zip(&numbers)
            .map(|(running, number)| running || *number)
            .collect();
        let area = TextArea::of(&self.lines, &running, &body, self.pages);
        let slots = Slots::of(&self.lines, &running, self.pages);
        let titles = title_slots(&self.lines, pages, named);
        let heads = detached_slots(&self.lines, &body, self.pages);
        let is_taken = |line: &EdgeLine, running: bool| {
            let is_furnished = if area.holds(line.slot) {
                running && slots.common.contains(&line.slot)
            } else {
                running || slots.furnished.contains(&line.slot)
            };
            let is_head = line.is_detached(&body) && heads.contains(&line.slot);
            (is_furnished || is_head) && !titles.contains(&line.slot)
        };
        let mut found: Vec<&EdgeLine> = Vec::new();
        for ((line, running), number) in self.lines.iter().zip(running).zip(numbers) {
            if !is_taken(line, running) {
                continue;
            }
            if number {
                pages[line.page].lines_mut()[line.line].artifact = true;
            } else if line.size <= body.size * LARGE {
                found.push(line);
            }
        }
        take_all_but_whole_pages(&found, pages);
    }
}

/// Marks what was found. A page on which nothing would be left keeps its lines: they are its
/// text, however like another such page's. What stands above text elsewhere is no text.
fn take_all_but_whole_pages(found: &[&EdgeLine], pages: &mut [Folded]) {
    let mut by_page: HashMap<usize, Vec<&EdgeLine>> = HashMap::new();
    for line in found {
        by_page.entry(line.page).or_default().push(line);
    }
    let mut heads: HashSet<&str> = HashSet::new();
    by_page.retain(|page, taken| {
        let lines = pages[*page].lines_mut();
        let is_taken = |at: usize| taken.iter().any(|line| line.line == at);
        let is_whole = (0..lines.len()).all(|at| lines[at].artifact || is_taken(at));
        if !is_whole {
            heads.extend(taken.iter().map(|line| line.words.as_str()));
            taken
                .iter()
                .for_each(|line| lines[line.line].artifact = true);
        }
        is_whole
    });
    for line in by_page.into_values().flatten() {
        if heads.contains(line.words.as_str()) {
            pages[line.page].lines_mut()[line.line].artifact = true;
        }
    }
}

/// Heights that are places of furniture.
struct Slots {
    /// Where most of the lines run from page to page.
    furnished: HashSet<i32>,
    /// Those of them where a good part of the pages have a line.
    common: HashSet<i32>,
}

impl Slots {
    fn of(lines: &[EdgeLine], running: &[bool], pages: usize) -> Self {
        let mut counts: HashMap<i32, (usize, usize)> = HashMap::new();
        for (line, running) in lines.iter().zip(running) {
            let (all, some) = counts.entry(line.slot).or_default();
            *all += 1;
            *some += usize::from(*running);
        }
        counts.retain(|_, (all, some)| *all >= TELLING && *some * 10 >= *all * 7);
        let furnished = counts.keys().copied().collect();
        counts.retain(|_, (all, _)| is_good_part(*all, pages));
        let common = counts.into_keys().collect();
        Self { furnished, common }
    }
}

fn is_good_part(lines: usize, pages: usize) -> bool {
    lines * 10 >= pages * 3
}

/// Heights where a good part of the pages have a line detached from a block of text: heads
/// that name the section at hand never repeat.
fn detached_slots(lines: &[EdgeLine], body: &Body, pages: usize) -> HashSet<i32> {
    let mut counts: HashMap<i32, usize> = HashMap::new();
    let detached = lines.iter().filter(|line| line.is_detached(body));
    for line in detached.filter(|line| line.on_full_page) {
        *counts.entry(line.slot).or_default() += 1;
    }
    counts.retain(|_, count| *count >= TELLING && is_good_part(*count, pages));
    counts.into_keys().collect()
}

/// Heights where the outline names nearly all lines, each on its page: they are the titles of
/// those pages.
fn title_slots(lines: &[EdgeLine], pages: &[Folded], named: &Named) -> HashSet<i32> {
    let mut counts: HashMap<i32, (usize, usize)> = HashMap::new();
    for line in lines.iter().filter(|line| line.is_outermost) {
        let (all, titles) = counts.entry(line.slot).or_default();
        *all += 1;
        *titles += usize::from(is_named(line, &pages[line.page], named));
    }
    counts.retain(|_, (all, titles)| *all >= TELLING && *titles * 10 >= *all * 9);
    counts.into_keys().collect()
}

fn is_named(line: &EdgeLine, page: &Folded, named: &Named) -> bool {
    let words = page.words();
    let text = words.get(line.line).map(|words| words.join(" "));
    text.is_some_and(|text| named.level(&text, line.sheet).is_some())
}
