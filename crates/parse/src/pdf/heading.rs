//! Which blocks are headings, and of which level.
//!
//! The outline is believed where it names a block. Elsewhere size, weight and
//! numbering decide; levels follow the outline's for blocks of the same style, then the
//! number's depth, then the rank of the style by size.

use std::collections::HashMap;

use super::block::{Block, Body, Shape, half_points, is_contents_entry};
use super::marker::{is_roman_section, section_depth, without_number};
use super::outline::Entry;

const MAX_LINES: usize = 4;
const MAX_LETTERS: u32 = 180;
/// How many blocks away one looks for others of a row.
const ROW: usize = 12;

/// How headings of one kind are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Style {
    /// Larger first.
    size: std::cmp::Reverse<i32>,
    plain: bool,
    italic: bool,
}

impl Style {
    fn of(block: &Block) -> Self {
        Self {
            size: std::cmp::Reverse(half_points(block.size())),
            plain: !block.is_bold(),
            italic: block.is_italic(),
        }
    }
}

/// A heading, as far as its page tells: its level takes those of all pages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    style: Style,
    depth: Option<u8>,
    outline: Option<u8>,
}

/// The heading that one of a page's blocks is. `text` is the block's words.
pub(super) fn find(
    blocks: &[Block],
    at: usize,
    text: &str,
    body: &Body,
    named: &Named,
) -> Option<Found> {
    let block = &blocks[at];
    let outline = named
        .level(text, block.page)
        .filter(|_| may_be_named(block, text));
    let looks = || {
        looks_like_heading(block, text, body)
            && !is_label(blocks, at)
            && !is_one_of_a_row(blocks, at)
    };
    (outline.is_some() || looks()).then(|| Found {
        style: Style::of(block),
        depth: section_depth(text),
        outline,
    })
}

/// Whether what follows stands in the same row: a term, and what it means.
fn is_label(blocks: &[Block], at: usize) -> bool {
    let block = &blocks[at];
    blocks.get(at + 1).is_some_and(|next| {
        let (label, text) = (block.last(), next.first());
        let row = (label.baseline - text.baseline).abs() < label.size * 0.4;
        row && text.left >= label.right
    })
}

/// Whether others of its size stand beside it: authors under a title, not headings.
fn is_one_of_a_row(blocks: &[Block], at: usize) -> bool {
    let block = &blocks[at];
    let line = block.first();
    let beside = |other: &Block| {
        let first = other.first();
        (first.baseline - line.baseline).abs() < line.size * 0.3
            && half_points(first.size) == half_points(line.size)
            && !first.overlaps_across(line)
    };
    let near = |step: &[Block]| step.iter().take(ROW).any(beside);
    let before = at.saturating_sub(ROW);
    !block.is_bold() && (near(&blocks[before..at]) || near(&blocks[at + 1..]))
}

fn may_be_named(block: &Block, text: &str) -> bool {
    block.shape == Shape::Prose && block.lines.len() <= MAX_LINES && !is_contents(block, text)
}

fn is_contents(block: &Block, text: &str) -> bool {
    is_contents_line(text) || is_contents_entry(block.last())
}

/// `Title . . . . 12`: an entry of a printed table of contents.
pub(super) fn is_contents_line(text: &str) -> bool {
    let dots = text.chars().rev().take(40).filter(|c| *c == '.').count();
    dots >= 4
        && text.ends_with(|c: char| c.is_ascii_digit() || c == '.' || matches!(c, 'i' | 'v' | 'x'))
}

fn looks_like_heading(block: &Block, text: &str, body: &Body) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let fits = block.shape == Shape::Prose
        && block.lines.len() <= MAX_LINES
        && block.letters() <= MAX_LETTERS
        && letters >= 2
        && block.first().angle == 0
        && block.lines.iter().all(|line| line.cells() <= 3);
    if !fits || is_contents(block, text) || ends_like_a_sentence(text) {
        return false;
    }
    let ratio = block.size() / body.size;
    let bold = block.is_bold() && !body.bold;
    let numbered = section_depth(text).is_some();
    let larger = ratio >= 1.15 || (ratio >= 1.05 && (bold || numbered));
    // Journals number theirs and set them a size smaller than the text.
    let least = if numbered { 0.85 } else { 0.93 };
    let marked = (bold || numbered && block.is_italic()) && ratio > least;
    let capitals = is_roman_section(text) && ratio > 0.7 && !text.contains(char::is_lowercase);
    larger || ((marked || capitals) && stands_like_heading(text, numbered))
}

