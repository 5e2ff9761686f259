//! Footnotes and endnotes, after the body, in the order they are cited.

use model::AtomKind;

use crate::Error;
use crate::builder::{Piece, TextBuilder};
use crate::xml::Element;

use super::inline::{self, Cited, NoteKind};

pub(super) fn emit(
    cited: &Cited,
    footnotes: Option<&Element>,
    endnotes: Option<&Element>,
    out: &mut TextBuilder,
) -> Result<(), Error> {
    for (at, (kind, id)) in cited.notes.iter().enumerate() {
        let notes = match kind {
            NoteKind::Foot => footnotes,
            NoteKind::End => endnotes,
        };
        let note = notes.and_then(|notes| {
            notes
                .elements()
                .find(|note| note.attribute("id") == Some(id))
        });
        if let Some(note) = note {
            let marker = (at + 1).to_string();
            out.push(Piece::new(
                AtomKind::Footnote { marker },
                inline::plain(note),
            ))?;
        }
    }
    Ok(())
}
