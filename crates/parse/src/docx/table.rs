//! Tables: cells in their columns. A cell merged over several rows stands in each
//! of them, so that a row can be read on its own; one over several columns stands once.

use crate::builder::Piece;
use crate::cell::{self, Cell};
use crate::xml::Element;

use super::inline;
use super::styles::Styles;

/// No table is set wider than this; Word itself stops at 63 columns.
const WIDEST: usize = 256;

/// Rows but for those whose deletion was tracked.
fn kept_rows(table: &Element) -> Vec<&Element> {
    let mut rows = Vec::new();
    collect("w:tr", table, &mut rows);
    rows.retain(|row| !is_deleted(row));
    rows
}

/// Cells but for those whose deletion was tracked.
fn cells(row: &Element) -> Vec<&Element> {
    let mut cells = Vec::new();
    collect("w:tc", row, &mut cells);
    cells.retain(|cell| !is_deleted(cell));
    cells
}

/// Rows and cells may stand in content controls or tracked insertions.
fn collect<'a>(name: &str, parent: &'a Element, found: &mut Vec<&'a Element>) {
    for element in parent.elements() {
        match element.name.as_str() {
            n if n == name => found.push(element),
            "w:sdt" | "w:sdtContent" | "w:customXml" | "w:ins" | "w:moveTo" => {
                collect(name, element, found);
            }
            _ => {}
        }
    }
}

/// The cells of a table of one column, which is there to draw boxes around text.
pub(super) fn boxed(table: &Element) -> Option<Vec<&Element>> {
    kept_rows(table)
        .into_iter()
        .map(|row| match cells(row).as_slice() {
            [cell] => Some(*cell),
            _ => None,
        })
        .collect()
}

/// How a paragraph of a cell is read.
pub(super) type Line<'l> = &'l mut dyn FnMut(&Element) -> Cell;

/// The table, unless it says nothing.
pub(super) fn read(table: &Element, styles: &Styles, line: Line<'_>) -> Option<Piece> {
    let kept = kept_rows(table);
    let mut rows: Vec<Vec<Cell>> = Vec::with_capacity(kept.len());
    for row in &kept {
        let above = rows.last().map(Vec::as_slice).unwrap_or_default();
        rows.push(read_row(row, above, line));
    }
    let header_rows = header_rows(table, &kept, styles);
    cell::piece_of_told(header_rows, rows)
}

/// Whether the deletion of a row or cell was tracked.
pub(super) fn is_deleted(part: &Element) -> bool {
    part.at(&["w:trPr", "w:del"]).is_some() || part.at(&["w:tcPr", "w:cellDel"]).is_some()
}

fn header_rows(table: &Element, rows: &[&Element], styles: &Styles) -> u32 {
    let repeats = |row: &&&Element| row.child("w:trPr").is_some_and(|p| p.flag("w:tblHeader"));
    let marked = rows.iter().take_while(repeats).count() as u32;
    if marked > 0 || rows.len() < 2 {
        return marked.min(1);
    }
    let look = table.at(&["w:tblPr", "w:tblLook"]);
    let first_row = look.is_some_and(|look| {
        let bits = look
            .attribute("val")
            .and_then(|v| u32::from_str_radix(v, 16).ok());
        matches!(look.attribute("firstRow"), Some("1" | "true"))
            || (look.attribute("firstRow").is_none() && bits.is_some_and(|b| b & 0x20 != 0))
    });
    u32::from(first_row || rows.first().is_some_and(|row| heads(row, styles)))
}

/// Whether all that stands in a row is set as the heads of columns are.
fn heads(row: &Element, styles: &Styles) -> bool {
    let mut lines = inline::paragraphs(row);
    lines.retain(|line| !line.text().trim().is_empty());
    let is_head = |line: &&Element| {
        let style = line.at(&["w:pPr"]).and_then(|p| p.value("w:pStyle"));
        let name = style.and_then(|id| styles.name(id));
        name.is_some_and(|name| name.eq_ignore_ascii_case("table heading"))
    };
    !lines.is_empty() && lines.iter().all(is_head)
}

fn read_row(row: &Element, above: &[Cell], line: Line<'_>) -> Vec<Cell> {
    let before = row.child("w:trPr").and_then(|p| p.value("w:gridBefore"));
    let mut out = vec![Cell::default(); count(before, 0)];
    for cell in cells(row) {
        let properties = cell.child("w:tcPr");
        let span = count(properties.and_then(|p| p.value("w:gridSpan")), 1);
        let goes_on = properties
            .and_then(|p| p.child("w:vMerge"))
            .is_some_and(|merge| merge.attribute("val") != Some("restart"));
        let text = match goes_on {
            true => above.get(out.len()).map(Cell::again).unwrap_or_default(),
            false => text(cell, line),
        };
        out.push(text);
        let room = WIDEST.saturating_sub(out.len());
        out.extend(std::iter::repeat_n(Cell::default(), (span - 1).min(room)));
    }
    out
}

fn count(value: Option<&str>, least: usize) -> usize {
    let value = value.and_then(|v| v.parse().ok()).unwrap_or(least);
    value.clamp(least, WIDEST)
}

fn text(cell: &Element, line: Line<'_>) -> Cell {
    let mut read = Cell::default();
    for paragraph in inline::paragraphs(cell) {
        read.add_line(&line(paragraph));
    }
    read
}
