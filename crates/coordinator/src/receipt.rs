//! Proof that a write was accepted, and a way to wait for the rest.

use std::sync::Arc;

use crate::progress::{Level, Progress};
use crate::{Epoch, Error};

/// A write was accepted. Dropping the receipt changes nothing.
#[derive(Debug, Clone)]
pub struct Receipt {
    epoch: Epoch,
    progress: Arc<Progress>,
}

impl Receipt {
    pub(crate) fn new(epoch: Epoch, progress: Arc<Progress>) -> Self {
        Self { epoch, progress }
    }

    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Waits until readers can see this write.
    pub async fn flushed(&self) -> Result<(), Error> {
        self.progress.reach(Level::Flushed, self.epoch).await
    }

    /// Waits until this write would survive a crash. All who wait at once share a flush.
    pub async fn durable(&self) -> Result<(), Error> {
        self.progress.reach(Level::Durable, self.epoch).await
    }
}
