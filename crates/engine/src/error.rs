//! What can go wrong in a step, and the one question every failure answers.

use std::sync::Arc;
use std::time::Duration;

use catalog::RunError;

use crate::objects;

/// What to do about a failure. Shells and web read this and nothing else of the error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// Try again; later, if the other side named a time. Counts as an attempt.
    Retry { after: Option<Duration> },
    /// Nothing is wrong, it is not our turn: say why and come back. Never counts.
    Wait { why: String, after: Duration },
    /// The document or the request is at fault: record it and go on.
    Reject,
    /// We are at fault: set the work aside and tell an operator.
    Halt,
    /// The work was called off: end its run.
    Stop { why: &'static str },
    /// Somebody else holds this work now: drop it without a word.
    Drop,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{why}")]
    Paused { why: &'static str },
    #[error("{why}")]
    CalledOff { why: &'static str },
    #[error(
        "the knowledge base serves {serving}, but this server embeds with {ours}: \
         set also.* to that model, or build a new generation (`gristmill generations build`)"
    )]
    OtherModel { serving: String, ours: String },
    #[error(
        "the knowledge base has chunks of up to {max} tokens, but {model} reads {limit} now: let it \
         read {max} (embedding.max_tokens, or max_seq_length in a model's folder), or build a new \
         generation (`gristmill generations build`)"
    )]
    BeyondModel {
        model: String,
        max: usize,
        limit: u32,
    },
    #[error("this server has no reranker")]
    NoReranker,
    #[error("its pages are drawn by LibreOffice, and this server has none")]
    NoOffice,
    #[error("its pages cannot be drawn: {why}")]
    NotPrinted { why: String },
    #[error("page {page} cannot be drawn: {why}")]
    NotDrawn { page: u32, why: String },
    #[error("{what}: {why}")]
    BadRequest { what: &'static str, why: String },
    #[error("cannot {doing} `{}`", path.display())]
    Io {
        doing: &'static str,
        path: std::path::PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("a stage stopped before it answered")]
    StageStopped,
    #[error(
        "unit {unit} was cut into {made} chunks and the index holds {held}: it has lost what it \
         was given"
    )]
    NotAllIndexed {
        unit: model::UnitName,
        made: u64,
        held: u64,
    },
    #[error("object `{key}` is not UTF-8 text")]
    NotText { key: objects::Key },
    #[error(transparent)]
    Catalog(#[from] catalog::Error),
    #[error(transparent)]
    Index(#[from] index::Error),
    #[error(transparent)]
    Objects(#[from] objects::Error),
    #[error(transparent)]
    Embedding(#[from] Arc<providers::Error>),
    #[error(transparent)]
    Parse(#[from] sandbox::Error),
    #[error(transparent)]
    Source(#[from] sources::Error),
    #[error(transparent)]
    Series(#[from] series::Error),
}

/// On a run: chunks that were durable are in the index no more.
pub const CHUNKS_LOST: &str = "chunks_lost";

/// How soon to look again whether a paused job goes on.
const PAUSE: Duration = Duration::from_secs(1);
/// How soon to look again whether the index has been opened anew.
const STOPPED: Duration = Duration::from_secs(30);
/// How long to wait for a provider that asked us to slow down and named no time.
const THROTTLE: Duration = Duration::from_secs(5);
/// How soon to look again whether an account has something to spend.
const QUOTA: Duration = Duration::from_secs(60);
/// How soon to look again whether a provider takes us: a key was changed, a model set up.
const REFUSED: Duration = Duration::from_secs(60);

impl Error {
    // No wildcard arm: a new failure does not compile until someone decides.
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::Paused { why } => Disposition::Wait {
                why: (*why).to_owned(),
                after: PAUSE,
            },
            Self::CalledOff { why } => Disposition::Stop { why },
            Self::OtherModel { .. }
            | Self::BeyondModel { .. }
            | Self::NotAllIndexed { .. }
            | Self::NotText { .. } => Disposition::Halt,
            Self::BadRequest { .. }
            | Self::NoReranker
            | Self::NoOffice
            | Self::NotPrinted { .. }
            | Self::NotDrawn { .. } => Disposition::Reject,
            // A path somebody gave: they learn what is wrong with it.
            Self::Io { .. } => Disposition::Reject,
            Self::StageStopped => Disposition::Retry { after: None },
            Self::Catalog(error) => of_catalog(error),
            Self::Index(error) => of_index(error),
            Self::Objects(error) => of_objects(error),
            Self::Embedding(error) => of_embedding(error),
            Self::Parse(error) => of_parse(error),
            Self::Source(sources::Error::NoBucket { .. }) => Disposition::Retry { after: None },
            Self::Source(_) | Self::Series(series::Error::Query(_)) => Disposition::Reject,
            Self::Series(_) => Disposition::Halt,
        }
    }

    /// Whether one file is at fault, so that the others of its batch can go on.
    pub(crate) fn is_about_the_file(&self) -> bool {
        matches!(self, Self::Source(_) | Self::BadRequest { .. })
    }

    /// Whether a chunk is longer than the model reads.
    fn is_beyond_model(&self) -> bool {
        use providers::Error::{BeyondService, TooLong};
        matches!(self, Self::Embedding(error)
            if matches!(**error, TooLong { .. } | BeyondService { .. }))
    }

    /// Whether what a step is about is not among the catalog's rows any more.
    fn is_lost_version(&self) -> bool {
        let what = "version";
        matches!(self, Self::Catalog(catalog::Error::NotFound { what: lost, .. }) if *lost == what)
    }

    /// The failure with its causes, in one line.
    pub fn explain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let next = error.to_string();
            if !text.contains(&next) {
                text = format!("{text}: {next}");
            }
            cause = error.source();
        }
        text
    }

    /// What is kept on a run this failure has ended.
    pub fn on_run(&self) -> RunError {
        let (code, hint) = match self.disposition() {
            _ if self.is_beyond_model() => (
                "too_long_for_model",
                "set embedding.max_tokens to what the model reads, build a new generation with \
                 shorter chunks (`gristmill generations build --target`), and ingest the file again",
            ),
            _ if matches!(self, Self::NotAllIndexed { .. }) => (
                CHUNKS_LOST,
                "replay the dead letter: it begins again from the original; `gristmill verify` \
                 names what else the index has lost",
            ),
            _ if self.is_lost_version() => (
                "version_lost",
                "the file is not at fault: run `gristmill repair`, then try the run again",
            ),
            Disposition::Reject if matches!(self, Self::Embedding(_)) => (
                "refused_by_model",
                "see what the embedding service says of it; the file itself could be read",
            ),
            Disposition::Reject => (
                "unreadable",
                "check that the file opens elsewhere, mend it, and ingest it again",
            ),
            Disposition::Retry { .. } => (
                "retries_exhausted",
                "see the cause, then replay the dead letter",
            ),
            Disposition::Halt => (
                "set_aside",
                "the fault is on our side: see the cause, then replay the dead letter",
            ),
            Disposition::Wait { .. } | Disposition::Stop { .. } | Disposition::Drop => {
                ("called_off", "ingest the file again")
            }
        };
        RunError {
            code: code.to_owned(),
            message: self.explain(),
            hint: Some(hint.to_owned()),
        }
    }
}

fn of_catalog(error: &catalog::Error) -> Disposition {
    use catalog::Error as Catalog;
    match error {
        Catalog::Unavailable { .. } | Catalog::Retired { .. } => Disposition::Retry { after: None },
        Catalog::Fenced { .. } => Disposition::Drop,
        Catalog::NotFound { .. } | Catalog::Conflict { .. } => Disposition::Reject,
        Catalog::Corrupt { .. }
        | Catalog::Damaged { .. }
        | Catalog::Open { .. }
        | Catalog::Refused { .. } => Disposition::Halt,
    }
}

fn of_index(error: &index::Error) -> Disposition {
    use index::Error as Index;
    match error {
        // A later claim wrote the unit, or the version was finished or removed meanwhile.
        Index::Fenced { .. } | Index::Sealed(_) | Index::Forgotten(_) | Index::ForgottenSpace => {
            Disposition::Drop
        }
        // Were it to halt, a disk that is full for a minute would bury the whole queue.
        error if error.is_stopped() => Disposition::Wait {
            why: format!(
                "the index has stopped ({}); start the server again once that is mended",
                innermost(error)
            ),
            after: STOPPED,
        },
        // No fault of the work, which goes on by itself once the index is whole again.
        Index::Damaged { .. } => Disposition::Wait {
            why: format!("{error}; stop the server and run `gristmill repair`"),
            after: STOPPED,
        },
        Index::Behind { .. } => Disposition::Wait {
            why: format!("{error}; stop the server and run `gristmill repair`"),
            after: STOPPED,
        },
        error if error.is_transient() => Disposition::Retry { after: None },
        _ => Disposition::Halt,
    }
}

/// What all the others were caused by.
fn innermost(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => innermost(cause),
        None => error.to_string(),
    }
}

fn of_objects(error: &objects::Error) -> Disposition {
    match error {
        objects::Error::Missing { .. }
        | objects::Error::Changed { .. }
        | objects::Error::Unreadable { .. } => Disposition::Halt,
        objects::Error::Store { .. } => Disposition::Retry { after: None },
    }
}

fn of_embedding(error: &providers::Error) -> Disposition {
    use providers::Kind;
    if let providers::Error::CircuitOpen { retry_after } = error {
        // Nothing was tried, so nothing has failed.
        return Disposition::Wait {
            why: "the embedding service kept failing and is left alone for a while".to_owned(),
            after: *retry_after,
        };
    }
    match error.kind() {
        Kind::Throttled { retry_after } => Disposition::Wait {
            why: "the embedding provider asked us to slow down".to_owned(),
            after: retry_after.unwrap_or(THROTTLE),
        },
        // It says when it will be there again: until then nothing fails, it is not our turn.
        Kind::Transient {
            retry_after: Some(after),
        } => Disposition::Wait {
            why: error.to_string(),
            after,
        },
        Kind::Transient { retry_after: None } => Disposition::Retry { after: None },
        Kind::Input { .. } => Disposition::Reject,
        // A person can change that, and then everything goes on by itself.
        Kind::Quota => Disposition::Wait {
            why: error.to_string(),
            after: QUOTA,
        },
        // So is this, where it is the provider's to say. One that calls the request a bad one is
        // known to mean every text, not this one, which would wait for ever.
        Kind::Misconfigured if is_settled_there(error) => Disposition::Wait {
            why: error.to_string(),
            after: REFUSED,
        },
        Kind::Misconfigured => Disposition::Halt,
    }
}

/// Whether what is wrong can be mended at the provider, or in what we are told of it.
fn is_settled_there(error: &providers::Error) -> bool {
    use providers::Error as E;
    matches!(error, E::Refused { .. } | E::WrongDimension { .. })
}

fn of_parse(error: &sandbox::Error) -> Disposition {
    match error.fault() {
        sandbox::Fault::Document | sandbox::Fault::Budget => Disposition::Reject,
        sandbox::Fault::Ours => Disposition::Retry { after: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_names_its_wait_is_waited_for_and_so_is_what_a_person_mends_there() {
        let after = Duration::from_secs(5);
        let busy = providers::Error::Unavailable {
            status: 503,
            retry_after: Some(after),
            message: "back soon".to_owned(),
        };
        let open = providers::Error::CircuitOpen { retry_after: after };
        let quota = providers::Error::Quota {
            message: "pay first".to_owned(),
        };
        let key = providers::Error::Refused {
            status: 401,
            message: "no such key".to_owned(),
        };
        let everything = providers::Error::Refused {
            status: 400,
            message: "no such model".to_owned(),
        };
        let cases = [
            (open, after),
            (busy, after),
            (quota, QUOTA),
            (key, REFUSED),
            (everything, REFUSED),
        ];
        for (error, wait) in cases {
            let disposition = Error::from(Arc::new(error)).disposition();
            assert!(matches!(disposition, Disposition::Wait { after, .. } if after == wait));
        }
    }

    #[test]
    fn a_file_is_not_called_unreadable_for_what_the_model_does_not_take() {
        let long = providers::Error::BeyondService {
            index: 0,
            limit: 512,
            message: "the input length exceeds the context length".to_owned(),
        };
        let said = Error::from(Arc::new(long)).on_run();
        assert_eq!(said.code, "too_long_for_model");
        assert!(said.message.contains("512 tokens"), "{said:?}");
        assert!(said.hint.unwrap().contains("generations build --target"));
        let refused = providers::Error::InputRefused {
            index: 0,
            message: "that will not do".to_owned(),
        };
        let said = Error::from(Arc::new(refused)).on_run();
        assert_eq!(said.code, "refused_by_model");
    }
}
