//! Slows down whoever guesses passwords. Time comes in as an argument.

use std::collections::HashMap;
use std::sync::Mutex;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::{Semaphore, SemaphorePermit};

/// So many wrong guesses are free; each further one doubles the wait.
const FREE: u32 = 5;
const LONGEST: TimeDelta = TimeDelta::minutes(15);
/// Forgotten after this long without a guess.
const MEMORY: TimeDelta = TimeDelta::hours(1);
/// More names than anyone mistypes; beyond it the oldest are forgotten.
const MOST: usize = 10_000;

/// Tries at the same time: each is counted before many more can begin.
const TURNS: usize = 2;

#[derive(Debug)]
pub struct Throttle {
    entries: Mutex<HashMap<String, Entry>>,
    turns: Semaphore,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    failures: u32,
    last: DateTime<Utc>,
}

impl Entry {
    fn wait(&self) -> TimeDelta {
        match self.failures.checked_sub(FREE) {
            None => TimeDelta::zero(),
            Some(beyond) => TimeDelta::seconds(1 << beyond.min(20)).min(LONGEST),
        }
    }
}

impl Default for Throttle {
    fn default() -> Self {
        Self {
            entries: Mutex::default(),
            turns: Semaphore::new(TURNS),
        }
    }
}

impl Throttle {
    /// To be held from before the wait is asked for until the try is counted.
    pub async fn turn(&self) -> SemaphorePermit<'_> {
        self.turns.acquire().await.expect("never closed")
    }

    /// How long `who` has to wait before the next try; `None` when it may try now.
    pub fn wait(&self, who: &str, now: DateTime<Utc>) -> Option<TimeDelta> {
        let entries = self.entries();
        let entry = entries.get(who)?;
        let left = entry.last + entry.wait() - now;
        (left > TimeDelta::zero()).then_some(left)
    }

    pub fn failed(&self, who: &str, now: DateTime<Utc>) {
        let mut entries = self.entries();
        if entries.len() >= MOST {
            entries.retain(|_, entry| now - entry.last < MEMORY);
        }
        if entries.len() >= MOST
            && let Some(oldest) = oldest(&entries)
        {
            entries.remove(&oldest);
        }
        let entry = entries.entry(who.to_owned()).or_insert(Entry {
            failures: 0,
            last: now,
        });
        if now - entry.last >= MEMORY {
            entry.failures = 0;
        }
        entry.failures += 1;
        entry.last = now;
    }

    pub fn succeeded(&self, who: &str) {
        self.entries().remove(who);
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, HashMap<String, Entry>> {
        self.entries
            .lock()
            .expect("nothing panics while it holds the list")
    }
}

fn oldest(entries: &HashMap<String, Entry>) -> Option<String> {
    let oldest = entries.iter().min_by_key(|(_, entry)| entry.last);
    oldest.map(|(who, _)| who.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn guesses_get_slower_and_success_forgives() {
        let throttle = Throttle::default();
        for _ in 0..4 {
            throttle.failed("ada", at(0));
        }
        assert_eq!(throttle.wait("ada", at(0)), None);
        throttle.failed("ada", at(0));
        assert_eq!(throttle.wait("ada", at(0)), Some(TimeDelta::seconds(1)));
        throttle.failed("ada", at(1));
        assert_eq!(throttle.wait("ada", at(1)), Some(TimeDelta::seconds(2)));
        assert_eq!(throttle.wait("bob", at(1)), None);
        assert_eq!(throttle.wait("ada", at(3)), None);
        throttle.succeeded("ada");
        throttle.failed("ada", at(4));
        assert_eq!(throttle.wait("ada", at(4)), None);
    }

    #[test]
    fn the_wait_is_bounded_and_forgotten() {
        let throttle = Throttle::default();
        for _ in 0..40 {
            throttle.failed("ada", at(0));
        }
        assert_eq!(throttle.wait("ada", at(0)), Some(LONGEST));
        throttle.failed("ada", at(7200));
        assert_eq!(throttle.wait("ada", at(7200)), None);
    }
}
