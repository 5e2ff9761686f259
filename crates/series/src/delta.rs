//! Samples on their way to the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use coordinator::Delta;

use crate::label::{ByFingerprint, Labels};
use crate::sample::{Micros, Sample};
use crate::tier::Tier;

/// What an entry of the map, its key and its series take, roughly; an upper bound for most.
const ENTRY_BYTES: usize = 96;

pub(crate) enum Op {
    Sample {
        labels: Labels,
        sample: Sample,
    },
    /// Thin out what is too old at this time.
    Expire {
        now: Micros,
    },
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("{0} is not a number a series can hold")]
    NotFinite(f64),
    #[error("time {at} is outside what is kept, which begins at {horizon}")]
    OutsideTime { at: Micros, horizon: Micros },
}

/// One vector for all series: what each has of its own would be a few bytes anywhere.
pub(crate) struct Samples {
    /// Every series once, in the order in which they came.
    pub series: Vec<Labels>,
    /// In the order in which they were recorded; the series by its place among them.
    pub samples: Vec<(u32, Sample)>,
    places: ByFingerprint<u32>,
    /// The latest time at which something was asked to be thinned out.
    pub expire: Option<Micros>,
    /// Where unsummarised samples begin: an older one would have no place.
    horizon: Arc<AtomicI64>,
}

impl Samples {
    pub fn new(horizon: Arc<AtomicI64>) -> Self {
        Self {
            series: Vec::new(),
            samples: Vec::new(),
            places: ByFingerprint::default(),
            expire: None,
            horizon,
        }
    }
}

impl Delta for Samples {
    type Op = Op;
    type Rejected = Unfit;

    fn weigh(op: &Op) -> usize {
        match op {
            Op::Sample { labels, .. } => ENTRY_BYTES + labels.bytes() + size_of::<Sample>(),
            Op::Expire { .. } => size_of::<Op>(),
        }
    }

    fn check(&self, op: &Op) -> Result<(), Unfit> {
        let Op::Sample { sample, .. } = op else {
            return Ok(());
        };
        if !sample.value.is_finite() {
            return Err(Unfit::NotFinite(sample.value));
        }
        let (at, horizon) = (sample.at, self.horizon.load(Ordering::Relaxed));
        if at < horizon || Tier::Samples.bucket(at).is_none() {
            return Err(Unfit::OutsideTime { at, horizon });
        }
        Ok(())
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Sample { labels, sample } => {
                let next = self.series.len() as u32;
                let place = self.places.entry(labels.fingerprint()).or_insert(next);
                self.samples.push((*place, sample));
                if *place == next {
                    self.series.push(labels);
                }
            }
            Op::Expire { now } => self.expire = self.expire.max(Some(now)),
        }
    }

    fn successor(&self) -> Self {
        Self {
            series: Vec::with_capacity(self.series.len()),
            samples: Vec::with_capacity(self.samples.len()),
            places: ByFingerprint::with_capacity_and_hasher(self.series.len(), Default::default()),
            ..Self::new(Arc::clone(&self.horizon))
        }
    }
}
