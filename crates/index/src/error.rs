//! What can go wrong, and whether it may pass.

use std::sync::Arc;

use model::{UnitName, VersionId};

use crate::guard::Refusal;
use crate::place::Space;

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("unit {unit} of version {version} is held by lease {held}; lease {shown} is older")]
    Fenced {
        version: VersionId,
        unit: UnitName,
        shown: u64,
        held: u64,
    },
    #[error("version {0} is sealed")]
    Sealed(VersionId),
    #[error("version {0} was forgotten")]
    Forgotten(VersionId),
    #[error("the knowledge base or generation was forgotten")]
    ForgottenSpace,
    #[error("vectors of {got} dimensions in a space of {expected}")]
    Dimensions { expected: usize, got: usize },
    #[error("version number {number} belongs to another version or changed for this one")]
    Number { number: u32 },
    #[error("chunk {ordinal} cannot be indexed: {why}")]
    BadChunk { ordinal: u32, why: &'static str },
    #[error("cannot {doing} in the index store")]
    Store {
        doing: &'static str,
        #[source]
        source: Arc<slatedb::Error>,
    },
    /// As `Store`, of one that answers nothing any more but what it has died of.
    #[error("cannot {doing}: the index store has stopped")]
    StoreStopped {
        doing: &'static str,
        #[source]
        source: Arc<slatedb::Error>,
    },
    #[error("cannot {doing} in the text index")]
    Text {
        doing: &'static str,
        #[source]
        source: Arc<tantivy::TantivyError>,
    },
    /// Read again they are no better. What they held can be made again from the originals.
    #[error("files of the index are damaged: {why}")]
    Damaged { why: String },
    /// They can be made again from the store.
    #[error("files of the text index were changed, and cannot be read: {why}")]
    SpoiltText { why: String },
    /// What it was given since is gone, and can be made again from the originals.
    #[error(
        "the index is older than what the catalog has recorded of it: flush {wanted} is asked \
         for, and it is at {at}"
    )]
    Behind { wanted: u64, at: u64 },
    #[error("a stored {what} cannot be read: {why}")]
    Corrupt { what: &'static str, why: String },
    #[error("the index has format {found}; this program reads {known}")]
    Format { found: u32, known: u32 },
    #[error("the index takes no more writes")]
    Writes(#[source] coordinator::Error),
    #[error(
        "files of the index still hold what was forgotten: somebody reads an older state of it, \
         or merging them takes longer than it may"
    )]
    NotErased,
    /// Whoever asked has not forgotten all of it.
    #[error("what is to leave the files of the index is in them still, as it was not forgotten")]
    StillKept,
    #[error("a search task ended early")]
    Stopped,
}

impl Error {
    pub(crate) fn corrupt(what: &'static str, why: impl Into<String>) -> Self {
        let why = why.into();
        Self::Corrupt { what, why }
    }

    /// Of a record that tells where others of its space are. They are of no use without it, and
    /// made again together.
    pub(crate) fn of_structure(self, space: &Space) -> Self {
        match self {
            Self::Corrupt { .. } => Self::Damaged {
                why: format!("{self}, in {space}"),
            },
            other => other,
        }
    }

    /// Of a store that nobody else has open: what keeps it from being opened, other than the
    /// machine, is in its files. Whoever opens it in the same moment says so.
    pub(crate) fn at_opening(self) -> Self {
        use slatedb::{CloseReason, ErrorKind};
        match &self {
            Self::Store { source, .. }
                if source.kind() == ErrorKind::Closed(CloseReason::Fenced) =>
            {
                self
            }
            Self::Store { source, .. } if !self.is_transient() => Self::Damaged {
                why: told_by(source),
            },
            Self::Corrupt { .. } => Self::Damaged {
                why: self.to_string(),
            },
            _ => self,
        }
    }

    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }

    /// Whether the index answers no more until it is opened anew: its store is gone, or a
    /// flush has failed for good. What was asked for is not at fault.
    pub fn is_stopped(&self) -> bool {
        match self {
            Self::StoreStopped { .. } => true,
            Self::Store { source, .. } => matches!(source.kind(), slatedb::ErrorKind::Closed(_)),
            Self::Writes(error) => matches!(
                error,
                coordinator::Error::Failed(_) | coordinator::Error::ShutDown
            ),
            _ => false,
        }
    }

    /// Whether the same call may succeed later, with nothing repaired.
    pub fn is_transient(&self) -> bool {
        use slatedb::ErrorKind;
        match self {
            Self::Store { source, .. } => matches!(
                source.kind(),
                ErrorKind::Unavailable | ErrorKind::Transaction
            ),
            Self::Text { source, .. } => is_of_machine(source),
            Self::Writes(coordinator::Error::Full { .. }) | Self::NotErased => true,
            _ => false,
        }
    }
}

