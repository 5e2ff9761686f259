//! How finely the past is kept.
//!
//! A sample is kept as it is, then as part of a five-minute summary, then of an
//! hourly one, then not at all. It moves when its bucket expires, in one batch
//! with the summary that replaces it, so it is always in exactly one tier.

use crate::sample::Micros;
use crate::settings::Settings;

const SECOND: Micros = 1_000_000;
const MINUTE: Micros = 60 * SECOND;
const HOUR: Micros = 60 * MINUTE;
const DAY: Micros = 24 * HOUR;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Tier {
    Samples = 0,
    Minutes = 1,
    Hours = 2,
}

/// A stretch of time in one tier: what is stored together for each series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Bucket {
    pub tier: Tier,
    pub index: u32,
}

impl Tier {
    pub const ALL: [Self; 3] = [Self::Samples, Self::Minutes, Self::Hours];

    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| *tier as u8 == byte)
    }

    /// Where what expires here goes.
    pub fn next(self) -> Option<Self> {
        match self {
            Self::Samples => Some(Self::Minutes),
            Self::Minutes => Some(Self::Hours),
            Self::Hours => None,
        }
    }

    /// The stretch of time one summary covers.
    pub fn window(self) -> Micros {
        match self {
            Self::Samples => 1,
            Self::Minutes => 5 * MINUTE,
            Self::Hours => HOUR,
        }
    }

    fn bucket_length(self) -> Micros {
        match self {
            Self::Samples => HOUR,
            Self::Minutes => DAY,
            Self::Hours => 30 * DAY,
        }
    }

    /// How old a bucket of this tier may become.
    pub fn keep(self, settings: &Settings) -> Micros {
        let minutes = settings.keep_samples + settings.keep_minutes;
        let kept = match self {
            Self::Samples => settings.keep_samples,
            Self::Minutes => minutes,
            Self::Hours => minutes + settings.keep_hours,
        };
        Micros::try_from(kept.as_micros()).unwrap_or(Micros::MAX)
    }

    /// The bucket that holds `at`. Before 1970 there is none, nor after the year 490,000.
    pub fn bucket(self, at: Micros) -> Option<Bucket> {
        let index = u32::try_from(at.div_euclid(self.bucket_length())).ok()?;
        Some(Bucket { tier: self, index })
    }
}

impl Bucket {
    pub fn start(self) -> Micros {
        // A damaged key may name a bucket beyond all time.
        Micros::from(self.index).saturating_mul(self.tier.bucket_length())
    }

    pub fn end(self) -> Micros {
        self.start().saturating_add(self.tier.bucket_length())
    }
}
