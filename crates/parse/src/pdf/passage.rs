//! Pages to passages: blocks with their words, without the lines they were printed as.
//!
//! A passage is all that is left of a block until the whole document has been laid out; only
//! the levels of headings, and what goes on after the break of a page, are still open then.

use super::block::{Block, Body, Shape, blocks};
use super::folded::Folded;
use super::formula;
use super::glyph::{Rect, Ruling};
use super::heading::{self, Found, Named};
use super::line::Line;
use super::links::{self, Word};
use super::prose::{self, Vocabulary};
use super::table::{self, Run};
use super::{aligned, figure, marker};

#[derive(Debug)]
pub(super) struct Passage {
    /// Counted from 1.
    pub(super) page: u32,
    pub(super) shape: Shape,
    pub(super) text: String,
    pub(super) rect: Rect,
    /// Where its first line begins.
    pub(super) left: f32,
    /// The mark it begins with, where it is a note.
    pub(super) note: Option<String>,
    pub(super) heading: Option<Found>,
    /// The picture it is the caption of.
    pub(super) picture: Option<Rect>,
    /// Its words, if any of them leads somewhere.
    pub(super) words: Vec<Word>,
}

/// What a page is laid out by, of the document it belongs to.
pub(super) struct Layout {
    pub(super) body: Body,
    pub(super) vocabulary: Vocabulary,
    pub(super) named: Named,
}

impl Layout {
    /// The passages of a page in reading order.
    pub(super) fn passages(&self, page: &Folded) -> Vec<Passage> {
        let blocks = self.blocks(page.number, page.unfold(), &page.rulings);
        let texts: Vec<String> = blocks.iter().map(|block| self.text_of(block)).collect();
        let headings: Vec<Option<Found>> = (0..blocks.len())
            .map(|at| heading::find(&blocks, at, &texts[at], &self.body, &self.named))
            .collect();
        let all = blocks.into_iter().zip(texts).zip(headings);
        let all = all.map(|((block, text), heading)| Passage {
            page: block.page,
            rect: block.rect(),
            left: block.first().left,
            note: block.first().note_mark().map(str::to_owned),
            heading,
            picture: figure::captioned(&block, &text, &page.images),
            words: links::words(&block.lines),
            shape: block.shape,
            text,
        });
        labelled(all)
    }

    fn text_of(&self, block: &Block) -> String {
        match &block.shape {
            Shape::Listing => prose::listing(&block.lines),
            _ => prose::join(&block.lines, &self.vocabulary),
        }
    }

    /// Grids first, then what stands in columns without one; all else is blocks of lines.
    fn blocks(&self, page: u32, lines: Vec<Line>, rulings: &[Ruling]) -> Vec<Block> {
        let ruled = table::find(lines, rulings, &self.vocabulary).into_iter();
        let runs = ruled.flat_map(|run| match run {
            Run::Lines(lines) => aligned::find(lines, rulings),
            table => vec![table],
        });
        let found = runs.flat_map(|run| match run {
            Run::Lines(lines) => blocks(page, lines, &self.body),
            Run::Table(table, lines) => vec![Block {
                page,
                shape: Shape::Table(table),
                lines,
            }],
        });
        formula::find(found.collect(), &self.body)
    }
}

/// `Chapter 1` over the chapter's name is one heading with it.
fn labelled(all: impl Iterator<Item = Passage>) -> Vec<Passage> {
    let mut out: Vec<Passage> = Vec::new();
    for mut passage in all {
        let of_chapter =
            |label: &mut Passage| label.heading.is_some() && marker::is_chapter_label(&label.text);
        if passage.heading.is_some()
            && !marker::is_chapter_label(&passage.text)
            && let Some(label) = out.pop_if(of_chapter)
        {
            passage.text = format!("{} {}", label.text, passage.text);
            passage.rect = label.rect.union(&passage.rect);
            passage.words.splice(0..0, label.words);
        }
        out.push(passage);
    }
    out
}
