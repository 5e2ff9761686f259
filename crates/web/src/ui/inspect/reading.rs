//! A part of a document without pages as it reads: headings, paragraphs, lists and
//! tables, every word of them a way to its chunk.
//!
//! Chunks may repeat the end of the one before; here each stretch of text belongs to the
//! first chunk that has it, and the chosen chunk is marked whole, wherever it begins.

use std::ops::Range;

use model::{Atom, AtomKind, Table, Unit};

use super::rows::rows;
use super::view::View;
use crate::ui::marks::{Piece, pieces};

pub struct Block {
    /// Says how it looks.
    pub kind: &'static str,
    /// What stands before a list item.
    pub marker: String,
    pub runs: Vec<Stretch>,
    /// Of a table; the other two are empty then.
    pub rows: Vec<Vec<Cell>>,
}

/// Text that leads to one chunk.
pub struct Stretch {
    pub pieces: Vec<Piece>,
    pub href: String,
    pub chosen: bool,
    /// Whether the tab key stops here: once for each chunk is enough.
    pub stop: bool,
}

pub struct Cell {
    pub head: bool,
    pub run: Stretch,
}

/// The view is of this unit.
pub fn blocks(view: &View, unit: &Unit) -> Vec<Block> {
    let mut reader = Reader::new(view, unit);
    let indexed = unit.atoms.iter().filter(|atom| atom.kind.is_indexed());
    indexed.filter_map(|atom| reader.block(atom)).collect()
}

struct Reader<'v> {
    view: &'v View,
    unit: &'v Unit,
    /// What each chunk shows first, ascending and apart.
    owned: Vec<(usize, Range<usize>)>,
    chosen: Range<usize>,
    stopped: Option<usize>,
}

impl<'v> Reader<'v> {
    fn new(view: &'v View, unit: &'v Unit) -> Self {
        let mut shown = 0;
        let mut owned = Vec::new();
        for (at, stored) in view.chunks.iter().enumerate() {
            let span = stored.chunk.span.bytes();
            let range = span.start.max(shown)..span.end;
            shown = shown.max(span.end);
            if !range.is_empty() {
                owned.push((at, range));
            }
        }
        let chosen = view.chosen.map(|at| view.chunks[at].chunk.span.bytes());
        Self {
            view,
            unit,
            owned,
            chosen: chosen.unwrap_or_default(),
            stopped: None,
        }
    }

    /// Ranges are of the whole version, of which the unit has a slice.
    fn text(&self, range: Range<usize>) -> Option<&'v str> {
        let base = self.unit.span.bytes().start;
        let (from, to) = (range.start.checked_sub(base)?, range.end.checked_sub(base)?);
        self.unit.text.get(from..to)
    }

    fn block(&mut self, atom: &Atom) -> Option<Block> {
        let range = atom.span.bytes();
        let (kind, marker) = look(&atom.kind);
        let rows = match &atom.kind {
            AtomKind::Table(table) => self.rows(table, range.clone()),
            _ => Vec::new(),
        };
        let runs = match rows.is_empty() {
            true => self.stretches(range),
            false => Vec::new(),
        };
        (!runs.is_empty() || !rows.is_empty()).then_some(Block {
            kind,
            marker,
            runs,
            rows,
        })
    }

    /// A range, cut where chunks change.
    fn stretches(&mut self, range: Range<usize>) -> Vec<Stretch> {
        let mut found = Vec::new();
        for (at, owned) in self.owned.clone() {
            let here = owned.start.max(range.start)..owned.end.min(range.end);
            for part in cut(here, &self.chosen) {
                found.extend(self.stretch(at, part));
            }
        }
        let text = self.text(range.clone()).unwrap_or_default();
        if found.is_empty() && !text.trim().is_empty() {
            // A heading is in no chunk's text: it leads to what it stands over.
            let next = self.owned.iter().find(|(_, own)| own.start >= range.end);
            let at = next.or(self.owned.last()).map(|(at, _)| *at);
            found.extend(at.and_then(|at| self.stretch(at, range)));
        }
        found
    }

    fn stretch(&mut self, at: usize, range: Range<usize>) -> Option<Stretch> {
        let text = self.text(range.clone())?;
        Some(self.of_text(at, text, self.chosen.contains(&range.start)))
    }

    fn of_text(&mut self, at: usize, text: &str, chosen: bool) -> Stretch {
        let marks = match chosen {
            true => pipeline::query::highlights(&self.view.q, text),
            false => Vec::new(),
        };
        Stretch {
            pieces: pieces(text, &marks),
            href: self.view.href(at, self.view.page),
            chosen,
            // Nobody stops at an empty cell.
            stop: !text.is_empty() && self.stopped.replace(at) != Some(at),
        }
    }

    /// Each row leads to the chunk that has its line.
    fn rows(&mut self, table: &Table, range: Range<usize>) -> Vec<Vec<Cell>> {
        let text = self.text(range.clone()).unwrap_or_default();
        let mut shown = Vec::new();
        for row in rows(table, text) {
            let line = range.start + row.line.start..range.start + row.line.end;
            let owner = self
                .owned
                .iter()
                .find(|(_, owned)| owned.start < line.end && line.start < owned.end);
            let Some(at) = owner.map(|(at, _)| *at) else {
                continue;
            };
            let chosen = self.chosen.start < line.end && line.start < self.chosen.end;
            let cell = |text: &String| Cell {
                head: row.head,
                run: self.of_text(at, text, chosen),
            };
            shown.push(row.cells.iter().map(cell).collect());
        }
        shown
    }
}

/// A range in parts, each inside the mark or outside of it.
fn cut(range: Range<usize>, mark: &Range<usize>) -> Vec<Range<usize>> {
    let within = |at: usize| at.clamp(range.start, range.end.max(range.start));
    let (from, to) = (within(mark.start), within(mark.end));
    let parts = [range.start..from, from..to, to..range.end];
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}

fn look(kind: &AtomKind) -> (&'static str, String) {
    let plain = |kind| (kind, String::new());
    match kind {
        AtomKind::Heading { level: 0 | 1 } => plain("title"),
        AtomKind::Heading { level: 2 } => plain("head"),
        AtomKind::Heading { .. } => plain("subhead"),
        AtomKind::ListItem { depth, marker } => {
            let marker = marker.clone().unwrap_or_else(|| "•".to_owned());
            (if *depth == 0 { "item" } else { "item deep" }, marker)
        }
        AtomKind::Table(_) => plain("grid"),
        AtomKind::Code { .. } | AtomKind::Formula => plain("code"),
        AtomKind::Quote => plain("quote"),
        AtomKind::Caption | AtomKind::Figure => plain("caption"),
        AtomKind::Footnote { marker } => ("note", marker.clone()),
        AtomKind::Paragraph | AtomKind::Furniture => plain("para"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_cut_where_the_chosen_chunk_begins_and_ends() {
        let ends = |from, to, mark: Range<usize>| {
            let parts = cut(from..to, &mark).into_iter();
            parts.map(|part| (part.start, part.end)).collect::<Vec<_>>()
        };
        assert_eq!(ends(0, 10, 3..7), [(0, 3), (3, 7), (7, 10)]);
        assert_eq!(ends(0, 10, 0..0), [(0, 10)]);
        assert_eq!(ends(4, 6, 0..9), [(4, 6)]);
        assert_eq!(ends(6, 4, 0..9), []);
    }
}
