//! Tables: cells in their columns. A cell merged over several rows stands in each of them, so
//! that a row can be read on its own; one over several columns stands once.

use crate::builder::Piece;
use crate::cell::{self, Cell};
use crate::xml::Element;

use super::inline::{Note, lines_citing};
use super::styles::Styles;

/// Spans and repetitions are the writer's claim; beyond this they are not believed.
const WIDEST: usize = 256;
/// Cells that repetitions may add to one table.
const MOST_REPEATED: usize = 16 << 10;

/// The cell of a table that has no other: it is there to draw a box around text.
pub(super) fn boxed(table: &Element) -> Option<&Element> {
    let (rows, _) = rows(table);
    let [row] = rows.as_slice() else {
        return None;
    };
    let mut cells = cells(row);
    let only = cells.next().filter(|_| cells.next().is_none());
    only.filter(|cell| count(cell, "number-columns-repeated") == 1)
}

/// The table, unless it says nothing.
pub(super) fn read(table: &Element, styles: &Styles, notes: &mut Vec<Note>) -> Option<Piece> {
    let (rows, mut header_rows) = rows(table);
    if header_rows == 0 && rows.len() > 1 && rows.first().is_some_and(|row| heads(row, styles)) {
        header_rows = 1;
    }
    let mut reader = Reader {
        reaching: Vec::new(),
        repeated: 0,
    };
    let mut out = Vec::with_capacity(rows.len());
    for row in rows {
        reader.row(row, notes, &mut out);
    }
    cell::piece_of_told(header_rows.min(1), out)
}

/// Whether all that stands in a row is set as the heads of columns are.
fn heads(row: &Element, styles: &Styles) -> bool {
    let mut lines = Vec::new();
    row.find_all("text:p", &mut lines);
    lines.retain(|line| !line.text().trim().is_empty());
    let is_head = |line: &&Element| styles.heads_column(line.attribute("style-name"));
    !lines.is_empty() && lines.iter().all(is_head)
}

/// Rows in their order, and how many of them the table repeats on every page.
fn rows(table: &Element) -> (Vec<&Element>, u32) {
    let (mut rows, mut headers) = (Vec::new(), 0);
    collect(table, false, &mut rows, &mut headers);
    (rows, headers)
}

fn collect<'a>(
    parent: &'a Element,
    in_header: bool,
    rows: &mut Vec<&'a Element>,
    headers: &mut u32,
) {
    for element in parent.elements() {
        match element.name.as_str() {
            "table:table-row" => {
                rows.push(element);
                *headers += u32::from(in_header);
            }
            "table:table-header-rows" => collect(element, true, rows, headers),
            "table:table-rows" | "table:table-row-group" | "text:soft-page-break" => {
                collect(element, in_header, rows, headers);
            }
            _ => {}
        }
    }
}

fn cells(row: &Element) -> impl Iterator<Item = &Element> {
    row.elements().filter(|cell| {
        matches!(
            cell.name.as_str(),
            "table:table-cell" | "table:covered-table-cell"
        )
    })
}

struct Reader {
    /// Cells that reach down: rows left, and their text, by column.
    reaching: Vec<(usize, Cell)>,
    repeated: usize,
}

impl Reader {
    fn row(&mut self, row: &Element, notes: &mut Vec<Note>, out: &mut Vec<Vec<Cell>>) {
        let mut read: Vec<Cell> = Vec::new();
        for cell in cells(row) {
            let times = count(cell, "number-columns-repeated");
            let times = times.min(WIDEST.saturating_sub(read.len()));
            for time in 0..times {
                let text = match self.covering(cell, read.len()) {
                    Some(text) => text,
                    // A note is cited once, however often its cell is said to stand there.
                    None if time == 0 => self.own(cell, read.len(), notes),
                    None => read.last().map(Cell::again).unwrap_or_default(),
                };
                read.push(text);
            }
        }
        let used = read.iter().rposition(|cell| !cell.is_empty());
        read.truncate(used.map_or(0, |last| last + 1));
        // A row without a word is not kept however often it is said to be there.
        let again = if read.is_empty() {
            1
        } else {
            self.again(row, read.len())
        };
        let copies = |row: &[Cell]| row.iter().map(Cell::again).collect();
        let rest: Vec<Vec<Cell>> = (1..again).map(|_| copies(&read)).collect();
        out.push(read);
        out.extend(rest);
    }

    /// How often a row stands in the table.
    fn again(&mut self, row: &Element, cells: usize) -> usize {
        let claimed = count(row, "number-rows-repeated");
        let room = MOST_REPEATED.saturating_sub(self.repeated) / cells;
        let again = claimed.min(room + 1);
        self.repeated += (again - 1) * cells;
        again
    }

    /// The text of a covered cell: what covers it from above, nothing from beside.
    fn covering(&mut self, cell: &Element, column: usize) -> Option<Cell> {
        if cell.name != "table:covered-table-cell" {
            return None;
        }
        match self.reaching.get_mut(column) {
            Some((left, cell)) if *left > 0 => {
                *left -= 1;
                Some(cell.clone())
            }
            _ => Some(Cell::default()),
        }
    }

    fn own(&mut self, cell: &Element, column: usize, notes: &mut Vec<Note>) -> Cell {
        let read = lines_citing(cell, notes);
        if self.reaching.len() <= column {
            self.reaching.resize(column + 1, (0, Cell::default()));
        }
        let rows = count(cell, "number-rows-spanned");
        self.reaching[column] = (rows - 1, read.again());
        read
    }
}

fn count(element: &Element, name: &str) -> usize {
    let given = element.attribute(name).and_then(|n| n.parse().ok());
    given.unwrap_or(1).clamp(1, MOST_REPEATED)
}