impl Error {
    /// What a text index said; of another error, the error.
    pub(crate) fn cause(&self) -> String {
        match self {
            Self::Text { source, .. } => source.to_string(),
            Self::SpoiltText { why } => why.clone(),
            other => other.to_string(),
        }
    }

    /// Of a merge of text, which reads whole files: what fails it, and is not the machine's, is in
    /// them. A panic there is told as an error of the system.
    pub(crate) fn of_merge(source: tantivy::TantivyError) -> Self {
        match io_of(&source) {
            Some(cause) if !is_of_files(cause) => Self::Text {
                doing: "merge",
                source: Arc::new(source),
            },
            _ => Self::SpoiltText {
                why: source.to_string(),
            },
        }
    }

    /// Whether files of a text index are not what was written, or not there: no fault of the
    /// machine that reads them.
    pub(crate) fn is_of_spoilt_text(&self) -> bool {
        match self {
            Self::Text { source, .. } => is_of_text(source),
            Self::SpoiltText { .. } => true,
            _ => false,
        }
    }
}

/// What the machine said, or a reader of the content; it comes in many wrappings.
fn io_of(error: &tantivy::TantivyError) -> Option<&std::io::Error> {
    use tantivy::TantivyError as Of;
    use tantivy::directory::error::{OpenDirectoryError, OpenReadError, OpenWriteError};
    match error {
        Of::IoError(error)
        | Of::OpenReadError(OpenReadError::IoError {
            io_error: error, ..
        })
        | Of::OpenWriteError(OpenWriteError::IoError {
            io_error: error, ..
        })
        | Of::OpenDirectoryError(
            OpenDirectoryError::FailedToCreateTempDir(error)
            | OpenDirectoryError::IoError {
                io_error: error, ..
            },
        ) => Some(error),
        _ => None,
    }
}

/// A text index is not to blame: somebody else has it, or the machine lacks something.
fn is_of_machine(error: &tantivy::TantivyError) -> bool {
    use tantivy::TantivyError as Of;
    match error {
        Of::LockFailure(..) | Of::SystemError(_) => true,
        other => io_of(other).is_some_and(|error| !is_of_files(error)),
    }
}

fn is_of_text(error: &tantivy::TantivyError) -> bool {
    use tantivy::TantivyError as Of;
    use tantivy::directory::error::OpenDirectoryError;
    if let Some(error) = io_of(error) {
        return is_of_files(error);
    }
    matches!(
        error,
        Of::OpenReadError(_)
            | Of::OpenDirectoryError(
                OpenDirectoryError::NotADirectory(_) | OpenDirectoryError::DoesNotExist(_)
            )
            | Of::DataCorruption(_)
            | Of::IncompatibleIndex(_)
            | Of::SchemaError(_)
            | Of::InternalError(_)
            | Of::DeserializeError(_)
    )
}

/// What comes of mapping something that is no file (`ENODEV`); it has no kind of its own.
const NOT_MAPPED: i32 = 19;

/// Whether the files are not what they should be, other than that the machine cannot read them:
/// what the machine says has a number, and what a reader makes of the content has none. Whoever
/// writes a file in another's place loses the number and keeps the kind, which is none of a
/// reader's: most that a machine lacks has no kind with a name.
fn is_of_files(error: &std::io::Error) -> bool {
    use std::io::ErrorKind as Of;
    let of_place = matches!(
        error.kind(),
        Of::InvalidInput | Of::IsADirectory | Of::NotADirectory | Of::AlreadyExists
    );
    match number_of(error) {
        Some(NOT_MAPPED) => true,
        Some(_) => of_place,
        None => {
            let of_content = matches!(
                error.kind(),
                Of::InvalidData | Of::UnexpectedEof | Of::Other | Of::Unsupported | Of::NotFound
            );
            of_place || of_content
        }
    }
}

