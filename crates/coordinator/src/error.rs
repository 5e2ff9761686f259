//! What a caller can be told.

use std::sync::Arc;
use std::time::Duration;

use crate::BoxError;

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The delta would not have it. No epoch was taken, nothing changed.
    #[error("write rejected: {0}")]
    Rejected(#[source] Arc<dyn std::error::Error + Send + Sync>),
    #[error("a write of {bytes} bytes can never fit a budget of {budget}")]
    TooLarge { bytes: usize, budget: usize },
    /// Only [`try_write`](crate::Coordinator::try_write) says so; `write` waits instead.
    #[error("the budget of {budget} bytes is used up")]
    Full { budget: usize },
    #[error("the write coordinator has failed: {0}")]
    Failed(#[source] Arc<Failure>),
    #[error("the write coordinator is shut down")]
    ShutDown,
}

impl Error {
    /// The delta's own reason, if this is a rejection.
    pub fn rejected<R: std::error::Error + 'static>(&self) -> Option<&R> {
        match self {
            Self::Rejected(reason) => reason.downcast_ref(),
            _ => None,
        }
    }
}

/// Why a coordinator takes no more writes. What it had accepted is kept, see `Coordinator::kept`.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("the store refused: {0}")]
    Refused(#[source] BoxError),
    #[error("the store was unavailable {attempts} times in {after:?}: {cause}")]
    Unavailable {
        attempts: u32,
        after: Duration,
        #[source]
        cause: BoxError,
    },
    #[error("the store did not answer within {after:?}")]
    Stalled { after: Duration },
    #[error("the store stopped: {0}")]
    Closed(#[source] BoxError),
    #[error("a delta panicked while it applied a write")]
    Poisoned,
    #[error("the flush task ended early, by a panic or with its runtime")]
    Stopped,
}
