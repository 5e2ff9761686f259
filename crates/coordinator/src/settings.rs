//! What can be tuned.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Bound on what is pending and in flight together; beyond it writers wait,
    /// holding operations of their own that are not counted.
    pub budget_bytes: usize,
    /// A pending delta this large is flushed. Half the budget lets writes go on meanwhile.
    pub flush_bytes: usize,
    /// A write is flushed after this long even if nobody asks.
    pub flush_interval: Duration,
    /// How long a flush may take, retries included, before the coordinator fails.
    pub flush_deadline: Duration,
}

impl Settings {
    pub fn with_budget(budget_bytes: usize) -> Self {
        Self {
            budget_bytes,
            flush_bytes: (budget_bytes / 2).max(1),
            ..Self::default()
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            budget_bytes: 64 << 20,
            flush_bytes: 32 << 20,
            flush_interval: Duration::from_millis(100),
            flush_deadline: Duration::from_secs(60),
        }
    }
}
