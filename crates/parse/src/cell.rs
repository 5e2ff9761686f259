//! A cell of a table before the table is written: its words, and where they lead.

use model::{AtomKind, Table};

use crate::builder::{Leads, Piece};
use crate::render;

/// A longer text in a merged cell is no label of its rows.
pub(crate) const LONGEST_LABEL: usize = 1 << 10;

#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// In the order of their words.
    pub(crate) links: Vec<Leads>,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>, links: Vec<Leads>) -> Self {
        Self {
            text: text.into(),
            links,
        }
    }

    /// The same words where a merged cell stands once more, if they are few enough to be a label.
    /// Its links stand in the first place only. Neither a long text nor a long address must be
    /// repeated as often as a file says.
    pub(crate) fn again(&self) -> Self {
        let is_label = self.text.len() <= LONGEST_LABEL;
        let text = if is_label { self.text.as_str() } else { "" };
        Self::new(text, Vec::new())
    }

    /// Adds a line below, unless it is blank.
    pub(crate) fn add_line(&mut self, line: &Self) {
        let body = line.text.trim();
        if body.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let before = line.text.len() - line.text.trim_start().len();
        let base = self.text.len();
        let place = |at: usize| base + at.saturating_sub(before).min(body.len());
        self.links.extend(line.links.iter().map(|link| Leads {
            words: place(link.words.start)..place(link.words.end),
            target: link.target.clone(),
        }));
        self.text.push_str(body);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// The piece of a table made of such cells.
pub(crate) fn piece(header_rows: u32, cells: Vec<Vec<Cell>>) -> Piece {
    let mut links: Vec<Vec<Vec<Leads>>> = Vec::with_capacity(cells.len());
    let mut rows = Vec::with_capacity(cells.len());
    for row in cells {
        let (words, of_row) = row.into_iter().map(|cell| (cell.text, cell.links)).unzip();
        rows.push(words);
        links.push(of_row);
    }
    let table = Table { header_rows, rows };
    let (text, links) = render::linked_table(&table, &links);
    Piece::new(AtomKind::Table(table), text).with_links(links)
}

/// The same without blank rows, unless all are: no row becomes the header because the one that
/// was meant for it is blank.
pub(crate) fn piece_of_told(header_rows: u32, mut cells: Vec<Vec<Cell>>) -> Option<Piece> {
    let is_told = |row: &Vec<Cell>| row.iter().any(|cell| !cell.is_empty());
    let has_head = cells.first().is_some_and(is_told);
    cells.retain(is_told);
    let header_rows = if has_head { header_rows } else { 0 };
    (!cells.is_empty()).then(|| piece(header_rows, cells))
}
