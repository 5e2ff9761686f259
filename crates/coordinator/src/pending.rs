//! What was accepted and is not yet in the store: a state machine without a clock.
//!
//! One delta takes writes. A flush takes that delta away and a fresh one follows
//! it. Callers hold the lock around each method, so every step is whole.

use std::sync::Arc;

use tokio::time::Instant;

use crate::metrics::Latency;
use crate::{Delta, Epoch, Epochs, Error, Failure};

/// What a coordinator is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// All that was accepted is flushed.
    Idle,
    /// Writes are pending; no flush is under way.
    Accumulating,
    /// A delta is on its way to the store; writes go into the next.
    Flushing,
    /// A flush failed for good; every call is told why.
    Failed,
}

/// A delta that takes no more writes.
#[derive(Debug)]
pub(crate) struct Frozen<D> {
    pub delta: Arc<D>,
    pub epochs: Epochs,
    pub bytes: usize,
}

impl<D> Clone for Frozen<D> {
    fn clone(&self) -> Self {
        Self {
            delta: Arc::clone(&self.delta),
            ..*self
        }
    }
}

enum Phase<D> {
    Idle,
    Accumulating {
        since: Instant,
    },
    Flushing {
        frozen: Frozen<D>,
        /// When the first write after the take arrived.
        behind: Option<Instant>,
    },
    Failed {
        cause: Arc<Failure>,
        kept: Vec<Frozen<D>>,
    },
}

pub(crate) struct Pending<D> {
    phase: Phase<D>,
    open: D,
    open_bytes: usize,
    accepted: Epoch,
    /// The last epoch that a flush has taken.
    taken: Epoch,
    closing: bool,
    pub writes: Latency,
    pub rejected: u64,
}

/// What an accepted write leaves behind.
pub(crate) struct Accepted {
    pub epoch: Epoch,
    /// The first of its delta: somebody has to start the timer.
    pub first: bool,
    pub open_bytes: usize,
}

impl<D: Delta> Pending<D> {
    pub fn new(start: Epoch, open: D) -> Self {
        Self {
            phase: Phase::Idle,
            open,
            open_bytes: 0,
            accepted: start,
            taken: start,
            closing: false,
            writes: Latency::default(),
            rejected: 0,
        }
    }

    /// Takes a write into the open delta: all of it, or nothing and no epoch.
    pub fn accept(&mut self, op: D::Op, bytes: usize, now: Instant) -> Result<Accepted, Error> {
        self.refuse_if_ended()?;
        if let Err(reason) = self.open.check(&op) {
            self.rejected += 1;
            return Err(Error::Rejected(Arc::new(reason)));
        }
        self.open.apply(op);
        self.open_bytes += bytes;
        self.accepted = self.accepted.next();
        Ok(Accepted {
            epoch: self.accepted,
            first: self.note_first(now),
            open_bytes: self.open_bytes,
        })
    }

    fn refuse_if_ended(&self) -> Result<(), Error> {
        match &self.phase {
            Phase::Failed { cause, .. } => Err(Error::Failed(Arc::clone(cause))),
            _ if self.closing => Err(Error::ShutDown),
            _ => Ok(()),
        }
    }

    fn note_first(&mut self, now: Instant) -> bool {
        match &mut self.phase {
            Phase::Idle => {
                self.phase = Phase::Accumulating { since: now };
                true
            }
            Phase::Flushing { behind, .. } => behind.replace(behind.unwrap_or(now)).is_none(),
            Phase::Accumulating { .. } | Phase::Failed { .. } => false,
        }
    }

    /// Freezes the open delta for a flush; `None` if it is empty or a flush is already under way.
    pub fn take(&mut self) -> Option<Frozen<D>> {
        let Phase::Accumulating { .. } = self.phase else {
            return None;
        };
        let frozen = self.freeze();
        self.phase = Phase::Flushing {
            frozen: frozen.clone(),
            behind: None,
        };
        Some(frozen)
    }

    fn freeze(&mut self) -> Frozen<D> {
        let fresh = self.open.successor();
        let epochs = Epochs {
            first: self.taken.next(),
            last: self.accepted,
        };
        self.taken = self.accepted;
        Frozen {
            delta: Arc::new(std::mem::replace(&mut self.open, fresh)),
            epochs,
            bytes: std::mem::take(&mut self.open_bytes),
        }
    }

    /// The delta that was taken is in the store.
    pub fn settle(&mut self) {
        if let Phase::Flushing { behind, .. } = self.phase {
            self.phase = behind.map_or(Phase::Idle, |since| Phase::Accumulating { since });
        }
    }

    /// Ends it. Both the delta in flight and the open one are kept. The first cause stands.
    pub fn fail(&mut self, cause: Failure) -> Arc<Failure> {
        let mut kept = match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Failed { cause, kept } => {
                self.phase = Phase::Failed {
                    cause: Arc::clone(&cause),
                    kept,
                };
                return cause;
            }
            Phase::Flushing { frozen, .. } => vec![frozen],
            Phase::Idle | Phase::Accumulating { .. } => vec![],
        };
        if self.accepted > self.taken {
            kept.push(self.freeze());
        }
        let cause = Arc::new(cause);
        self.phase = Phase::Failed {
            cause: Arc::clone(&cause),
            kept,
        };
        cause
    }

    /// No write is accepted from here on.
    pub fn close(&mut self) {
        self.closing = true;
    }

    pub fn closing(&self) -> bool {
        self.closing
    }

    pub fn accepted(&self) -> Epoch {
        self.accepted
    }

    pub fn taken(&self) -> Epoch {
        self.taken
    }

    pub fn open_bytes(&self) -> usize {
        self.open_bytes
    }

    pub fn in_flight_bytes(&self) -> usize {
        match &self.phase {
            Phase::Flushing { frozen, .. } => frozen.bytes,
            _ => 0,
        }
    }

    /// When the oldest write of a delta that could be taken arrived.
    pub fn accumulating_since(&self) -> Option<Instant> {
        match self.phase {
            Phase::Accumulating { since } => Some(since),
            _ => None,
        }
    }

    pub fn failure(&self) -> Option<&Arc<Failure>> {
        match &self.phase {
            Phase::Failed { cause, .. } => Some(cause),
            _ => None,
        }
    }

    pub fn kept(&self) -> &[Frozen<D>] {
        match &self.phase {
            Phase::Failed { kept, .. } => kept,
            _ => &[],
        }
    }

    pub fn state(&self) -> State {
        match self.phase {
            Phase::Idle => State::Idle,
            Phase::Accumulating { .. } => State::Accumulating,
            Phase::Flushing { .. } => State::Flushing,
            Phase::Failed { .. } => State::Failed,
        }
    }
}
