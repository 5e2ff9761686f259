//! How far writes have come, who waits for it, and what they ask for.
//!
//! Waiting asks: whoever awaits an accepted epoch makes the flusher bring it
//! there. Nothing here depends on the delta, so a receipt is one small type.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::{Notify, watch};

use crate::{Epoch, Error, Failure, Watermarks};

/// What an epoch can be awaited at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Flushed,
    Durable,
}

#[derive(Debug, Clone)]
struct Marks {
    flushed: Epoch,
    durable: Epoch,
    end: Option<End>,
}

/// How a coordinator came to rest.
#[derive(Debug, Clone)]
pub(crate) enum End {
    /// All that was accepted is durable.
    Drained,
    Failed(Arc<Failure>),
}

impl From<End> for Error {
    fn from(end: End) -> Self {
        match end {
            End::Drained => Self::ShutDown,
            End::Failed(cause) => Self::Failed(cause),
        }
    }
}

impl Marks {
    fn at(&self, level: Level) -> Epoch {
        match level {
            Level::Flushed => self.flushed,
            Level::Durable => self.durable,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Progress {
    marks: watch::Sender<Marks>,
    accepted: AtomicU64,
    wanted_flushed: AtomicU64,
    wanted_durable: AtomicU64,
    /// Requests since the last flush began: what the next one may expect to serve.
    asked: AtomicUsize,
    waiters: AtomicUsize,
    kick: Notify,
}

impl Progress {
    pub fn new(start: Epoch) -> Self {
        Self {
            marks: watch::Sender::new(Marks {
                flushed: start,
                durable: start,
                end: None,
            }),
            accepted: AtomicU64::new(start.0),
            wanted_flushed: AtomicU64::new(0),
            wanted_durable: AtomicU64::new(0),
            asked: AtomicUsize::new(0),
            waiters: AtomicUsize::new(0),
            kick: Notify::new(),
        }
    }

    /// Waits until `epoch` has reached `level`, and has it brought there.
    ///
    /// An epoch nobody has written yet is waited for, not asked for.
    pub async fn reach(&self, level: Level, epoch: Epoch) -> Result<(), Error> {
        let mut marks = self.marks.subscribe();
        if marks.borrow().at(level) >= epoch {
            return Ok(());
        }
        let _counted = Counted::new(&self.waiters);
        if epoch <= self.accepted() {
            self.ask(level, epoch);
        }
        let reached = marks
            .wait_for(|marks| marks.at(level) >= epoch || marks.end.is_some())
            .await
            .expect("the sender lives in `self`");
        match &reached.end {
            Some(end) if reached.at(level) < epoch => Err(end.clone().into()),
            _ => Ok(()),
        }
    }

    /// Asks for an epoch without waiting for it.
    pub fn ask(&self, level: Level, epoch: Epoch) {
        let wanted = match level {
            Level::Flushed => &self.wanted_flushed,
            Level::Durable => &self.wanted_durable,
        };
        wanted.fetch_max(epoch.0, Ordering::SeqCst);
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.kick();
    }

    pub fn wanted(&self, level: Level) -> Epoch {
        let durable = self.wanted_durable.load(Ordering::SeqCst);
        Epoch(match level {
            Level::Durable => durable,
            Level::Flushed => durable.max(self.wanted_flushed.load(Ordering::SeqCst)),
        })
    }

    /// Wakes the flusher to look around.
    pub fn kick(&self) {
        self.kick.notify_one();
    }

    pub async fn kicked(&self) {
        self.kick.notified().await;
    }

    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    pub fn forget_asked(&self) {
        self.asked.store(0, Ordering::SeqCst);
    }

    pub fn accept(&self, epoch: Epoch) {
        self.accepted.store(epoch.0, Ordering::Release);
    }

    pub fn accepted(&self) -> Epoch {
        Epoch(self.accepted.load(Ordering::Acquire))
    }

    pub fn waiters(&self) -> usize {
        self.waiters.load(Ordering::SeqCst)
    }

    pub fn raise(&self, level: Level, epoch: Epoch) {
        self.marks.send_if_modified(|marks| {
            let raised = marks.at(level) < epoch;
            match level {
                Level::Flushed => marks.flushed = marks.flushed.max(epoch),
                Level::Durable => marks.durable = marks.durable.max(epoch),
            }
            raised
        });
    }

    pub fn end(&self, end: End) {
        self.marks.send_if_modified(|marks| {
            let first = marks.end.is_none();
            if first {
                marks.end = Some(end);
            }
            first
        });
    }

    pub fn has_ended(&self) -> bool {
        self.marks.borrow().end.is_some()
    }

    pub async fn ended(&self) -> End {
        let mut marks = self.marks.subscribe();
        let ended = marks
            .wait_for(|marks| marks.end.is_some())
            .await
            .expect("the sender lives in `self`");
        ended.end.clone().expect("waited for")
    }

    pub fn watermarks(&self) -> Watermarks {
        let marks = self.marks.borrow();
        Watermarks {
            accepted: self.accepted(),
            flushed: marks.flushed,
            durable: marks.durable,
        }
    }
}

/// Counts somebody while it lives, so that a cancelled caller is counted out.
pub(crate) struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    pub fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
