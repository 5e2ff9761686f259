//! Tables on slides. A cell merged over several rows stands in each of them, so that a row can
//! be read on its own; one over several columns stands once.

use crate::builder::Piece;
use crate::cell::{self, Cell};
use crate::ooxml::Relations;
use crate::xml::Element;

use super::slide::{MOST_LINKS, paragraphs, words};

/// The table, unless it says nothing.
pub(super) fn read(table: &Element, relations: &Relations) -> Option<Piece> {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let mut room = MOST_LINKS;
    for element in table.children("a:tr") {
        let above = rows.last().map(Vec::as_slice).unwrap_or_default();
        rows.push(row(element, above, relations, &mut room));
    }
    let first_row = table.child("a:tblPr").and_then(|p| p.attribute("firstRow"));
    let header_rows = u32::from(matches!(first_row, Some("1" | "true")));
    cell::piece_of_told(header_rows, rows)
}

fn row(row: &Element, above: &[Cell], relations: &Relations, room: &mut usize) -> Vec<Cell> {
    let cell = |(column, cell): (usize, &Element)| {
        let goes_on = matches!(cell.attribute("vMerge"), Some("1" | "true"));
        if goes_on {
            return above.get(column).map(Cell::again).unwrap_or_default();
        }
        let mut read = Cell::default();
        for paragraph in paragraphs(cell) {
            let mut line = words(paragraph, relations);
            line.links.truncate(*room);
            *room -= line.links.len();
            read.add_line(&line);
        }
        read
    };
    row.children("a:tc").enumerate().map(cell).collect()
}
