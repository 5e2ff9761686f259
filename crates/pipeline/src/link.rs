//! What Finalize puts together: the outline a chunk is linked to, and one hash for all chunks.

use model::{ContentHash, Parsed, Section, Span, UnitName};
use serde::{Deserialize, Serialize};

/// One heading of a document, as its table of contents shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub heading: String,
    pub level: u8,
    /// Position of the entry it stands under.
    pub parent: Option<usize>,
    /// From the heading to the end of its last child.
    pub span: Span,
    /// Counted from 1, where there are pages.
    pub page: Option<u32>,
    pub anchor: Option<String>,
}

/// The headings of a document in reading order.
pub fn outline(parsed: &Parsed, root: &Section) -> Vec<Entry> {
    let mut entries = Vec::new();
    for child in &root.children {
        list(parsed, child, None, &mut entries);
    }
    entries
}

fn list(parsed: &Parsed, section: &Section, parent: Option<usize>, entries: &mut Vec<Entry>) {
    let Some(atoms) = parsed.atoms.get(section.atoms.clone()) else {
        return;
    };
    let (Some(first), Some(last)) = (atoms.first(), atoms.last()) else {
        return;
    };
    let here = entries.len();
    entries.push(Entry {
        heading: section.heading.clone(),
        level: section.level,
        parent,
        span: Span {
            byte_end: last.span.byte_end,
            char_end: last.span.char_end,
            ..first.span
        },
        page: first.boxes.first().map(|b| b.page),
        anchor: first.anchor.clone(),
    });
    for child in &section.children {
        list(parsed, child, Some(here), entries);
    }
}

/// The innermost entry a passage begins in.
pub fn entry_of(outline: &[Entry], passage: &Span) -> Option<usize> {
    let begins = |entry: &Entry| entry.span.byte_start <= passage.byte_start;
    let after = outline.partition_point(begins);
    let holds = |at: &usize| passage.byte_start < outline[*at].span.byte_end;
    (0..after).rev().find(holds)
}

/// One hash for every chunk of a version, whatever order they are given in.
pub fn root_hash(chunks: impl Iterator<Item = (UnitName, u32, ContentHash)>) -> ContentHash {
    let mut chunks: Vec<_> = chunks.collect();
    chunks.sort_unstable();
    let fields: Vec<Vec<u8>> = chunks.iter().map(field).collect();
    ContentHash::of_fields(fields.iter().map(Vec::as_slice))
}

fn field((unit, ordinal, text): &(UnitName, u32, ContentHash)) -> Vec<u8> {
    [
        unit.as_str().as_bytes(),
        b"\0",
        &ordinal.to_be_bytes(),
        text.as_bytes(),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::parsed;
    use crate::structure::sections;

    #[test]
    fn a_passage_is_linked_to_the_innermost_heading_above_it() {
        let doc = parsed("before\n\n# A\n\none\n\n## B\n\ntwo\n\n# C\n\nthree");
        let outline = outline(&doc, &sections(&doc));
        let parents: Vec<_> = outline
            .iter()
            .map(|e| (e.heading.as_str(), e.parent))
            .collect();
        assert_eq!(parents, [("A", None), ("B", Some(0)), ("C", None)]);
        let linked = |at: usize| entry_of(&outline, &doc.atoms[at].span);
        assert_eq!(
            (linked(0), linked(2), linked(4), linked(6)),
            (None, Some(0), Some(1), Some(2))
        );
    }

    #[test]
    fn the_root_changes_with_any_chunk_and_not_with_their_order() {
        let chunk = |unit: &str, ordinal, text: &str| {
            (
                UnitName::new(unit).unwrap(),
                ordinal,
                ContentHash::of(text.as_bytes()),
            )
        };
        let all = [chunk("a", 0, "x"), chunk("a", 1, "y"), chunk("b", 0, "z")];
        let root = root_hash(all.clone().into_iter());
        assert_eq!(root, root_hash(all.clone().into_iter().rev()));
        assert_ne!(root, root_hash(all.into_iter().take(2)));
        let moved = [chunk("a", 0, "y"), chunk("a", 1, "x"), chunk("b", 0, "z")];
        assert_ne!(root, root_hash(moved.into_iter()));
    }
}
