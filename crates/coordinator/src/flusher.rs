//! The task that takes deltas to the store.
//!
//! One flush at a time, in order. It starts when a waiter asks, when the delta is
//! large or old enough, when writers wait for room, and at shutdown.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::follower::{self, Latest};
use crate::pending::{Frozen, Pending};
use crate::progress::{End, Level};
use crate::shared::Shared;
use crate::{Epoch, Failure, FlushError, FlushHandler, Flushed, Snapshot};

/// How much of a flush time is spent on letting the writers it woke come back, at most.
const LINGER_PART: u32 = 8;
const FIRST_BACKOFF: Duration = Duration::from_millis(10);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

pub(crate) struct Flusher<H: FlushHandler> {
    shared: Arc<Shared<H>>,
    latest: watch::Sender<Option<Latest>>,
    last: LastFlush,
}

/// What the last flush tells of the next.
#[derive(Debug, Clone, Copy)]
struct LastFlush {
    ended: Instant,
    took: Duration,
    /// Who waited just before it woke anybody: those it served, and those who asked meanwhile.
    waiting: usize,
}

enum Next {
    Flush { at_once: bool },
    Sync,
    Wait(Option<Instant>),
    Drained,
    Failed,
}

impl<H: FlushHandler> Flusher<H> {
    pub fn spawn(shared: Arc<Shared<H>>) {
        let latest = watch::Sender::new(None);
        tokio::spawn(follower::follow(Arc::clone(&shared), latest.subscribe()));
        let flusher = Self {
            shared,
            latest,
            last: LastFlush {
                ended: Instant::now(),
                took: Duration::ZERO,
                waiting: 0,
            },
        };
        tokio::spawn(flusher.run());
    }

    async fn run(mut self) {
        // Dropped early, by a panic or with its runtime, it must not leave anyone waiting.
        let guard = FailOnDrop(Arc::clone(&self.shared));
        loop {
            let step = match self.next() {
                Next::Flush { at_once } => self.flush(at_once).await,
                Next::Sync => self.sync().await.map(|_| ()),
                Next::Wait(until) => {
                    self.wait(until).await;
                    Ok(())
                }
                Next::Drained => break self.shared.progress.end(End::Drained),
                Next::Failed => break,
            };
            if let Err(cause) = step {
                tracing::error!(%cause, "write coordinator failed");
                break self.shared.fail(cause);
            }
        }
        drop(guard);
    }

    fn next(&self) -> Next {
        let marks = self.shared.progress.watermarks();
        let wanted = self.shared.progress.wanted(Level::Flushed);
        let sync_wanted = self.shared.progress.wanted(Level::Durable) > marks.durable;
        let pending = self.shared.pending();
        if pending.failure().is_some() {
            return Next::Failed;
        }
        let due = self.due(&pending);
        let at_once = self.is_pressed(&pending);
        match due {
            Some(_) if at_once || wanted > pending.taken() => Next::Flush { at_once },
            // Closing asks for it, but after it has said so: this may come in between.
            _ if (sync_wanted || pending.closing()) && marks.flushed > marks.durable => Next::Sync,
            None if pending.closing() => Next::Drained,
            due => Next::Wait(due),
        }
    }

    fn due(&self, pending: &Pending<H::Delta>) -> Option<Instant> {
        let since = pending.accumulating_since()?;
        Some(since + self.shared.settings.flush_interval)
    }

    /// Whether a flush waits for nobody who may still come.
    fn is_pressed(&self, pending: &Pending<H::Delta>) -> bool {
        pending.open_bytes() >= self.shared.settings.flush_bytes
            || self.shared.waiting_writers() > 0
            || pending.closing()
            || self.due(pending).is_some_and(|due| due <= Instant::now())
    }

    async fn wait(&self, until: Option<Instant>) {
        let kicked = self.shared.progress.kicked();
        match until {
            None => kicked.await,
            Some(due) => tokio::select! {
                () = kicked => {}
                () = sleep_until(due) => {}
            },
        }
    }

