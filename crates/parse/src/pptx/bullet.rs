//! Bullets and numbers of the paragraphs of one shape.

use model::AtomKind;

use crate::numerals;
use crate::xml::Element;

/// Lists go nine levels deep.
const LEVELS: usize = 9;

/// Counts from shape to shape anew.
#[derive(Debug, Default)]
pub(super) struct Bullets {
    counts: [u32; LEVELS],
}

impl Bullets {
    /// The paragraph as an item of a list, with its number if it has one.
    pub(super) fn item(&mut self, paragraph: &Element) -> AtomKind {
        let level = paragraph.child("a:pPr").and_then(|p| p.attribute("lvl"));
        let level = level.and_then(|l| l.parse::<usize>().ok()).unwrap_or(0);
        let level = level.min(LEVELS - 1);
        self.counts[level + 1..].fill(0);
        let marker = match paragraph.at(&["a:pPr", "a:buAutoNum"]) {
            Some(numbering) => Some(self.next(level, numbering)),
            None => {
                self.counts[level] = 0;
                None
            }
        };
        AtomKind::ListItem {
            depth: level as u8,
            marker,
        }
    }

    fn next(&mut self, level: usize, numbering: &Element) -> String {
        let start = numbering.attribute("startAt").and_then(|n| n.parse().ok());
        let count = &mut self.counts[level];
        *count = match *count {
            0 => start.unwrap_or(1),
            before => before.saturating_add(1),
        };
        written(*count, numbering.attribute("type").unwrap_or_default())
    }
}

/// A number in a style such as `alphaLcParenR`.
fn written(number: u32, style: &str) -> String {
    let digits = match style {
        _ if style.starts_with("alphaLc") => numerals::letters(number).to_lowercase(),
        _ if style.starts_with("alphaUc") => numerals::letters(number),
        _ if style.starts_with("romanLc") => numerals::roman(number).to_lowercase(),
        _ if style.starts_with("romanUc") => numerals::roman(number),
        _ => number.to_string(),
    };
    match style {
        _ if style.ends_with("ParenBoth") => format!("({digits})"),
        _ if style.ends_with("ParenR") => format!("{digits})"),
        _ if style.ends_with("Plain") => digits,
        _ => format!("{digits}."),
    }
}
