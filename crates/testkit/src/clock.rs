//! Time that passes when a test says so.

use std::sync::Mutex;
use std::time::Duration;

use chrono::{DateTime, TimeZone, Utc};

/// Begins at a round moment and stands still until it is moved.
#[derive(Debug)]
pub struct Clock(Mutex<DateTime<Utc>>);

impl Default for Clock {
    fn default() -> Self {
        let start = Utc.with_ymd_and_hms(2026, 1, 1, 12, 0, 0);
        Self(Mutex::new(
            start.single().expect("a moment that exists once"),
        ))
    }
}

impl Clock {
    pub fn now(&self) -> DateTime<Utc> {
        *self
            .0
            .lock()
            .expect("no test panics while it moves the clock")
    }

    /// Sets the clock back, as somebody does who finds it ahead, and says what it shows then.
    pub fn set_back(&self, time: Duration) -> DateTime<Utc> {
        let mut now = self
            .0
            .lock()
            .expect("no test panics while it moves the clock");
        *now -= time;
        *now
    }

    /// Moves the clock on and says what it shows then.
    pub fn pass(&self, time: Duration) -> DateTime<Utc> {
        let mut now = self
            .0
            .lock()
            .expect("no test panics while it moves the clock");
        *now += time;
        *now
    }
}
