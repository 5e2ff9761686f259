//! The time, handed in so that a test can hold it still.

use std::sync::Mutex;

use chrono::{DateTime, DurationRound, TimeDelta, Utc};

pub trait Clock: Send + Sync {
    /// Cut to microseconds: what every database we speak to can hold.
    fn now(&self) -> DateTime<Utc>;
}

/// The machine's own clock.
#[derive(Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        cut(Utc::now())
    }
}

/// A clock that moves when it is told to.
#[derive(Debug)]
pub struct ManualClock(Mutex<DateTime<Utc>>);

impl ManualClock {
    pub fn at(time: DateTime<Utc>) -> Self {
        Self(Mutex::new(cut(time)))
    }

    pub fn advance(&self, by: TimeDelta) {
        *self
            .0
            .lock()
            .expect("nothing panics while it holds the clock") += by;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        *self
            .0
            .lock()
            .expect("nothing panics while it holds the clock")
    }
}

fn cut(time: DateTime<Utc>) -> DateTime<Utc> {
    time.duration_trunc(TimeDelta::microseconds(1))
        .expect("a microsecond divides every time we can name")
}
