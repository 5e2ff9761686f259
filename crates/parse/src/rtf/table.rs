//! Rows of a table: cells in their columns. A cell merged over several rows stands in each of
//! them, so that a row can be read on its own; one over several columns stands once.

use model::Table;

use crate::cell::LONGEST_LABEL;

/// No row has more cells that are defined; Word itself stops at 63.
const WIDEST: usize = 256;
/// Edges nearer than this, in twentieths of a point, are one: a column is wider.
const NEAR: i32 = 40;

#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The cells of the row being read.
    row: Vec<String>,
    rows: Vec<Row>,
    /// The cells of the row as they were defined; the definition stays until the next.
    defined: Vec<Defined>,
    goes_on: bool,
}

#[derive(Debug)]
struct Row {
    cells: Vec<String>,
    defined: Vec<Defined>,
}

#[derive(Debug, Clone, Copy)]
struct Defined {
    /// Where the cell ends.
    right: i32,
    /// Whether it goes on from the one above.
    goes_on: bool,
}

impl Rows {
    pub(super) fn define(&mut self) {
        self.defined.clear();
        self.goes_on = false;
    }

    pub(super) fn go_on(&mut self) {
        self.goes_on = true;
    }

    pub(super) fn define_cell(&mut self, right: i32) {
        let goes_on = std::mem::take(&mut self.goes_on);
        if self.defined.len() < WIDEST {
            self.defined.push(Defined { right, goes_on });
        }
    }

    pub(super) fn cell(&mut self, text: String) {
        self.row.push(text);
    }

    pub(super) fn in_row(&self) -> bool {
        !self.row.is_empty()
    }

    pub(super) fn end_row(&mut self) {
        let cells = std::mem::take(&mut self.row);
        let mut defined = self.defined.clone();
        defined.truncate(cells.len());
        self.rows.push(Row { cells, defined });
    }

    /// The table that has ended, unless it says nothing.
    pub(super) fn take(&mut self) -> Option<Table> {
        let rows = std::mem::take(&mut self.rows);
        let edges = edges(&rows);
        let mut out: Vec<Vec<String>> = Vec::with_capacity(rows.len());
        for row in rows {
            let above = out.last().map(Vec::as_slice).unwrap_or_default();
            out.push(row.placed(&edges, above));
        }
        out.retain(|row| row.iter().any(|cell| !cell.trim().is_empty()));
        (!out.is_empty()).then_some(Table {
            header_rows: 0,
            rows: out,
        })
    }
}

impl Row {
    /// Its cells, each in the column it begins in.
    fn placed(self, edges: &[i32], above: &[String]) -> Vec<String> {
        let mut out = Vec::with_capacity(self.cells.len());
        let mut left = None;
        for (at, mut cell) in self.cells.into_iter().enumerate() {
            let defined = self.defined.get(at);
            let column = left.map_or(0, |left| column_from(edges, left));
            out.resize(column.max(out.len()), String::new());
            let goes_on = defined.is_some_and(|cell| cell.goes_on) && cell.trim().is_empty();
            if let Some(above) = above.get(out.len()).filter(|_| goes_on)
                && above.len() <= LONGEST_LABEL
            {
                cell.clone_from(above);
            }
            out.push(cell);
            left = defined.map(|cell| cell.right);
        }
        out
    }
}

/// How many columns end before one that begins there.
fn column_from(edges: &[i32], left: i32) -> usize {
    edges.partition_point(|edge| *edge < left.saturating_add(NEAR))
}

/// Where the columns of a table end, if some row has them all: rows that merely differ in their
/// measures make no grid.
fn edges(rows: &[Row]) -> Vec<i32> {
    let mut edges: Vec<i32> = Vec::new();
    let of_rows = rows.iter().flat_map(|row| &row.defined);
    edges.extend(of_rows.map(|cell| cell.right));
    edges.sort_unstable();
    edges.dedup_by(|next, kept| next.saturating_sub(*kept) < NEAR);
    let is_grid = rows.iter().any(|row| row.defined.len() == edges.len());
    if is_grid { edges } else { Vec::new() }
}
