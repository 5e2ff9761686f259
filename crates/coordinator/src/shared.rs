//! What the handles and the two tasks share, and how a write gets in.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::{Semaphore, TryAcquireError, watch};
use tokio::time::Instant;

use crate::metrics::Latency;
use crate::pending::{Accepted, Pending};
use crate::progress::{Counted, End, Level, Progress};
use crate::{Delta, Error, Failure, FlushHandler, Receipt, Settings, Snapshot, Start};

pub(crate) struct Shared<H: FlushHandler> {
    pub settings: Settings,
    pub handler: H,
    pub pending: Mutex<Pending<H::Delta>>,
    pub progress: Arc<Progress>,
    /// What is left of the budget, in bytes. First come, first served.
    pub space: Semaphore,
    pub waiting_writers: AtomicUsize,
    pub snapshots: watch::Sender<Snapshot<H::Snapshot>>,
    pub flushing: Mutex<FlushFigures>,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct FlushFigures {
    pub flushes: Latency,
    pub syncs: Latency,
    pub retries: u64,
}

impl<H: FlushHandler> Shared<H> {
    pub fn new(settings: Settings, start: Start<H::Snapshot>, delta: H::Delta, handler: H) -> Self {
        Self {
            handler,
            pending: Mutex::new(Pending::new(start.epoch, delta)),
            progress: Arc::new(Progress::new(start.epoch)),
            space: Semaphore::new(settings.budget_bytes),
            waiting_writers: AtomicUsize::new(0),
            snapshots: watch::Sender::new(Snapshot {
                epoch: start.epoch,
                view: start.snapshot,
            }),
            flushing: Mutex::default(),
            settings,
        }
    }

    /// Takes bytes from the budget if they are there.
    pub fn try_room(&self, bytes: u32) -> Result<(), Error> {
        match self.space.try_acquire_many(bytes) {
            Ok(room) => {
                room.forget();
                Ok(())
            }
            Err(TryAcquireError::Closed) => Err(self.refusal()),
            Err(TryAcquireError::NoPermits) => Err(Error::Full {
                budget: self.settings.budget_bytes,
            }),
        }
    }

    /// Takes bytes from the budget once they are there.
    pub async fn room(&self, bytes: u32) -> Result<(), Error> {
        match self.try_room(bytes) {
            Err(Error::Full { .. }) => self.wait_for_room(bytes).await,
            done => done,
        }
    }

    /// A panic in a delta's `apply` poisons the lock: what it left may be half a write.
    pub fn pending(&self) -> MutexGuard<'_, Pending<H::Delta>> {
        self.pending.lock().unwrap_or_else(|poisoned| {
            let mut pending = poisoned.into_inner();
            pending.fail(Failure::Poisoned);
            // The flusher ends it all: there may be waiters who never come by here.
            self.progress.kick();
            pending
        })
    }

    pub fn figures(&self) -> MutexGuard<'_, FlushFigures> {
        self.flushing.lock().expect("counting does not panic")
    }

    pub fn waiting_writers(&self) -> usize {
        self.waiting_writers.load(Ordering::SeqCst)
    }

    /// What a write takes from the budget.
    pub fn weigh(&self, op: &<H::Delta as Delta>::Op) -> Result<u32, Error> {
        let budget = self.settings.budget_bytes;
        let bytes = H::Delta::weigh(op).max(1);
        match u32::try_from(bytes) {
            Ok(weight) if bytes <= budget => Ok(weight),
            _ => Err(Error::TooLarge { bytes, budget }),
        }
    }

    async fn wait_for_room(&self, bytes: u32) -> Result<(), Error> {
        // Counted before the kick: the flusher flushes while anyone waits for room.
        let _waiting = Counted::new(&self.waiting_writers);
        self.progress.kick();
        match self.space.acquire_many(bytes).await {
            Ok(room) => {
                room.forget();
                Ok(())
            }
            Err(_) => Err(self.refusal()),
        }
    }

    /// Puts a write that has its room into the pending delta.
    pub fn accept(
        &self,
        op: <H::Delta as Delta>::Op,
        bytes: usize,
        begun: Instant,
    ) -> Result<Receipt, Error> {
        let accepted = self.accept_locked(op, bytes, begun).inspect_err(|_| {
            self.space.add_permits(bytes);
        })?;
        let full = accepted.open_bytes >= self.settings.flush_bytes;
        if accepted.first || full {
            self.progress.kick();
        }
        Ok(Receipt::new(accepted.epoch, Arc::clone(&self.progress)))
    }

    fn accept_locked(
        &self,
        op: <H::Delta as Delta>::Op,
        bytes: usize,
        begun: Instant,
    ) -> Result<Accepted, Error> {
        // Dropped after the lock, which the flusher then finds poisoned.
        let _kick = KickOnPanic(&self.progress);
        let mut pending = self.pending();
        let now = Instant::now();
        let accepted = pending.accept(op, bytes, now)?;
        pending.writes.record(now - begun);
        self.progress.accept(accepted.epoch);
        Ok(accepted)
    }

    fn refusal(&self) -> Error {
        match self.pending().failure() {
            Some(cause) => Error::Failed(Arc::clone(cause)),
            None => Error::ShutDown,
        }
    }

    /// No more writes; the flusher drains, then ends.
    pub fn close(&self) {
        let accepted = {
            let mut pending = self.pending();
            pending.close();
            pending.accepted()
        };
        self.space.close();
        self.progress.ask(Level::Durable, accepted);
    }

    /// Ends it all: waiters are told, writers refused.
    pub fn fail(&self, cause: Failure) {
        let cause = self.pending().fail(cause);
        self.space.close();
        self.progress.end(End::Failed(cause));
        self.progress.kick();
    }
}

/// A write that panics may be the last there is, with nothing else to wake the flusher.
struct KickOnPanic<'a>(&'a Progress);

impl Drop for KickOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.kick();
        }
    }
}
