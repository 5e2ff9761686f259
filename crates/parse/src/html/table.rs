//! Tables of data; those that only lay out a page are read as blocks.

use super::blocks::is_block;
use super::dom::{Dom, Id};
use crate::builder::{Leads, Piece};
use crate::cell::{self, Cell};
use crate::prose::prose;
use crate::target::safe_target;

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

/// The table, unless it says nothing.
pub(super) fn read(dom: &Dom, table: Id) -> Option<Piece> {
    let mut out: Vec<Vec<Cell>> = Vec::new();
    // Cells that reach down: rows left, and their text, by column.
    let mut reaching: Vec<(usize, Cell)> = Vec::new();
    let rows = rows(dom, table);
    for row in &rows {
        out.push(read_row(dom, *row, &mut reaching));
    }
    let header = rows.first().is_some_and(|row| is_header(dom, *row));
    cell::piece_of_told(u32::from(header), out)
}

fn is_header(dom: &Dom, row: Id) -> bool {
    let cells = cells(dom, row);
    let in_head = dom
        .parent(row)
        .is_some_and(|parent| dom.tag(parent) == "thead");
    in_head || !cells.is_empty() && cells.iter().all(|cell| dom.tag(*cell) == "th")
}

fn read_row(dom: &Dom, row: Id, reaching: &mut Vec<(usize, Cell)>) -> Vec<Cell> {
    let mut out: Vec<Cell> = Vec::new();
    for cell in cells(dom, row) {
        fill_from_above(&mut out, reaching);
        let mut read = read_cell(dom, cell);
        let (columns, rows) = (span(dom, cell, "colspan"), span(dom, cell, "rowspan"));
        for _ in 0..columns.min(WIDEST.saturating_sub(out.len())) {
            let column = out.len();
            if reaching.len() <= column {
                reaching.resize(column + 1, (0, Cell::default()));
            }
            // Over several columns a cell stands once, over several rows in each of them.
            let shown = std::mem::take(&mut read);
            reaching[column] = (rows - 1, shown.again());
            out.push(shown);
        }
    }
    fill_to_end(&mut out, reaching);
    out
}

/// A short row is filled up to the last cell that reaches into it, which counts down there too.
fn fill_to_end(out: &mut Vec<Cell>, reaching: &mut [(usize, Cell)]) {
    let last = reaching.iter().rposition(|(left, _)| *left > 0);
    while last.is_some_and(|last| out.len() <= last) {
        let (left, cell) = &mut reaching[out.len()];
        let shown = (*left > 0).then(|| cell.clone());
        *left = left.saturating_sub(1);
        out.push(shown.unwrap_or_default());
    }
}

fn fill_from_above(out: &mut Vec<Cell>, reaching: &mut [(usize, Cell)]) {
    while let Some((left, cell)) = reaching.get_mut(out.len())
        && *left > 0
    {
        *left -= 1;
        out.push(cell.clone());
    }
}

fn span(dom: &Dom, cell: Id, name: &str) -> usize {
    let given = dom
        .attribute(cell, name)
        .and_then(|n| n.trim().parse().ok());
    given.unwrap_or(1).clamp(1, WIDEST)
}

/// Blocks and line breaks in a cell keep words apart.
fn read_cell(dom: &Dom, cell: Id) -> Cell {
    let mut text = String::new();
    let mut links: Vec<Leads> = Vec::new();
    // Where the link we are in ends and began, and where it leads to.
    let mut open: Option<(Id, usize, String)> = None;
    // Where the blocks we are in end, the innermost last.
    let mut blocks: Vec<Id> = Vec::new();
    for id in dom.subtree(cell) {
        if let Some((_, from, target)) = open.take_if(|(end, _, _)| *end <= id) {
            links.extend(leads(from, &text, target));
        }
        while blocks.pop_if(|end| *end <= id).is_some() {
            text.push(' ');
        }
        match dom.own_text(id) {
            Some(own) => text.push_str(own),
            None => match dom.tag(id) {
                tag if parts_words(tag) => {
                    text.push(' ');
                    blocks.push(dom.node(id).end);
                }
                "img" => text.push_str(dom.attribute(id, "alt").unwrap_or_default()),
                "a" if open.is_none() => {
                    let target = dom.attribute(id, "href").and_then(safe_target);
                    open = target.map(|target| (dom.node(id).end, text.len(), target));
                }
                _ => {}
            },
        }
    }
    if let Some((_, from, target)) = open {
        links.extend(leads(from, &text, target));
    }
    // Line ends of the source are blanks.
    let (text, links) = prose(&text.replace(['\n', '\r'], " "), links);
    Cell::new(text, links)
}

fn parts_words(tag: &str) -> bool {
    const PARTING: &[&str] = &[
        "blockquote",
        "br",
        "caption",
        "dd",
        "dt",
        "figcaption",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "li",
        "listing",
        "menu",
        "ol",
        "pre",
        "td",
        "th",
        "ul",
        "xmp",
    ];
    is_block(tag) || PARTING.contains(&tag)
}

fn leads(from: usize, text: &str, target: String) -> Option<Leads> {
    let words = from..text.len();
    (!words.is_empty()).then_some(Leads { words, target })
}
