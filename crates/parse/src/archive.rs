//! Archives: which format one is.

use crate::{Error, Format, Hints};

pub(crate) fn format_of(_bytes: &[u8], hints: &Hints) -> Result<Format, Error> {
    hints.suggested().ok_or_else(|| Error::Unsupported {
        what: "a ZIP archive".to_owned(),
    })
}
