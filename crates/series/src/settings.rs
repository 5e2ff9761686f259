//! What can be tuned.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How long every sample is kept.
    pub keep_samples: Duration,
    /// How long five-minute summaries are kept after that.
    pub keep_minutes: Duration,
    /// How long hourly summaries are kept after that.
    pub keep_hours: Duration,
    /// A sample is readable after this long.
    pub flush_interval: Duration,
    /// Memory for samples on their way; beyond it they are dropped and counted.
    pub budget_bytes: usize,
    /// Memory for blocks read back.
    pub cache_bytes: u64,
}

const DAY: Duration = Duration::from_secs(24 * 3600);

impl Default for Settings {
    fn default() -> Self {
        Self {
            keep_samples: 7 * DAY,
            keep_minutes: 90 * DAY,
            keep_hours: 730 * DAY,
            flush_interval: Duration::from_secs(1),
            budget_bytes: 16 << 20,
            cache_bytes: 16 << 20,
        }
    }
}
