//! How much time a document may take, over all attempts at reading it.
//!
//! An attempt ends with the first page that hurts, so a document of many such pages would be
//! begun again and again. All attempts together have the time of three: two are for finding
//! out what hurts, and one is kept for reading what does not.

use std::time::Duration;

use crate::settings::Settings;

const ATTEMPTS: u32 = 3;

/// Processor time, and time on the clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Time {
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
}

impl Time {
    fn times(self, many: u32) -> Self {
        Self {
            cpu: self.cpu * many,
            wall: self.wall * many,
        }
    }

    fn less(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(other.cpu),
            wall: self.wall.saturating_sub(other.wall),
        }
    }

    fn at_most(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.min(other.cpu),
            wall: self.wall.min(other.wall),
        }
    }
}

impl Settings {
    /// Time on the clock that reading a document takes at most, however many of its pages hurt.
    pub fn wall_in_all(&self) -> Duration {
        self.attempt().times(ATTEMPTS).wall
    }

    /// Processor time that reading a document takes at most.
    pub fn cpu_in_all(&self) -> Duration {
        self.attempt().times(ATTEMPTS).cpu
    }

    pub(crate) fn drawing(&self) -> Time {
        let wall = self.drawing * 3;
        Time {
            cpu: self.drawing.min(self.cpu),
            wall: wall.min(self.wall),
        }
    }

    pub(crate) fn attempt(&self) -> Time {
        Time {
            cpu: self.cpu,
            wall: self.wall,
        }
    }
}

/// What is left of a document's time.
#[derive(Debug, Clone)]
pub(crate) struct Allowance {
    one: Time,
    used: Time,
}

impl Allowance {
    pub(crate) fn new(one: Time) -> Self {
        Self {
            one,
            used: Time::default(),
        }
    }

    pub(crate) fn spend(&mut self, used: Time) {
        self.used.cpu += used.cpu;
        self.used.wall += used.wall;
    }

    /// For an attempt that may find another page that hurts; `None` once the time for that is
    /// used up. Processor time is counted in whole seconds.
    pub(crate) fn to_search(&self) -> Option<Time> {
        let left = self.one.times(ATTEMPTS - 1).less(self.used);
        let some = left.cpu >= Duration::from_secs(1) && !left.wall.is_zero();
        some.then(|| left.at_most(self.one))
    }

    /// For the attempt after which there is none.
    pub(crate) fn to_end(&self) -> Time {
        self.one.times(ATTEMPTS).less(self.used).at_most(self.one)
    }
}
