use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read `{}`", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("`{}` is neither a file nor a folder", path.display())]
    NotAFile { path: PathBuf },
    #[error("`{uri}` does not name a local file")]
    NotAFileUri { uri: String },
    #[error("the event is not JSON")]
    NotJson(#[source] serde_json::Error),
    #[error("the event is in no known envelope: {0}")]
    UnknownEnvelope(&'static str),
    #[error("the event's {envelope} envelope is incomplete")]
    BadEnvelope {
        envelope: &'static str,
        #[source]
        cause: serde_json::Error,
    },
    #[error("the object key `{0}` is not UTF-8 once decoded")]
    BadKey(String),
    #[error("the bucket's folder `{}` cannot be opened", path.display())]
    NoBucket {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("the object key `{0}` leads out of its bucket")]
    KeyLeadsAway(String),
    #[error("envelopes are nested more than {0} deep")]
    TooDeep(usize),
}

impl Error {
    /// Whether there is nothing at the place.
    pub fn is_missing(&self) -> bool {
        use io::ErrorKind::{NotADirectory, NotFound};
        match self {
            Self::Unreadable { cause, .. } => matches!(cause.kind(), NotFound | NotADirectory),
            _ => false,
        }
    }
}
