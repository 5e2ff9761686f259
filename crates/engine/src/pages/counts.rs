//! What came of drawing since the start.

use std::sync::atomic::{AtomicU64, Ordering};

/// How a wish for a page, or for a print, ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was in the cache.
    Kept,
    /// Drawn while somebody waited.
    Asked,
    /// Drawn before anybody asked.
    Ahead,
    /// Not drawn ahead: documents were being read, or too many wishes waited.
    GaveWay,
    /// A document without pages got some.
    Printed,
    /// It could not be printed.
    NotPrinted,
    /// It could not be drawn.
    NotDrawn,
}

impl Outcome {
    const ALL: [Self; 7] = [
        Self::Kept,
        Self::Asked,
        Self::Ahead,
        Self::GaveWay,
        Self::Printed,
        Self::NotPrinted,
        Self::NotDrawn,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Asked => "asked",
            Self::Ahead => "ahead",
            Self::GaveWay => "gave_way",
            Self::Printed => "printed",
            Self::NotPrinted => "not_printed",
            Self::NotDrawn => "not_drawn",
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counts([AtomicU64; Outcome::ALL.len()]);

impl Counts {
    pub(crate) fn add(&self, outcome: Outcome) {
        self.0[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn named(&self) -> Vec<(&'static str, u64)> {
        let count = |outcome: Outcome| self.0[outcome as usize].load(Ordering::Relaxed);
        Outcome::ALL
            .map(|outcome| (outcome.name(), count(outcome)))
            .to_vec()
    }
}
