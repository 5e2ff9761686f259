//! How much to send in one request, and when the next one may leave.
//!
//! The size halves when the service is pushed too hard and grows back a little
//! with every answer, up to what the service was found to take. A service that says when it will listen again is believed,
//! for every request, not only the one it refused.

use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct Pace {
    size: usize,
    most: usize,
    not_before: Option<Instant>,
}

impl Pace {
    /// Never sends more than `most` at once, nor less than one.
    pub fn new(most: usize) -> Self {
        Self {
            size: most.max(1),
            most: most.max(1),
            not_before: None,
        }
    }

    pub fn size(&self) -> usize {
        self.size
    }

    /// How long the next request must still wait.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        let not_before = self.not_before?;
        (now < not_before).then(|| not_before - now)
    }

    pub fn answered(&mut self) {
        self.size = (self.size + self.most.div_ceil(8)).min(self.most);
    }

    /// More than this at once was too much for it.
    pub fn takes(&mut self, most: usize) {
        self.most = self.most.min(most.max(1));
        self.size = self.size.min(self.most);
    }

    /// Too slow, too much or too fast.
    pub fn pushed_too_hard(&mut self) {
        self.size = (self.size / 2).max(1);
    }

    pub fn hold_until(&mut self, until: Instant) {
        self.not_before = self.not_before.max(Some(until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_halves_under_strain_and_grows_back_to_the_limit() {
        let mut pace = Pace::new(64);
        (0..10).for_each(|_| pace.pushed_too_hard());
        assert_eq!(pace.size(), 1);
        let sizes: Vec<_> = (0..9)
            .map(|_| {
                pace.answered();
                pace.size()
            })
            .collect();
        assert_eq!(sizes, [9, 17, 25, 33, 41, 49, 57, 64, 64]);
    }

    #[test]
    fn it_grows_back_no_further_than_the_service_was_found_to_take() {
        let mut pace = Pace::new(64);
        pace.takes(12);
        assert_eq!(pace.size(), 12);
        pace.takes(20);
        (0..9).for_each(|_| pace.answered());
        assert_eq!(pace.size(), 12);
    }

    #[test]
    fn the_longest_wait_asked_for_is_kept() {
        let now = Instant::now();
        let mut pace = Pace::new(1);
        pace.hold_until(now + Duration::from_secs(9));
        pace.hold_until(now + Duration::from_secs(2));
        assert_eq!(pace.wait(now), Some(Duration::from_secs(9)));
        assert_eq!(pace.wait(now + Duration::from_secs(9)), None);
    }
}
