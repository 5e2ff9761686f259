//! Tables of data; those that only lay out a page are read as blocks.

use model::Table;

use super::dom::{Dom, Id};
use crate::normal::collapsed;

/// Spans are the writer's claim; beyond this they are not believed.
const WIDEST: usize = 256;

/// Whether a table holds data: more than one row and column, and no blocks in its cells.
pub(super) fn is_data(dom: &Dom, table: Id) -> bool {
    if dom.attribute(table, "role") == Some("presentation") {
        return false;
    }
    let rows = rows(dom, table);
    let columns = rows
        .iter()
        .map(|row| cells(dom, *row).len())
        .max()
        .unwrap_or(0);
    let inner = |tags: &[&str]| {
        dom.subtree(table)
            .skip(1)
            .any(|id| tags.contains(&dom.tag(id)))
    };
    if inner(&["table", "h1", "h2", "h3", "article", "section", "form"]) {
        return false;
    }
    if inner(&["caption", "th", "thead", "col", "colgroup"])
        || dom.attribute(table, "summary").is_some()
    {
        return true;
    }
    let longest = rows
        .iter()
        .flat_map(|row| cells(dom, *row))
        .map(|cell| dom.text(cell).len())
        .max();
    rows.len() > 1 && columns > 1 && longest.unwrap_or(0) < 2_000
}

fn rows(dom: &Dom, table: Id) -> Vec<Id> {
    let mut rows = Vec::new();
    for child in dom.children(table) {
        match dom.tag(child) {
            "tr" => rows.push(child),
            "thead" | "tbody" | "tfoot" => {
                rows.extend(dom.children(child).filter(|id| dom.tag(*id) == "tr"));
            }
            _ => {}
        }
    }
    rows
}

fn cells(dom: &Dom, row: Id) -> Vec<Id> {
    let is_cell = |id: &Id| matches!(dom.tag(*id), "td" | "th");
    dom.children(row).filter(is_cell).collect()
}

pub(super) fn caption(dom: &Dom, table: Id) -> Option<Id> {
    dom.children(table).find(|id| dom.tag(*id) == "caption")
}

pub(super) fn read(dom: &Dom, table: Id) -> Table {
    let mut out: Vec<Vec<String>> = Vec::new();
    // Cells that reach down: rows left, and their text, by column.
    let mut reaching: Vec<(usize, String)> = Vec::new();
    let rows = rows(dom, table);
    for row in &rows {
        out.push(read_row(dom, *row, &mut reaching));
    }
    let header = rows.first().is_some_and(|row| is_header(dom, *row));
    out.retain(|row| row.iter().any(|cell| !cell.is_empty()));
    Table {
        header_rows: u32::from(header),
        rows: out,
    }
}

fn is_header(dom: &Dom, row: Id) -> bool {
    let cells = cells(dom, row);
    let in_head = dom
        .parent(row)
        .is_some_and(|parent| dom.tag(parent) == "thead");
    in_head || !cells.is_empty() && cells.iter().all(|cell| dom.tag(*cell) == "th")
}

fn read_row(dom: &Dom, row: Id, reaching: &mut Vec<(usize, String)>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for cell in cells(dom, row) {
        fill_from_above(&mut out, reaching);
        let text = collapsed(&cell_text(dom, cell));
        let (columns, rows) = (span(dom, cell, "colspan"), span(dom, cell, "rowspan"));
        for n in 0..columns.min(WIDEST.saturating_sub(out.len())) {
            let column = out.len();
            if reaching.len() <= column {
                reaching.resize(column + 1, (0, String::new()));
            }
            // Over several columns a cell stands once, over several rows in each of them.
            let shown = if n == 0 { text.clone() } else { String::new() };
            reaching[column] = (rows - 1, shown.clone());
            out.push(shown);
        }
    }
    fill_from_above(&mut out, reaching);
    out
}

fn fill_from_above(out: &mut Vec<String>, reaching: &mut [(usize, String)]) {
    while let Some((left, text)) = reaching.get_mut(out.len())
        && *left > 0
    {
        *left -= 1;
        out.push(text.clone());
    }
}

fn span(dom: &Dom, cell: Id, name: &str) -> usize {
    let given = dom
        .attribute(cell, name)
        .and_then(|n| n.trim().parse().ok());
    given.unwrap_or(1).clamp(1, WIDEST)
}

/// Blocks and line breaks in a cell keep words apart.
fn cell_text(dom: &Dom, cell: Id) -> String {
    let mut text = String::new();
    for id in dom.subtree(cell) {
        match dom.own_text(id) {
            Some(own) => text.push_str(own),
            None if matches!(
                dom.tag(id),
                "br" | "p" | "div" | "li" | "tr" | "td" | "dd" | "dt" | "pre"
            ) =>
            {
                text.push(' ');
            }
            None if dom.tag(id) == "img" => {
                text.push_str(dom.attribute(id, "alt").unwrap_or_default());
            }
            None => {}
        }
    }
    text
}
