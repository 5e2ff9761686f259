//! What a store does with a delta.

use std::sync::Arc;

use crate::{Delta, Epochs};

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Puts deltas into a store, one at a time and in order.
pub trait FlushHandler: Send + Sync + 'static {
    type Delta: Delta;
    /// A view of the store at one flush; cheap to clone.
    type Snapshot: Clone + Send + Sync + 'static;

    /// Writes a delta as one unit and answers with the view that contains it.
    ///
    /// Called again with the same delta after a transient error, so an attempt
    /// whose answer was lost must not count twice. An attempt may be dropped at
    /// its deadline; the coordinator then fails and calls no more.
    fn flush(
        &self,
        delta: Arc<Self::Delta>,
        epochs: Epochs,
    ) -> impl Future<Output = Result<Flushed<Self::Snapshot>, FlushError>> + Send;

    /// Makes all that was flushed durable, now. Called when somebody waits for it.
    fn sync(&self) -> impl Future<Output = Result<(), FlushError>> + Send;

    /// Waits until the store itself has made `sequence` durable; fails if it no longer can.
    fn durable_past(&self, sequence: u64) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Waits until the store stops working for good, while nobody asks anything of it.
    fn closed(&self) -> impl Future<Output = BoxError> + Send {
        std::future::pending()
    }
}

/// A delta that is in the store and can be read.
#[derive(Debug, Clone)]
pub struct Flushed<S> {
    pub snapshot: S,
    /// The store's number for this write, by which it says later that it is durable.
    pub sequence: u64,
}

/// Why a delta is not in the store.
#[derive(Debug, thiserror::Error)]
pub enum FlushError {
    /// The same delta may succeed later.
    #[error("the store is not available")]
    Transient(#[source] BoxError),
    /// It never will.
    #[error("the store refused")]
    Permanent(#[source] BoxError),
}

impl FlushError {
    pub fn transient(cause: impl Into<BoxError>) -> Self {
        Self::Transient(cause.into())
    }

    pub fn permanent(cause: impl Into<BoxError>) -> Self {
        Self::Permanent(cause.into())
    }
}
