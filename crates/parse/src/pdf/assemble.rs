//! Pages to pieces of text, in reading order.

use model::{AtomKind, PageBox};
use unicode_normalization::UnicodeNormalization;

use super::OnPage;
use super::block::{Body, Shape};
use super::folded::Folded;
use super::glyph::Rect;
use super::heading::{Found, Ladder, Named};
use super::links::{self, Targets};
use super::marker;
use super::outline::Entry;
use super::page::Outcome;
use super::passage::{Layout, Passage};
use super::prose::{self, Vocabulary};
use crate::{Error, Leads, Piece, TextBuilder};

pub(super) fn assemble(
    pages: Vec<Folded>,
    outline: &[Entry],
    targets: &Targets,
    builder: &mut TextBuilder,
    on_page: OnPage<'_>,
) -> Result<(), Error> {
    disclose(&pages, builder);
    let layout = Layout {
        body: Body::of(pages.iter().map(Folded::lines)),
        vocabulary: Vocabulary::of(pages.iter().flat_map(text_lines)),
        named: Named::of(outline),
    };
    let mut passages = Vec::new();
    for page in pages {
        on_page(page.number);
        passages.extend(layout.passages(&page));
    }
    on_page(0);
    let headings: Vec<Found> = passages.iter().filter_map(|p| p.heading).collect();
    Writer {
        builder,
        vocabulary: &layout.vocabulary,
        targets,
        ladder: Ladder::of(&headings),
        open: None,
        indents: Vec::new(),
    }
    .write(passages)
}

/// The words of each line of a page that is no furniture.
fn text_lines(page: &Folded) -> impl Iterator<Item = Vec<&str>> + Clone {
    let lines = page.lines().iter().zip(page.words());
    let text = lines.filter(|(line, _)| !line.artifact);
    text.map(|(_, words)| words)
}

/// Says which pages hold no text that could be read.
fn disclose(pages: &[Folded], builder: &mut TextBuilder) {
    let (mut recognised, mut pictured) = (Vec::new(), Vec::new());
    for page in pages {
        match page.outcome {
            Outcome::Read => {}
            Outcome::Recognised => recognised.push(page.number),
            Outcome::Pictured => pictured.push(page.number),
            Outcome::Gap(reason) => builder.gap(Some((page.number, page.number)), reason),
        }
    }
    if let (Some(first), Some(last)) = (recognised.first(), recognised.last()) {
        let count = recognised.len();
        builder.warn(format!(
            "the words of {count} scanned pages ({first} to {last}) were recognised from \
             pictures and may be wrong"
        ));
    }
    if let (Some(first), Some(last)) = (pictured.first(), pictured.last()) {
        let count = pictured.len();
        builder.warn(format!(
            "pictures fill most of {count} pages ({first} to {last}); words in them were not read"
        ));
    }
}

/// Writes passages as pieces; holds one back while the next may go on with it.
struct Writer<'b> {
    builder: &'b mut TextBuilder,
    vocabulary: &'b Vocabulary,
    targets: &'b Targets,
    ladder: Ladder,
    open: Option<Piece>,
    /// Where the items of the list at hand begin, outermost first.
    indents: Vec<f32>,
}

