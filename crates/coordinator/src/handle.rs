//! The handle that writers and readers hold.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::flusher::Flusher;
use crate::progress::{End, Level};
use crate::shared::Shared;
use crate::{
    Delta, Epoch, Epochs, Error, FlushHandler, Metrics, Receipt, Settings, State, Watermarks,
};

/// Where the store stands when a coordinator starts on it.
#[derive(Debug, Clone)]
pub struct Start<S> {
    /// The number of the last flush it holds.
    pub epoch: Epoch,
    /// The view at that flush.
    pub snapshot: S,
}

/// A view of the store, and the last write it contains.
#[derive(Debug, Clone)]
pub struct Snapshot<S> {
    pub epoch: Epoch,
    pub view: S,
}

/// A delta that was accepted and is not known to be in the store.
#[derive(Debug, Clone)]
pub struct Kept<D> {
    pub epochs: Epochs,
    pub delta: Arc<D>,
}

/// A cheap handle. When the last one goes, what was accepted is still flushed;
/// only [`shutdown`](Coordinator::shutdown) tells whether that went well.
pub struct Coordinator<H: FlushHandler> {
    shared: Arc<Shared<H>>,
    _last: Arc<CloseOnDrop<H>>,
}

struct CloseOnDrop<H: FlushHandler>(Arc<Shared<H>>);

impl<H: FlushHandler> Drop for CloseOnDrop<H> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<H: FlushHandler> Clone for Coordinator<H> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            _last: Arc::clone(&self._last),
        }
    }
}

impl<H: FlushHandler> Coordinator<H> {
    /// Starts on a store, with an empty delta to write into, in the current tokio runtime.
    pub fn start(
        settings: Settings,
        start: Start<H::Snapshot>,
        delta: H::Delta,
        handler: H,
    ) -> Self {
        let shared = Arc::new(Shared::new(settings, start, delta, handler));
        Flusher::spawn(Arc::clone(&shared));
        Self {
            _last: Arc::new(CloseOnDrop(Arc::clone(&shared))),
            shared,
        }
    }

    /// Accepts a write, once there is room for it. Until then the operation is the caller's, and
    /// not part of the budget.
    ///
    /// Cancelled before it answers, it has accepted nothing.
    pub async fn write(&self, op: <H::Delta as Delta>::Op) -> Result<Receipt, Error> {
        let begun = Instant::now();
        let bytes = self.shared.weigh(&op)?;
        self.shared.room(bytes).await?;
        self.shared.accept(op, bytes as usize, begun)
    }

    /// Accepts a write if there is room for it now.
    pub fn try_write(&self, op: <H::Delta as Delta>::Op) -> Result<Receipt, Error> {
        let begun = Instant::now();
        let bytes = self.shared.weigh(&op)?;
        self.shared.try_room(bytes)?;
        self.shared.accept(op, bytes as usize, begun)
    }

    /// Flushes all that was accepted so far and answers with the last epoch of it.
    pub async fn flush(&self) -> Result<Epoch, Error> {
        let epoch = self.shared.progress.accepted();
        self.shared.progress.reach(Level::Flushed, epoch).await?;
        Ok(epoch)
    }

    /// As [`flush`](Self::flush), and waits until it is durable.
    pub async fn sync(&self) -> Result<Epoch, Error> {
        let epoch = self.shared.progress.accepted();
        self.shared.progress.reach(Level::Durable, epoch).await?;
        Ok(epoch)
    }

    /// Refuses further writes, flushes what was accepted and waits until it is durable.
    ///
    /// The drain goes on if the caller does not wait for it.
    pub async fn shutdown(&self) -> Result<(), Error> {
        self.shared.close();
        match self.shared.progress.ended().await {
            End::Drained => Ok(()),
            End::Failed(cause) => Err(Error::Failed(cause)),
        }
    }

    /// The newest view.
    pub fn snapshot(&self) -> Snapshot<H::Snapshot> {
        self.shared.snapshots.borrow().clone()
    }

    /// A view that contains `epoch`: what its writer may read.
    pub async fn snapshot_at_least(&self, epoch: Epoch) -> Result<Snapshot<H::Snapshot>, Error> {
        self.shared.progress.reach(Level::Flushed, epoch).await?;
        Ok(self.snapshot())
    }

    /// Views as they appear. A slow reader misses some and gets the newest.
    pub fn snapshots(&self) -> Snapshots<H::Snapshot> {
        Snapshots(self.shared.snapshots.subscribe())
    }

    pub fn watermarks(&self) -> Watermarks {
        self.shared.progress.watermarks()
    }

    pub fn state(&self) -> State {
        self.shared.pending().state()
    }

    /// After a failure: what was accepted and is not known to be in the store, oldest first.
    pub fn kept(&self) -> Vec<Kept<H::Delta>> {
        let pending = self.shared.pending();
        let kept = pending.kept().iter().map(|frozen| Kept {
            epochs: frozen.epochs,
            delta: Arc::clone(&frozen.delta),
        });
        kept.collect()
    }

    pub fn handler(&self) -> &H {
        &self.shared.handler
    }

    pub fn metrics(&self) -> Metrics {
        let pending = self.shared.pending();
        let figures = self.shared.figures().clone();
        Metrics {
            state: pending.state(),
            watermarks: self.watermarks(),
            pending_bytes: pending.open_bytes(),
            in_flight_bytes: pending.in_flight_bytes(),
            waiting_writers: self.shared.waiting_writers(),
            waiters: self.shared.progress.waiters(),
            rejected: pending.rejected,
            retries: figures.retries,
            writes: pending.writes.clone(),
            flushes: figures.flushes,
            syncs: figures.syncs,
        }
    }
}

/// Views as they appear.
pub struct Snapshots<S>(watch::Receiver<Snapshot<S>>);

impl<S: Clone> Snapshots<S> {
    /// Waits for a view newer than the last; `None` once there will be no more.
    pub async fn next(&mut self) -> Option<Snapshot<S>> {
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().clone())
    }
}
