//! What can go wrong with a model, and what that means to whoever asked.

use std::path::PathBuf;
use std::time::Duration;

use crate::remote::Measure;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "no model weights in `{folder}` ({missing} is missing); `scripts/fetch-model` puts all-MiniLM-L6-v2 into \
         .tools/models/all-MiniLM-L6-v2, or name the folder of a sentence-transformers model that is BERT with WordPiece"
    )]
    NoWeights {
        folder: PathBuf,
        missing: &'static str,
    },
    #[error("cannot read `{path}`")]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("`{path}` is not what a model folder holds there: {what}")]
    Malformed { path: PathBuf, what: String },
    #[error(
        "`{path}` asks for {what}, which the local embedder does not do: it runs BERT with WordPiece, and other \
         models are reached through an OpenAI-compatible endpoint"
    )]
    Unsupported { path: PathBuf, what: String },
    #[error("input {index} has {tokens} tokens and the model reads {limit}")]
    TooLong {
        index: usize,
        tokens: usize,
        limit: usize,
    },
    #[error("input {index} is empty, which the service refuses")]
    Empty { index: usize },
    #[error("input {index} is refused: {message}")]
    InputRefused { index: usize, message: String },
    #[error(
        "input {index} is longer than the model reads, which is taken to be {limit} tokens: {message}"
    )]
    BeyondService {
        index: usize,
        limit: u32,
        message: String,
    },
    #[error("the model service fails on input {index}, though it takes others")]
    InputFailed {
        index: usize,
        #[source]
        source: Box<Error>,
    },
    #[error("setting `{name}` {what}")]
    Setting {
        name: &'static str,
        what: &'static str,
    },
    #[error("the model service asked us to slow down: {message}")]
    Throttled {
        retry_after: Option<Duration>,
        message: String,
    },
    #[error("the account of the model service has nothing left to spend: {message}")]
    Quota { message: String },
    #[error("the model service refused the request with {status}: {message}")]
    Refused { status: u16, message: String },
    #[error("the request is too much for the model service: {message}")]
    TooMuch {
        status: u16,
        measure: Measure,
        message: String,
    },
    #[error("the model service failed with {status}: {message}")]
    Unavailable {
        status: u16,
        retry_after: Option<Duration>,
        message: String,
    },
    #[error("the model service did not answer within {after:?}")]
    TimedOut { after: Duration },
    #[error("cannot reach the model service")]
    Unreachable {
        #[source]
        source: reqwest::Error,
    },
    #[error("the model service gave an answer that is none: {what}")]
    BadAnswer { what: String },
    #[error("the model service answers with {found} dimensions, not {expected}")]
    WrongDimension { found: usize, expected: usize },
    #[error("the model service kept failing; it is asked again in {retry_after:?}")]
    CircuitOpen { retry_after: Duration },
    #[error("the embedder stopped before it answered")]
    Stopped,
}

/// What a failure means; the engine turns it into what it does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The other side asked us to slow down; waiting is not failing.
    Throttled { retry_after: Option<Duration> },
    /// Likely to pass by itself.
    Transient { retry_after: Option<Duration> },
    /// This input can never be embedded by this model.
    Input { index: usize },
    /// The account has nothing left to spend; only a person can change that.
    Quota,
    /// The settings, or the files they name, are wrong; only a person can change that.
    Misconfigured,
}

impl Error {
    // No wildcard arm: a new failure does not compile until someone decides.
    pub fn kind(&self) -> Kind {
        match self {
            Self::NoWeights { .. }
            | Self::Unreadable { .. }
            | Self::Malformed { .. }
            | Self::Unsupported { .. }
            | Self::Setting { .. }
            | Self::Refused { .. }
            | Self::WrongDimension { .. } => Kind::Misconfigured,
            Self::TooLong { index, .. }
            | Self::Empty { index }
            | Self::BeyondService { index, .. }
            | Self::InputRefused { index, .. } => Kind::Input { index: *index },
            Self::Throttled { retry_after, .. } => Kind::Throttled {
                retry_after: *retry_after,
            },
            Self::Quota { .. } => Kind::Quota,
            Self::Unavailable { retry_after, .. } => Kind::Transient {
                retry_after: *retry_after,
            },
            Self::CircuitOpen { retry_after } => Kind::Transient {
                retry_after: Some(*retry_after),
            },
            // It may yet take it: whoever is at fault, nothing was refused.
            Self::InputFailed { .. }
            | Self::TooMuch { .. }
            | Self::TimedOut { .. }
            | Self::Unreachable { .. }
            | Self::BadAnswer { .. }
            | Self::Stopped => Kind::Transient { retry_after: None },
        }
    }

    /// The input a failure is about, where it is about one.
    pub fn input(&self) -> Option<usize> {
        match self {
            Self::InputFailed { index, .. } => Some(*index),
            _ => match self.kind() {
                Kind::Input { index } => Some(index),
                _ => None,
            },
        }
    }
}