/// Bold words of the body's size are a heading only when they read like one.
fn stands_like_heading(text: &str, numbered: bool) -> bool {
    let words = text.split_whitespace().count();
    let begins = without_number(text).chars().next();
    let capital = begins.is_some_and(|c| !c.is_lowercase());
    capital && words <= if numbered { 20 } else { 12 } && !text.ends_with(':')
}

fn ends_like_a_sentence(text: &str) -> bool {
    let long = text.split_whitespace().count() > 6;
    text.ends_with([',', ';']) || (long && text.ends_with(['.', '。']))
}

/// Outline titles by their words.
#[derive(Debug)]
pub(super) struct Named {
    by_words: HashMap<String, Vec<(u8, Option<u32>)>>,
}

impl Named {
    pub(super) fn of(outline: &[Entry]) -> Self {
        let mut by_words: HashMap<String, Vec<_>> = HashMap::new();
        for entry in outline {
            for words in forms(&entry.title) {
                by_words
                    .entry(words)
                    .or_default()
                    .push((entry.level, entry.page));
            }
        }
        Self { by_words }
    }

    /// The level of the entry that has these words and leads to this page.
    pub(super) fn level(&self, text: &str, page: u32) -> Option<u8> {
        if self.by_words.is_empty() {
            return None;
        }
        let here = |(level, target): &(u8, Option<u32>)| {
            let near = target.is_none_or(|target| target.abs_diff(page) == 0);
            near.then_some(*level)
        };
        forms(text)
            .iter()
            .filter_map(|words| self.by_words.get(words))
            .find_map(|places| places.iter().find_map(here))
    }
}

/// Letters and digits only, with the section number and without.
fn forms(title: &str) -> Vec<String> {
    let bare = |text: &str| -> String {
        let text = text.chars().filter(|c| c.is_alphanumeric());
        text.flat_map(char::to_lowercase).collect()
    };
    let mut forms = vec![bare(title), bare(without_number(title))];
    forms.dedup();
    forms.retain(|form| !form.is_empty());
    forms
}

/// Which level a style stands for.
pub(super) struct Ladder {
    by_style: HashMap<Style, u8>,
    by_depth: HashMap<u8, u8>,
}

impl Ladder {
    pub(super) fn of(found: &[Found]) -> Self {
        let known = || found.iter().filter_map(|f| Some((f, f.outline?)));
        let mut by_style = majority(known().map(|(f, level)| (f.style, level)));
        let by_depth = majority(known().filter_map(|(f, level)| Some((f.depth?, level))));
        let mut styles: Vec<Style> = found.iter().map(|f| f.style).collect();
        styles.sort_unstable();
        styles.dedup();
        // A style the outline never names stands below the next larger one that has a level.
        let mut above = 0;
        for style in styles {
            let level = *by_style.entry(style).or_insert((above + 1).min(6));
            above = above.max(level);
        }
        Self { by_style, by_depth }
    }

    pub(super) fn level(&self, found: &Found) -> u8 {
        let by_style = self.by_style.get(&found.style).copied().unwrap_or(1);
        let by_depth = found.depth.map(|depth| {
            let known = self.by_depth.get(&depth).copied();
            known.unwrap_or_else(|| self.deeper(depth).unwrap_or(by_style.max(depth)))
        });
        found.outline.or(by_depth).unwrap_or(by_style).clamp(1, 6)
    }

    /// The level of a number deeper than any the outline names.
    fn deeper(&self, depth: u8) -> Option<u8> {
        let (known, level) = self.by_depth.iter().filter(|(d, _)| **d < depth).max()?;
        Some(level + (depth - known))
    }
}

fn majority<K: std::hash::Hash + Eq>(votes: impl Iterator<Item = (K, u8)>) -> HashMap<K, u8> {
    let mut counts: HashMap<K, [u32; 16]> = HashMap::new();
    for (key, level) in votes {
        counts.entry(key).or_default()[usize::from(level.min(15))] += 1;
    }
    counts
        .into_iter()
        .map(|(key, levels)| {
            let most = (0..16_u8)
                .rev()
                .max_by_key(|level| levels[usize::from(*level)]);
            (key, most.unwrap_or(1))
        })
        .collect()
}
