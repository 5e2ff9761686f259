//! One sheet, read row by row.

use std::io::BufRead;

use model::Table;

use super::cell::Cells;
use crate::Error;
use crate::builder::{Piece, TextBuilder};
use crate::xml::{Element, Token, Xml};

/// A table atom is closed at this many rows or bytes.
const ROWS: usize = 50;
const BYTES: usize = 8 << 10;
/// Columns beyond this are not placed by their letter: a lone cell far out would cost a row of blanks.
const WIDEST: usize = 512;

pub(super) fn write<R: BufRead>(
    xml: &mut Xml<R>,
    cells: &Cells,
    out: &mut TextBuilder,
) -> Result<(), Error> {
    let mut tables = Tables::default();
    let read = read(xml, cells, &mut tables, out);
    // What stands before a damaged place is told all the same.
    tables.flush(out)?;
    read
}

fn read<R: BufRead>(
    xml: &mut Xml<R>,
    cells: &Cells,
    tables: &mut Tables,
    out: &mut TextBuilder,
) -> Result<(), Error> {
    while let Some(token) = xml.next()? {
        if let Token::Start(element) = token
            && element.name == "x:row"
        {
            let row = row(&xml.tree(element)?, cells);
            tables.push(row, out)?;
        }
    }
    Ok(())
}

#[derive(Default)]
struct Tables {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    bytes: usize,
}

impl Tables {
    /// The first row stands above all tables; a blank row ends one and its header.
    fn push(&mut self, row: Vec<String>, out: &mut TextBuilder) -> Result<(), Error> {
        if row.iter().all(|cell| cell.trim().is_empty()) {
            self.flush(out)?;
            self.header.clear();
            return Ok(());
        }
        if self.header.is_empty() {
            self.header = row;
            return Ok(());
        }
        self.bytes += row.iter().map(String::len).sum::<usize>();
        self.rows.push(row);
        if self.rows.len() >= ROWS || self.bytes >= BYTES {
            self.flush_keeping_header(out)?;
        }
        Ok(())
    }

    fn flush(&mut self, out: &mut TextBuilder) -> Result<(), Error> {
        if self.header.is_empty() {
            return Ok(());
        }
        self.flush_keeping_header(out)
    }

    fn flush_keeping_header(&mut self, out: &mut TextBuilder) -> Result<(), Error> {
        let mut rows = vec![self.header.clone()];
        rows.append(&mut self.rows);
        self.bytes = 0;
        out.push(Piece::table(Table {
            header_rows: 1,
            rows,
        }))
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

/// The column of a place such as `BC12`, counted from 0.
fn column(place: &str) -> Option<usize> {
    let letters = place.bytes().take_while(u8::is_ascii_uppercase).take(4);
    let number = letters.fold(0usize, |n, letter| n * 26 + usize::from(letter - b'A') + 1);
    number.checked_sub(1)
}
