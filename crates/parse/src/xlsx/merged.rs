//! Cells merged over several rows: what the first of them says stands in each row, so that a
//! row can be read on its own. Over several columns a cell stands once.
//!
//! A sheet tells of them behind its rows, so they are looked for before those are read.

use std::io::{BufRead, BufReader, Read};

use super::sheet::{WIDEST, column};
use crate::xml::Utf8;

/// More than any sheet laid out by hand has.
const MOST: usize = 100_000;
/// Text longer than this stands in the first row alone.
const LONGEST: usize = 1_000;
/// A longer tag is none that is looked for.
const LONGEST_TAG: u64 = 64 << 10;
const TAG: &[u8] = b"mergeCell ";

/// The merged cells of one sheet.
#[derive(Debug, Default)]
pub(super) struct Merged {
    /// By their first row, those to come last.
    waiting: Vec<Area>,
    /// Those that reach further down, with what they say.
    reaching: Vec<(Area, String)>,
}

/// Rows from 1, the column from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Area {
    first: u32,
    last: u32,
    column: usize,
}

/// A part that cannot be read to its end has no merged cells as far as this can tell; what is
/// wrong with it is told by whoever reads its rows.
pub(super) fn find(part: impl Read) -> Merged {
    let mut part = BufReader::with_capacity(64 << 10, Utf8::new(part));
    let mut waiting = Vec::new();
    let mut tag = Vec::new();
    while waiting.len() < MOST {
        tag.clear();
        let read = part.by_ref().take(LONGEST_TAG).read_until(b'>', &mut tag);
        match read {
            Ok(0) | Err(_) => break,
            Ok(_) => waiting.extend(area(&tag)),
        }
    }
    waiting.sort_by_key(|area: &Area| std::cmp::Reverse(area.first));
    let reaching = Vec::new();
    Merged { waiting, reaching }
}

/// As in `<mergeCell ref="B2:B4"/>`; `None` where only one row is meant.
fn area(tag: &[u8]) -> Option<Area> {
    let at = tag.windows(TAG.len()).rposition(|name| name == TAG)?;
    let tag = std::str::from_utf8(&tag[at..]).ok()?;
    let (_, value) = tag.split_once("ref=")?;
    let quote = value.chars().next()?;
    let (places, _) = value.strip_prefix(quote)?.split_once(quote)?;
    let (from, to) = places.split_once(':')?;
    let row = |place: &str| place.trim_start_matches(char::is_alphabetic).parse().ok();
    let area = Area {
        first: row(from)?,
        last: row(to)?,
        column: column(from).filter(|column| *column < WIDEST)?,
    };
    (area.first < area.last).then_some(area)
}

impl Merged {
    /// Fills the cells of a row that belong to one above. Rows come in their order; one that
    /// says nothing of its own stays empty.
    pub(super) fn fill(&mut self, row: u32, cells: &mut Vec<String>) {
        self.reaching.retain(|(area, _)| area.last >= row);
        if cells.iter().any(|cell| !cell.trim().is_empty()) {
            for (area, said) in &self.reaching {
                if cells.len() <= area.column {
                    cells.resize(area.column + 1, String::new());
                }
                if cells[area.column].trim().is_empty() {
                    cells[area.column].clone_from(said);
                }
            }
        }
        while let Some(area) = self.waiting.pop_if(|area| area.first <= row) {
            let said = cells.get(area.column).filter(|_| area.first == row);
            let said = said.filter(|said| !said.trim().is_empty() && said.len() <= LONGEST);
            let is_alone = |(other, _): &(Area, String)| other.column != area.column;
            if let Some(said) = said
                && self.reaching.iter().all(is_alone)
            {
                self.reaching.push((area, said.clone()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_told_from_all_else() {
        let said = |tag: &str| area(tag.as_bytes()).map(|a| (a.first, a.last, a.column));
        assert_eq!(said(r#"<mergeCell ref="B2:C4"/>"#), Some((2, 4, 1)));
        assert_eq!(said("<x:mergeCell ref='AA10:AA11' />"), Some((10, 11, 26)));
        for other in [
            r#"<mergeCell ref="B2:C2"/>"#,
            r#"<mergeCell ref="B4:C2"/>"#,
            r#"<mergeCells count="2">"#,
            r#"<mergeCell ref="B2"/>"#,
            r#"<mergeCell ref="2:3"/>"#,
            "<mergeCell ref=",
        ] {
            assert_eq!(said(other), None, "{other}");
        }
    }
}
