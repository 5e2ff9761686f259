//! When to try again.

use std::time::Duration;

/// Twice as long each time, never over a minute. How often is the catalog's setting.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    pub first: Duration,
    pub factor: u32,
    pub cap: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            factor: 2,
            cap: Duration::from_secs(60),
        }
    }
}

impl Policy {
    /// How long to wait after the `attempt`-th failure (counted from 1). `jitter` is
    /// between 0 and 1: half of the wait is fixed, half is drawn, so that what failed
    /// together does not come back together.
    pub fn backoff(&self, attempt: u32, jitter: f64) -> Duration {
        let doubled = self.factor.saturating_pow(attempt.saturating_sub(1));
        let full = self.first.saturating_mul(doubled).min(self.cap);
        full.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap() {
        let policy = Policy::default();
        let waits = [1, 2, 3, 10].map(|attempt| policy.backoff(attempt, 1.0).as_secs());
        assert_eq!(waits, [1, 2, 4, 60]);
        assert_eq!(policy.backoff(3, 0.0), Duration::from_secs(2));
    }
}