    async fn flush(&mut self, at_once: bool) -> Result<(), Failure> {
        if !at_once {
            self.gather().await;
        }
        self.shared.progress.forget_asked();
        let Some(frozen) = self.shared.pending().take() else {
            return Ok(());
        };
        let begun = Instant::now();
        let flushed = self.put(&frozen).await?;
        let waiting = self.shared.progress.waiters();
        self.publish(frozen, flushed);
        self.shared.figures().flushes.record(begun.elapsed());
        self.note(begun, waiting);
        // Writers that wait for this delta to be durable wait for the sync of it, not for the next.
        if self.sync_is_wanted() {
            let waiting = self.sync().await?;
            self.note(begun, waiting);
        }
        Ok(())
    }

    /// Gives the writers that the last flush woke the moment they need to write again.
    ///
    /// Without it the first of them would start a flush of its own and the rest
    /// wait for that one and the next: half the throughput at twice the latency. Who asked while
    /// it went on is not enough of them either: two halves would take turns for ever.
    async fn gather(&self) {
        let patience = self.last.ended + self.last.took / LINGER_PART;
        while self.shared.progress.asked() < self.last.waiting && Instant::now() < patience {
            let due = {
                let pending = self.shared.pending();
                if pending.failure().is_some() || self.is_pressed(&pending) {
                    return;
                }
                self.due(&pending)
            };
            self.wait(Some(due.map_or(patience, |due| due.min(patience))))
                .await;
        }
    }

    fn note(&mut self, begun: Instant, waiting: usize) {
        let ended = Instant::now();
        self.last = LastFlush {
            ended,
            took: ended - begun,
            waiting,
        };
    }

    fn sync_is_wanted(&self) -> bool {
        let marks = self.shared.progress.watermarks();
        self.shared.progress.wanted(Level::Durable) > marks.durable
    }

    async fn put(&self, frozen: &Frozen<H::Delta>) -> Result<Flushed<H::Snapshot>, Failure> {
        let handler = &self.shared.handler;
        self.persist(|| handler.flush(Arc::clone(&frozen.delta), frozen.epochs))
            .await
    }

    /// The view first, then the mark: whoever is told "flushed" finds it in the snapshot.
    fn publish(&self, frozen: Frozen<H::Delta>, flushed: Flushed<H::Snapshot>) {
        let epoch = frozen.epochs.last;
        self.shared.snapshots.send_replace(Snapshot {
            epoch,
            view: flushed.snapshot,
        });
        self.shared.pending().settle();
        let bytes = frozen.bytes;
        drop(frozen);
        self.shared.space.add_permits(bytes);
        self.shared.progress.raise(Level::Flushed, epoch);
        self.latest.send_replace(Some(Latest {
            epoch,
            sequence: flushed.sequence,
        }));
    }

    /// Tells how many waited when it had come to its end.
    async fn sync(&mut self) -> Result<usize, Failure> {
        let flushed: Epoch = self.shared.progress.watermarks().flushed;
        let begun = Instant::now();
        let handler = &self.shared.handler;
        self.persist(|| handler.sync()).await?;
        self.shared.figures().syncs.record(begun.elapsed());
        let waiting = self.shared.progress.waiters();
        self.shared.progress.raise(Level::Durable, flushed);
        Ok(waiting)
    }

    /// Calls the store until it succeeds, refuses for good, or the deadline passes.
    async fn persist<T, F>(&self, call: impl Fn() -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, FlushError>>,
    {
        let after = self.shared.settings.flush_deadline;
        let deadline = Instant::now() + after;
        let mut backoff = FIRST_BACKOFF;
        for attempts in 1.. {
            let cause = match timeout_at(deadline, call()).await {
                Ok(Ok(done)) => return Ok(done),
                Ok(Err(FlushError::Permanent(cause))) => return Err(Failure::Refused(cause)),
                Ok(Err(FlushError::Transient(cause))) => cause,
                Err(_) => return Err(Failure::Stalled { after }),
            };
            if Instant::now() + backoff >= deadline {
                return Err(Failure::Unavailable {
                    attempts,
                    after,
                    cause,
                });
            }
            tracing::warn!(attempts, %cause, "flush failed, trying again");
            self.shared.figures().retries += 1;
            sleep(backoff).await;
            backoff = (backoff * 2).min(MAX_BACKOFF);
        }
        unreachable!("attempts end at the deadline")
    }
}

struct FailOnDrop<H: FlushHandler>(Arc<Shared<H>>);

impl<H: FlushHandler> Drop for FailOnDrop<H> {
    fn drop(&mut self) {
        if !self.0.progress.has_ended() {
            self.0.fail(Failure::Stopped);
        }
    }
}
