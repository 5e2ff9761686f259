//! What is known of how a service fares, and whether it may be asked.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::{Breaker, Pace};
use crate::Error;

pub(crate) struct Health(Mutex<Vitals>);

pub(crate) struct Vitals {
    pub breaker: Breaker,
    pub pace: Pace,
}

impl Health {
    /// Of a service that takes up to so many inputs at once.
    pub(crate) fn new(most: usize) -> Self {
        Self(Mutex::new(Vitals {
            breaker: Breaker::default(),
            pace: Pace::new(most),
        }))
    }

    pub(crate) fn vitals(&self) -> MutexGuard<'_, Vitals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn may_be_asked(&self, now: Instant) -> Result<(), Error> {
        let mut vitals = self.vitals();
        if let Some(wait) = vitals.pace.wait(now) {
            return Err(Error::Throttled {
                retry_after: Some(wait),
                message: "waiting as the service asked".to_owned(),
            });
        }
        let asked = vitals.breaker.ask(now);
        asked.map_err(|retry_after| Error::CircuitOpen { retry_after })
    }
}
