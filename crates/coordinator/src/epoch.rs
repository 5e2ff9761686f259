//! The number of a write, and how far writes have come.

use std::fmt;

/// The number of a write: the first after a start at `n` is `n + 1`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Epoch(pub u64);

impl Epoch {
    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The epochs of one delta, both ends included. A delta that is flushed has at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epochs {
    pub first: Epoch,
    /// Also the number of the flush: stored with it, it is where a reopened store starts.
    pub last: Epoch,
}

/// How far writes have come. `durable <= flushed <= accepted`, and none goes back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Watermarks {
    /// In the pending delta or beyond: ours to carry through.
    pub accepted: Epoch,
    /// In the snapshot: readers see it.
    pub flushed: Epoch,
    /// In the store for good: it survives a crash.
    pub durable: Epoch,
}