/// The machine's, of the innermost that has one.
fn number_of(error: &std::io::Error) -> Option<i32> {
    if let Some(number) = error.raw_os_error() {
        return Some(number);
    }
    let mut cause: &(dyn std::error::Error + 'static) = error.get_ref()?;
    loop {
        match cause.downcast_ref::<std::io::Error>() {
            Some(error) => return number_of(error),
            None => cause = cause.source()?,
        }
    }
}

impl From<coordinator::Error> for Error {
    fn from(error: coordinator::Error) -> Self {
        match error.rejected::<Refusal>() {
            Some(refusal) => refusal.clone().into(),
            None => Self::Writes(error),
        }
    }
}

/// Names what was being done when a store failed.
pub(crate) trait Doing<T> {
    fn doing(self, doing: &'static str) -> Result<T, Error>;
}

impl<T> Doing<T> for Result<T, slatedb::Error> {
    fn doing(self, doing: &'static str) -> Result<T, Error> {
        self.map_err(|source| match source.kind() {
            slatedb::ErrorKind::Data => Error::Damaged {
                why: told_by(&source),
            },
            _ => Error::Store {
                doing,
                source: Arc::new(source),
            },
        })
    }
}

/// The innermost cause, which names the file, in one line and without its kind.
fn told_by(error: &slatedb::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let said = cause.to_string();
    let said = said.lines().next().unwrap_or_default();
    let kinds = ["Data error: ", "Internal error: ", "Invalid error: "];
    let bare = kinds.iter().find_map(|kind| said.strip_prefix(kind));
    bare.unwrap_or(said).to_owned()
}

impl<T> Doing<T> for Result<T, tantivy::TantivyError> {
    fn doing(self, doing: &'static str) -> Result<T, Error> {
        self.map_err(|source| Error::Text {
            doing,
            source: Arc::new(source),
        })
    }
}

impl<T> Doing<T> for std::io::Result<T> {
    fn doing(self, doing: &'static str) -> Result<T, Error> {
        self.map_err(tantivy::TantivyError::from).doing(doing)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use slatedb::CloseReason;

    fn at_opening(error: slatedb::Error) -> Error {
        let opened: Result<(), _> = Err(error);
        opened
            .doing("open the database")
            .map_err(Error::at_opening)
            .unwrap_err()
    }

    #[test]
    fn an_open_that_another_overtook_finds_no_damage() {
        let newer = slatedb::Error::closed("detected newer DB client".into(), CloseReason::Fenced);
        let error = at_opening(newer);
        assert!(!error.is_damage() && error.is_stopped(), "{error}");
        let spoilt = at_opening(slatedb::Error::data("checksum mismatch".into()));
        assert!(spoilt.is_damage(), "{spoilt}");
    }
    /// As opening a text index wraps it: for reading, for writing, for listing, and bare.
    fn in_every_wrapping(error: impl Fn() -> io::Error) -> [Error; 4] {
        use tantivy::directory::error::{OpenDirectoryError, OpenReadError, OpenWriteError};
        let path = || "meta.json".into();
        let wrapped: [tantivy::TantivyError; 4] = [
            OpenReadError::wrap_io_error(error(), path()).into(),
            OpenWriteError::wrap_io_error(error(), path()).into(),
            OpenDirectoryError::wrap_io_error(error(), path()).into(),
            error().into(),
        ];
        wrapped.map(|source| Err::<(), _>(source).doing("open").unwrap_err())
    }

    #[test]
    fn what_the_machine_lacks_is_no_fault_of_the_text_however_it_is_told() {
        // Input or output that failed, too many open files, a disk that is read only or full.
        for number in [5, 24, 28, 30] {
            let bare = || io::Error::from_raw_os_error(number);
            let within = || io::Error::other(bare());
            let deeper = || io::Error::new(bare().kind(), Placed(bare()));
            let kind_alone = || io::Error::new(bare().kind(), "at path \".tmp\"");
            let told = [
                in_every_wrapping(bare),
                in_every_wrapping(within),
                in_every_wrapping(deeper),
                in_every_wrapping(kind_alone),
            ];
            for error in told.iter().flatten() {
                let passes = error.is_transient() && !error.is_of_spoilt_text();
                assert!(passes, "{number}: {error:?}");
            }
        }
    }

    #[test]
    fn a_merge_that_fails_is_of_the_text_unless_the_machine_lacks_something() {
        use tantivy::TantivyError as Of;
        let panicked = Of::SystemError("Merge thread panicked: an end that is none".to_owned());
        let read = Of::from(io::Error::other("a column of no kind"));
        for error in [panicked, read].map(Error::of_merge) {
            let lasts = error.is_of_spoilt_text() && !error.is_transient();
            assert!(lasts, "{error:?}");
        }
        let full = Error::of_merge(io::Error::from_raw_os_error(28).into());
        assert!(full.is_transient() && !full.is_of_spoilt_text(), "{full:?}");
    }

    /// An error that names a path, over the machine's.
    #[derive(Debug, thiserror::Error)]
    #[error("at a path")]
    struct Placed(#[source] io::Error);

    #[test]
    fn what_a_reader_makes_of_the_content_is_of_the_text() {
        use io::ErrorKind as Of;
        for kind in [Of::InvalidData, Of::UnexpectedEof, Of::Other] {
            let made = || io::Error::new(kind, "a column of no kind");
            for error in in_every_wrapping(made) {
                let lasts = error.is_of_spoilt_text() && !error.is_transient();
                assert!(lasts, "{kind}: {error:?}");
            }
        }
        for number in [NOT_MAPPED, 20, 21] {
            for error in in_every_wrapping(|| io::Error::from_raw_os_error(number)) {
                assert!(error.is_of_spoilt_text(), "{number}: {error:?}");
            }
        }
    }
}
