//! One sheet, read row by row.

use std::io::Read;

use model::Table;

use super::cell::Cells;
use super::merged::Merged;
use crate::Error;
use crate::builder::{Piece, TextBuilder};
use crate::divide::Divider;
use crate::xml::{Element, Token, Xml};

/// Columns beyond this are not placed by their letter: a lone cell far out would cost a row of blanks.
pub(super) const WIDEST: usize = 512;

/// Rows on their way into tables.
pub(super) struct Tables<'a> {
    /// The name of the sheet's part.
    part: &'a str,
    cells: &'a Cells,
    out: &'a mut TextBuilder,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    divider: Divider,
    /// Where the rows since the last table stand.
    source: Option<(u64, u64)>,
    merged: Merged,
    /// The number of the last row, from 1.
    row: u32,
    /// Formulas whose value is not kept.
    unvalued: usize,
}

impl<'a> Tables<'a> {
    pub(super) fn new(
        part: &'a str,
        cells: &'a Cells,
        merged: Merged,
        out: &'a mut TextBuilder,
    ) -> Self {
        Self {
            part,
            cells,
            out,
            merged,
            row: 0,
            unvalued: 0,
            header: Vec::new(),
            rows: Vec::new(),
            divider: Divider::default(),
            source: None,
        }
    }

    pub(super) fn unvalued(&self) -> usize {
        self.unvalued
    }

    pub(super) fn read<R: Read>(&mut self, xml: &mut Xml<R>) -> Result<(), Error> {
        let read = self.read_rows(xml);
        // What stands before a damaged place is told all the same.
        self.flush()?;
        read
    }

    fn read_rows<R: Read>(&mut self, xml: &mut Xml<R>) -> Result<(), Error> {
        while let Some(token) = xml.next()? {
            if let Token::Start(element) = token
                && element.name == "x:row"
            {
                let tree = xml.tree_so_far(element)?;
                let number = tree.attribute("r").and_then(|r| r.parse().ok());
                let next = self.row.saturating_add(1);
                let number = number.unwrap_or(next);
                // Rows with nothing in them need not be written.
                if number > next {
                    self.end_table()?;
                }
                self.row = number;
                self.unvalued += tree.children("x:c").filter(is_unvalued).count();
                let mut cells = row(&tree, self.cells);
                self.merged.fill(self.row, &mut cells);
                self.push(cells, tree.source)?;
            }
        }
        xml.ended()
    }

    /// The first row stands above all tables; a blank row ends one and its header.
    fn push(&mut self, row: Vec<String>, source: (u64, u64)) -> Result<(), Error> {
        if row.iter().all(|cell| cell.trim().is_empty()) {
            return self.end_table();
        }
        let start = self.source.map_or(source.0, |(start, _)| start);
        self.source = Some((start, source.1));
        if self.header.is_empty() {
            self.header = row;
            return Ok(());
        }
        let ends = self.divider.row(&row);
        self.rows.push(row);
        if ends {
            self.flush()?;
        }
        Ok(())
    }

    fn end_table(&mut self) -> Result<(), Error> {
        self.flush()?;
        self.header.clear();
        self.divider = Divider::default();
        Ok(())
    }

    /// Closes a table, if there are rows that stand in none; the header stays.
    fn flush(&mut self) -> Result<(), Error> {
        let Some(source) = self.source.take() else {
            return Ok(());
        };
        let mut rows = vec![self.header.clone()];
        rows.append(&mut self.rows);
        let table = Piece::table(Table {
            header_rows: 1,
            rows,
        });
        self.out.push(table.from_part(self.part, source))
    }
}

fn row(row: &Element, cells: &Cells) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for cell in row.children("x:c") {
        let column = cell.attribute("r").and_then(column);
        let column = column.filter(|at| *at >= out.len() && *at < WIDEST);
        out.resize(column.unwrap_or(out.len()), String::new());
        out.push(cells.text(cell));
    }
    let used = out.iter().rposition(|cell| !cell.trim().is_empty());
    out.truncate(used.map_or(0, |last| last + 1));
    out
}

/// Whether a cell has a formula and no value of it; an empty text is one.
fn is_unvalued(cell: &&Element) -> bool {
    let value = cell.child("x:v").map(Element::text).unwrap_or_default();
    cell.child("x:f").is_some() && value.is_empty() && cell.attribute("t") != Some("str")
}

/// The column of a place such as `BC12`, counted from 0.
pub(super) fn column(place: &str) -> Option<usize> {
    let letters = place.bytes().take_while(u8::is_ascii_uppercase).take(4);
    let number = letters.fold(0usize, |n, letter| n * 26 + usize::from(letter - b'A') + 1);
    number.checked_sub(1)
}
