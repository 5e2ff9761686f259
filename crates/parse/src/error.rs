//! Why a document could not be read.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Format;

/// Parsing runs in a child process, so an error is plain data that survives a
/// pipe: causes from the libraries arrive as `detail`, once, in their own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum Error {
    #[error("cannot read {what}; supported are {}", Format::names())]
    Unsupported { what: String },
    #[error("the {format} file has no content at all")]
    Empty { format: Format },
    #[error("the {format} file is encrypted and no empty password opens it")]
    Encrypted { format: Format },
    #[error("the {format} file is damaged: {detail}")]
    Damaged { format: Format, detail: String },
    #[error("the document goes beyond the budget of {limit} {budget}")]
    OverBudget { budget: Budget, limit: u64 },
}

/// What a document may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    Pages,
    InflatedBytes,
    TextBytes,
    Atoms,
    Nesting,
    Entries,
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pages => "pages",
            Self::InflatedBytes => "inflated bytes",
            Self::TextBytes => "bytes of text",
            Self::Atoms => "pieces",
            Self::Nesting => "levels of nesting",
            Self::Entries => "archive entries",
        })
    }
}

impl Error {
    pub(crate) fn damaged(format: Format, detail: impl fmt::Display) -> Self {
        Self::Damaged {
            format,
            detail: detail.to_string(),
        }
    }
}
