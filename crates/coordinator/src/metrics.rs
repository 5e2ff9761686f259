//! What an operator may ask of a coordinator.

use std::time::Duration;

use crate::{State, Watermarks};

/// A look at a coordinator at one moment.
#[derive(Debug, Clone)]
pub struct Metrics {
    pub state: State,
    pub watermarks: Watermarks,
    pub pending_bytes: usize,
    pub in_flight_bytes: usize,
    /// Writers that wait for room in the budget.
    pub waiting_writers: usize,
    /// Callers that wait for a write to be flushed or durable.
    pub waiters: usize,
    pub rejected: u64,
    pub retries: u64,
    /// From the call of a write to its acceptance, waiting for room included.
    pub writes: Latency,
    /// From taking a delta to its snapshot, retries included.
    pub flushes: Latency,
    pub syncs: Latency,
}

/// Durations counted in powers of two of a nanosecond.
#[derive(Debug, Clone)]
pub struct Latency {
    buckets: [u64; 64],
    count: u64,
    sum: Duration,
    max: Duration,
}

impl Default for Latency {
    fn default() -> Self {
        Self {
            buckets: [0; 64],
            count: 0,
            sum: Duration::ZERO,
            max: Duration::ZERO,
        }
    }
}

impl Latency {
    pub(crate) fn record(&mut self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[(63 - (nanos | 1).leading_zeros()) as usize] += 1;
        self.count += 1;
        self.sum = self.sum.saturating_add(took);
        self.max = self.max.max(took);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn sum(&self) -> Duration {
        self.sum
    }

    pub fn max(&self) -> Duration {
        self.max
    }

    /// The duration that a share `q` of them did not exceed, within a factor of two.
    pub fn quantile(&self, q: f64) -> Duration {
        let rank = (q.clamp(0.0, 1.0) * self.count as f64).ceil() as u64;
        let mut seen = 0;
        for (power, n) in self.buckets.iter().enumerate() {
            seen += n;
            if seen >= rank && seen > 0 {
                let upper = Duration::from_nanos(u64::MAX >> (63 - power));
                return upper.min(self.max);
            }
        }
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_within_a_factor_of_two() {
        let mut latency = Latency::default();
        assert_eq!(latency.quantile(0.5), Duration::ZERO);
        (1..=1000).for_each(|us| latency.record(Duration::from_micros(us)));
        let p50 = latency.quantile(0.5);
        assert!(Duration::from_micros(500) <= p50 && p50 <= Duration::from_micros(1000));
        assert_eq!(latency.quantile(1.0), Duration::from_micros(1000));
    }
}
