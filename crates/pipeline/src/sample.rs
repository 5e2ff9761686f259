//! Documents for tests, from a few marks: `#` heading, `-` list item, `|` table, `~` furniture.

use model::{Atom, AtomKind, Parsed, Span, Table};

/// Blocks are separated by an empty line; what is not marked is a paragraph.
pub(crate) fn parsed(marked: &str) -> Parsed {
    let mut doc = Parsed::default();
    let mut chars = 0;
    for block in marked.split("\n\n") {
        let kind = kind(block);
        let marks = match &kind {
            AtomKind::Heading { level } => usize::from(*level) + 1,
            AtomKind::ListItem { .. } => 2,
            _ => 0,
        };
        let block = block.get(marks..).unwrap_or_default();
        if !block.trim().is_empty() {
            doc.atoms
                .push(atom(kind, block, doc.text.len() as u64, chars));
        }
        doc.text.push_str(block);
        doc.text.push_str("\n\n");
        chars += block.chars().count() as u64 + 2;
    }
    doc
}

fn kind(block: &str) -> AtomKind {
    match block.as_bytes().first() {
        Some(b'#') => AtomKind::Heading {
            level: block.bytes().take_while(|b| *b == b'#').count() as u8,
        },
        Some(b'-') => AtomKind::ListItem {
            depth: 0,
            marker: None,
        },
        Some(b'|') => AtomKind::Table(Table::default()),
        Some(b'`') => AtomKind::Code { language: None },
        Some(b'~') => AtomKind::Furniture,
        _ => AtomKind::Paragraph,
    }
}

fn atom(kind: AtomKind, text: &str, byte_start: u64, char_start: u64) -> Atom {
    Atom {
        kind,
        span: Span {
            byte_start,
            byte_end: byte_start + text.len() as u64,
            char_start,
            char_end: char_start + text.chars().count() as u64,
        },
        boxes: Vec::new(),
        source: None,
        anchor: None,
        links: Vec::new(),
    }
}

/// Counts what white space separates; adds up, as WordPiece does.
pub(crate) struct Words;

impl model::TokenCounter for Words {
    fn count(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn adds_up(&self) -> bool {
        true
    }
}
