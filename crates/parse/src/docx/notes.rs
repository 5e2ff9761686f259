//! Footnotes and endnotes, after the body, in the order they are cited.

use model::AtomKind;

use crate::Error;
use crate::builder::{Piece, TextBuilder};
use crate::xml::Element;

use super::inline::{self, Cited, NoteKind};

/// Each of the parts with its name.
pub(super) fn emit(
    cited: &Cited,
    footnotes: Option<&(&str, Element)>,
    endnotes: Option<&(&str, Element)>,
    out: &mut TextBuilder,
) -> Result<(), Error> {
    for (at, (kind, id)) in cited.notes.iter().enumerate() {
        let notes = match kind {
            NoteKind::Foot => footnotes,
            NoteKind::End => endnotes,
        };
        let note = notes.and_then(|(part, notes)| {
            let note = |note: &&Element| note.attribute("id") == Some(id);
            Some((part, notes.elements().find(note)?))
        });
        if let Some((part, note)) = note {
            let marker = (at + 1).to_string();
            let piece = Piece::new(AtomKind::Footnote { marker }, inline::plain(note));
            out.push(piece.from_part(part, note.source))?;
        }
    }
    Ok(())
}
