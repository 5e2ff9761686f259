//! How much time a document may take, over all attempts at reading it.
//!
//! An attempt ends with the first page that hurts, so a document of many such pages would be
//! begun again and again. All attempts together have the time of three. The last of them reads
//! again what an earlier one has read, and puts it together too, which that one did not come to:
//! so none takes more than a third of what is left, and once three quarters of all are used up
//! no further page is looked for. Nor does that last one take all: of what is left to it a
//! fifth is kept for another with fewer pages.

use std::time::Duration;

use crate::settings::Settings;

const ATTEMPTS: u32 = 3;

/// Processor time is limited in whole seconds, the nearest.
const TICK: Duration = Duration::from_secs(1);

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

    fn part(self, of: u32) -> Self {
        Self {
            cpu: self.cpu / of,
            wall: self.wall / of,
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
    /// used up.
    pub(crate) fn to_search(&self) -> Option<Time> {
        let left = self.left();
        let kept = self.one.times(ATTEMPTS).part(4);
        let mut attempt = left.part(3).at_most(self.one);
        attempt.cpu = attempt.cpu.max(TICK);
        let enough = left.cpu >= kept.cpu.max(attempt.cpu + TICK) && left.wall >= kept.wall;
        (enough && !attempt.wall.is_zero()).then_some(attempt)
    }

    /// For an attempt at what has been read before: four fifths of what is left, so that
    /// there is time for fewer pages should these turn out too many. `None` once all time is
    /// used up.
    pub(crate) fn to_end(&self) -> Option<Time> {
        let left = self.left();
        let mut attempt = left.less(left.part(5));
        attempt.cpu = attempt.cpu.max(TICK.min(left.cpu));
        (left.cpu >= TICK / 2 && !left.wall.is_zero()).then_some(attempt)
    }

    fn left(&self) -> Time {
        self.one.times(ATTEMPTS).less(self.used)
    }
}
