//! What a caller can be told.

use crate::query::QueryError;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot open the series store")]
    Open(#[source] slatedb::Error),
    #[error("the folder of the series store cannot be used")]
    Folder(#[source] object_store::Error),
    #[error("the series store cannot be read")]
    Read(#[from] slatedb::Error),
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
}
