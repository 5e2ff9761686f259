//! Pages of lines to pieces of text, in reading order.

use std::collections::HashMap;

use model::{AtomKind, PageBox};
use unicode_normalization::UnicodeNormalization;

use super::block::{Block, Body, Shape, blocks};
use super::glyph::{Rect, Ruling};
use super::heading;
use super::line::Line;
use super::links::{self, Targets};
use super::marker;
use super::outline::Entry;
use super::page::PageText;
use super::prose::{self, Vocabulary};
use super::scan;
use super::table::{self, Run};
use super::{OnPage, aligned, figure, formula, furniture};
use crate::{Error, Leads, Piece, TextBuilder};

pub(super) fn assemble(
    mut pages: Vec<PageText>,
    outline: &[Entry],
    targets: &Targets,
    builder: &mut TextBuilder,
    on_page: OnPage<'_>,
) -> Result<(), Error> {
    furniture::mark(&mut pages);
    disclose(&pages, builder);
    let body = Body::of(pages.iter().map(|page| page.lines.as_slice()));
    let vocabulary = Vocabulary::of(text_lines(&pages));
    let (mut all, mut pictures) = (Vec::new(), HashMap::new());
    for page in pages {
        on_page(page.number);
        pictures.insert(page.number, page.images);
        let blocks = page_blocks(page.number, page.lines, &page.rulings, &body);
        all.extend(formula::find(blocks, &body));
    }
    on_page(0);
    let texts: Vec<String> = all
        .iter()
        .map(|block| text_of(block, &vocabulary))
        .collect();
    let levels = heading::levels(&all, &texts, &body, outline);
    Writer {
        builder,
        figures: figure::captioned(&all, &texts, &pictures),
        vocabulary: &vocabulary,
        targets,
        open: None,
        indents: Vec::new(),
    }
    .write(all, texts, &levels)
}

/// Grids first, then what stands in columns without one; all else is blocks of lines.
fn page_blocks(page: u32, lines: Vec<Line>, rulings: &[Ruling], body: &Body) -> Vec<Block> {
    let ruled = table::find(lines, rulings).into_iter();
    let runs = ruled.flat_map(|run| match run {
        Run::Lines(lines) => aligned::find(lines, rulings),
        table => vec![table],
    });
    runs.flat_map(|run| match run {
        Run::Lines(lines) => blocks(page, lines, body),
        Run::Table(table, lines) => vec![Block {
            page,
            shape: Shape::Table(table),
            lines,
        }],
    })
    .collect()
}

fn text_lines(pages: &[PageText]) -> impl Iterator<Item = &Line> + Clone {
    pages
        .iter()
        .flat_map(|page| page.lines.iter())
        .filter(|line| !line.artifact)
}

/// Says which pages hold no text that could be read.
fn disclose(pages: &[PageText], builder: &mut TextBuilder) {
    let mut recognised = Vec::new();
    for page in pages {
        if page.cut_short {
            let reason = "the page unpacks to more than a page may hold";
            builder.gap(Some((page.number, page.number)), reason);
        } else if page.damaged {
            let reason = "the page is damaged and could not be read to its end";
            builder.gap(Some((page.number, page.number)), reason);
        } else if page.is_scan() {
            match page.recognised {
                Some(0) => builder.gap(Some((page.number, page.number)), scan::NO_WORDS),
                Some(_) => recognised.push(page.number),
                None => builder.gap(Some((page.number, page.number)), scan::PICTURE),
            }
        } else if page.unmapped * 3 > page.glyphs && page.glyphs > 30 {
            let reason = "the page's fonts do not say which characters they print";
            builder.gap(Some((page.number, page.number)), reason);
        }
    }
    if let (Some(first), Some(last)) = (recognised.first(), recognised.last()) {
        let count = recognised.len();
        builder.warn(format!(
            "the words of {count} scanned pages ({first} to {last}) were recognised from \
             pictures and may be wrong"
        ));
    }
}

fn text_of(block: &Block, vocabulary: &Vocabulary) -> String {
    match &block.shape {
        Shape::Listing => prose::listing(&block.lines),
        _ => prose::join(&block.lines, vocabulary),
    }
}

/// Writes blocks as pieces; holds one back while the next may go on with it.
struct Writer<'b> {
    builder: &'b mut TextBuilder,
    vocabulary: &'b Vocabulary,
    targets: &'b Targets,
    /// The pictures of blocks that are captions.
    figures: HashMap<usize, Rect>,
    open: Option<Piece>,
    /// Where the items of the list at hand begin, outermost first.
    indents: Vec<f32>,
}

impl Writer<'_> {
    fn write(
        mut self,
        blocks: Vec<Block>,
        texts: Vec<String>,
        levels: &HashMap<usize, u8>,
    ) -> Result<(), Error> {
        let mut aside = Vec::new();
        for (at, (block, text)) in blocks.into_iter().zip(texts).enumerate() {
            let picture = self.figures.remove(&at);
            let places = [Some(block.rect()), picture].into_iter().flatten();
            let boxes = places.map(|rect| page_box(block.page, rect)).collect();
            if block.shape == Shape::Furniture {
                aside.push(Piece::new(AtomKind::Furniture, text).with_boxes(boxes));
                continue;
            }
            let (lines, mut piece) = self.piece(block, text, levels.get(&at).copied());
            piece.links = links::places(&lines, &piece.text, self.targets);
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

    /// The piece, and the lines it was.
    fn piece(&mut self, block: Block, text: String, level: Option<u8>) -> (Vec<Line>, Piece) {
        let first_left = block.first().left;
        let note = block.first().note_mark().map(str::to_owned);
        let piece = match (block.shape, level) {
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
                        depth: self.depth(first_left),
                        marker: found.label,
                    };
                    Piece::new(kind, &text[found.length..])
                }
                None => Piece::new(AtomKind::Paragraph, text),
            },
        };
        (block.lines, piece)
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
