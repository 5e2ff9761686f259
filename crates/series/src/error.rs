//! What a caller can be told.

use slatedb::ErrorKind;

use crate::query::QueryError;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot open the series store")]
    Open(#[source] slatedb::Error),
    /// Read again they are no better, and what they held is nowhere else.
    #[error("files of the series store are damaged: {why}")]
    Damaged { why: String },
    #[error("the folder of the series store cannot be used")]
    Folder(#[source] object_store::Error),
    #[error("the series store cannot be read")]
    Read(#[source] slatedb::Error),
    #[error("the series store holds a record that cannot be read: {what}")]
    Corrupt { what: String },
    #[error("the series store is written by a newer release (format {found}, known {known})")]
    Newer { found: u8, known: u8 },
    #[error(transparent)]
    Write(#[from] coordinator::Error),
    #[error(transparent)]
    Query(#[from] QueryError),
}

impl Error {
    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }

    /// Of a store that nobody else has open: what keeps it from being opened, other than the
    /// machine, is in its files.
    pub(crate) fn at_opening(error: slatedb::Error) -> Self {
        match error.kind() {
            ErrorKind::Unavailable | ErrorKind::Transaction => Self::Open(error),
            _ => Self::damaged(&error),
        }
    }

    /// In one line and without its kind; causes below it say less, and not in which file.
    fn damaged(error: &slatedb::Error) -> Self {
        let said = error.to_string();
        let said = said.lines().next().unwrap_or_default();
        let kinds = ["Data error: ", "Internal error: ", "Invalid error: "];
        let bare = kinds.iter().find_map(|kind| said.strip_prefix(kind));
        Self::Damaged {
            why: bare.unwrap_or(said).to_owned(),
        }
    }

    /// Whether what is stored is not what was written.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::Corrupt { .. })
    }
}

impl From<slatedb::Error> for Error {
    fn from(error: slatedb::Error) -> Self {
        match error.kind() {
            ErrorKind::Data => Self::damaged(&error),
            _ => Self::Read(error),
        }
    }
}
