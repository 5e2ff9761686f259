//! Whether a failure is tried again here, and after how long.
//!
//! Short waits are sat out; a longer one is handed to the caller, which can say
//! what it waits for and give its place to others meanwhile.

use std::time::Duration;

use crate::Kind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Of one request, the first included.
    pub attempts: u32,
    pub first_wait: Duration,
    /// The longest wait that is sat out.
    pub patience: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 3,
            first_wait: Duration::from_millis(500),
            patience: Duration::from_secs(8),
        }
    }
}

impl Retry {
    /// How long to wait after failure number `attempt`, counted from one; `None` to give
    /// up. `salt` differs between requests, so that those that failed together return apart.
    pub fn wait(&self, kind: Kind, attempt: u32, salt: u64) -> Option<Duration> {
        let asked = match kind {
            Kind::Throttled { retry_after } | Kind::Transient { retry_after } => retry_after,
            Kind::Input { .. } | Kind::Quota | Kind::Misconfigured => return None,
        };
        if attempt >= self.attempts {
            return None;
        }
        let wait = asked.unwrap_or_else(|| self.backoff(attempt, salt));
        (wait <= self.patience).then_some(wait)
    }

    /// Doubles, less up to a quarter.
    fn backoff(&self, attempt: u32, salt: u64) -> Duration {
        let wait = self.first_wait * 2u32.saturating_pow(attempt - 1);
        let mixed = (salt ^ u64::from(attempt)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        wait - wait.mul_f64(mixed as f64 / f64::from(u32::MAX) / 4.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRANSIENT: Kind = Kind::Transient { retry_after: None };

    #[test]
    fn waits_double_and_differ_between_requests() {
        let retry = Retry::default();
        let within = |attempt, salt| {
            let wait = retry.wait(TRANSIENT, attempt, salt).unwrap();
            let full = retry.first_wait * 2u32.pow(attempt - 1);
            wait <= full && wait >= full.mul_f64(0.74)
        };
        assert!((0..100).all(|salt| within(1, salt) && within(2, salt)));
        assert_ne!(retry.wait(TRANSIENT, 1, 1), retry.wait(TRANSIENT, 1, 2));
        assert_eq!(retry.wait(TRANSIENT, 3, 1), None);
    }

    #[test]
    fn a_wait_longer_than_patience_is_the_callers() {
        let throttled = |seconds| Kind::Throttled {
            retry_after: Some(Duration::from_secs(seconds)),
        };
        let retry = Retry::default();
        assert_eq!(retry.wait(throttled(2), 1, 0), Some(Duration::from_secs(2)));
        assert_eq!(retry.wait(throttled(60), 1, 0), None);
        assert_eq!(retry.wait(Kind::Quota, 1, 0), None);
    }
}