impl Writer<'_> {
    fn write(mut self, passages: Vec<Passage>) -> Result<(), Error> {
        let mut aside = Vec::new();
        for mut passage in passages {
            let places = [Some(passage.rect), passage.picture].into_iter().flatten();
            let boxes = places.map(|rect| page_box(passage.page, rect)).collect();
            if passage.shape == Shape::Furniture || is_unknown(&passage.text) {
                aside.push(Piece::new(AtomKind::Furniture, passage.text).with_boxes(boxes));
                continue;
            }
            let (words, picture) = (std::mem::take(&mut passage.words), passage.picture);
            let mut piece = self.piece(passage);
            piece.links = links::places(&words, &piece.text, self.targets);
            if picture.is_some() {
                piece.kind = AtomKind::Figure;
            }
            let piece = piece.with_boxes(boxes);
            match piece.kind {
                AtomKind::Footnote { .. } => aside.push(piece),
                _ => self.push(piece, &mut aside)?,
            }
        }
        self.flush(&mut aside)
    }

    fn piece(&mut self, passage: Passage) -> Piece {
        let Passage {
            text, left, note, ..
        } = passage;
        let level = passage.heading.map(|found| self.ladder.level(&found));
        match (passage.shape, level) {
            (Shape::Table(table), _) => Piece::table(table),
            (Shape::Formula, _) => Piece::new(AtomKind::Formula, text),
            (Shape::Listing, _) => Piece::new(AtomKind::Code { language: None }, text),
            (_, Some(level)) => {
                self.indents.clear();
                Piece::new(AtomKind::Heading { level }, text)
            }
            _ if note.is_some() => {
                let marker = note.unwrap_or_default();
                let words = text[marker.len()..].trim_start().to_owned();
                // A raised number of the font's own is the same number.
                let marker = marker.nfkc().collect();
                Piece::new(AtomKind::Footnote { marker }, words)
            }
            _ if marker::begins_caption(&text) => Piece::new(AtomKind::Caption, text),
            _ => match marker::item_marker(&text) {
                Some(found) => {
                    let kind = AtomKind::ListItem {
                        depth: self.depth(left),
                        marker: found.label,
                    };
                    Piece::new(kind, &text[found.length..])
                }
                None => Piece::new(AtomKind::Paragraph, text),
            },
        }
    }

    /// How deep in the list an item lies that begins here.
    fn depth(&mut self, left: f32) -> u8 {
        while self
            .indents
            .last()
            .is_some_and(|indent| *indent > left + 3.0)
        {
            self.indents.pop();
        }
        if self
            .indents
            .last()
            .is_none_or(|indent| *indent < left - 3.0)
        {
            self.indents.push(left);
        }
        (self.indents.len() - 1).min(8) as u8
    }

    /// Furniture and notes wait until the text around them is whole.
    fn push(&mut self, piece: Piece, aside: &mut Vec<Piece>) -> Result<(), Error> {
        match &mut self.open {
            Some(open) if goes_on(open, &piece) => {
                prose::append(&mut open.text, &piece.text, self.vocabulary);
                let shift = open.text.len() - piece.text.trim().len();
                open.links.extend(shifted(piece.links, shift));
                open.boxes.extend(piece.boxes);
                Ok(())
            }
            _ => {
                self.flush(aside)?;
                self.open = Some(piece);
                Ok(())
            }
        }
    }

    fn flush(&mut self, aside: &mut Vec<Piece>) -> Result<(), Error> {
        if let Some(open) = self.open.take() {
            self.builder.push(open)?;
        }
        for piece in aside.drain(..) {
            self.builder.push(piece)?;
        }
        Ok(())
    }
}

/// Links of a text that stands behind another one now.
/// Signs of a font that does not say which they are, such as notes of music, and nothing else.
fn is_unknown(text: &str) -> bool {
    let is_sign = |c: char| c == char::REPLACEMENT_CHARACTER || c.is_whitespace();
    !text.is_empty() && text.chars().all(is_sign)
}

fn shifted(links: Vec<Leads>, by: usize) -> impl Iterator<Item = Leads> {
    links.into_iter().map(move |link| Leads {
        words: link.words.start + by..link.words.end + by,
        ..link
    })
}

/// Whether a paragraph goes on after a page or column break.
fn goes_on(open: &Piece, next: &Piece) -> bool {
    let flows = matches!(open.kind, AtomKind::Paragraph | AtomKind::ListItem { .. });
    let (Some(before), Some(after)) = (open.boxes.last(), next.boxes.first()) else {
        return false;
    };
    let broken = after.page > before.page || after.top < before.top;
    let unfinished = !open
        .text
        .ends_with(['.', '!', '?', ':', ';', '。', '！', '？', '”', '"', '…']);
    let begins = next.text.chars().next();
    flows
        && next.kind == AtomKind::Paragraph
        && broken
        && unfinished
        && begins.is_some_and(|c| c.is_lowercase() || super::script::is_wide_char(c))
}

fn page_box(page: u32, rect: Rect) -> PageBox {
    let tenth = |v: f32| (v * 10.0).round() / 10.0;
    PageBox {
        page,
        left: tenth(rect.left),
        top: tenth(rect.top),
        right: tenth(rect.right),
        bottom: tenth(rect.bottom),
    }
}
