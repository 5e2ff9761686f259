//! Tables on slides. A cell merged over several rows stands in each of them, so that a row can
//! be read on its own; one over several columns stands once.

use model::Table;

use crate::xml::Element;

use super::slide::{paragraphs, text};

pub(super) fn read(table: &Element) -> Table {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for element in table.children("a:tr") {
        let above = rows.last().map(Vec::as_slice).unwrap_or_default();
        rows.push(row(element, above));
    }
    let first_row = table.child("a:tblPr").and_then(|p| p.attribute("firstRow"));
    rows.retain(|row| row.iter().any(|cell| !cell.trim().is_empty()));
    Table {
        header_rows: u32::from(matches!(first_row, Some("1" | "true"))),
        rows,
    }
}

fn row(row: &Element, above: &[String]) -> Vec<String> {
    let cell = |(column, cell): (usize, &Element)| {
        let goes_on = matches!(cell.attribute("vMerge"), Some("1" | "true"));
        if goes_on {
            return above.get(column).cloned().unwrap_or_default();
        }
        let lines: Vec<String> = paragraphs(cell).into_iter().map(text).collect();
        lines.join("\n")
    };
    row.children("a:tc").enumerate().map(cell).collect()
}
