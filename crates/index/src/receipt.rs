//! Which promise a writer waits for.

use crate::Error;
use crate::place::Flush;

/// A write was accepted. Dropping the receipt changes nothing.
#[derive(Debug, Clone)]
pub struct Receipt(coordinator::Receipt);

impl Receipt {
    pub(crate) fn new(receipt: coordinator::Receipt) -> Self {
        Self(receipt)
    }

    /// Waits until snapshots contain the write; the answer asks for one that does.
    pub async fn flushed(&self) -> Result<Flush, Error> {
        self.0.flushed().await?;
        Ok(Flush(self.0.epoch().0))
    }

    /// Waits until the write survives any crash.
    pub async fn durable(&self) -> Result<Flush, Error> {
        self.0.durable().await?;
        Ok(Flush(self.0.epoch().0))
    }
}
