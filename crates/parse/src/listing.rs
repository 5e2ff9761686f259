//! Lines of code that an office format keeps as paragraphs of their own.

use model::AtomKind;

use crate::Error;
use crate::builder::{Piece, TextBuilder};

/// Lines that follow one another, to be one piece.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    text: String,
    source: Option<(u64, u64)>,
}

impl Listing {
    pub(crate) fn is_empty(&self) -> bool {
        self.source.is_none()
    }

    pub(crate) fn add(&mut self, line: &str, source: (u64, u64)) {
        self.text.push_str(line);
        self.text.push('\n');
        let start = self.source.map_or(source.0, |(start, _)| start);
        self.source = Some((start, source.1));
    }

    /// Hands on what there is; called before anything else is.
    pub(crate) fn flush(&mut self, part: &str, out: &mut TextBuilder) -> Result<(), Error> {
        let Some(source) = self.source.take() else {
            return Ok(());
        };
        let text = std::mem::take(&mut self.text);
        let piece = Piece::new(AtomKind::Code { language: None }, text);
        out.push(piece.from_part(part, source))
    }
}
