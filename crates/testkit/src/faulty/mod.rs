//! Seams that fail: before the effect, after it with the answer lost, or late.
//!
//! What goes wrong is drawn from a seed, so that a test can print it. A wrapper changes
//! nothing else: a call that is let through gives the answer of what it wraps.

mod catalog;
mod store;

use std::sync::Mutex;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

pub use catalog::FaultyCatalog;
pub use store::FaultyStore;

/// How often something goes wrong, as a part of one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Odds {
    /// A call fails and has had no effect.
    pub before: f64,
    /// A call has its effect and its answer is lost.
    pub after: f64,
    /// A call takes its time.
    pub slow: f64,
    /// The longest it takes then.
    pub delay: Duration,
}

/// What becomes of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lot {
    Well,
    LostBefore,
    LostAfter,
}

/// Draws lots, the same ones for the same seed and order of calls.
#[derive(Debug)]
pub struct Dice {
    odds: Odds,
    random: Mutex<StdRng>,
}

impl Dice {
    pub fn new(seed: u64, odds: Odds) -> Self {
        let random = Mutex::new(StdRng::seed_from_u64(seed));
        Self { odds, random }
    }

    /// Waits if the call is to be slow, and says how it ends.
    pub async fn throw(&self) -> Lot {
        let (lot, delay) = self.draw();
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        lot
    }

    /// A number below `end`, for whoever needs one more decision.
    pub fn below(&self, end: usize) -> usize {
        self.with(|random| random.random_range(0..end))
    }

    /// What happens with this probability.
    pub fn chance(&self, of: f64) -> bool {
        self.with(|random| random.random_bool(of))
    }

    fn draw(&self) -> (Lot, Duration) {
        let odds = self.odds;
        self.with(|random| {
            let slow = odds.slow > 0.0 && random.random_bool(odds.slow);
            let delay = if slow {
                odds.delay.mul_f64(random.random())
            } else {
                Duration::ZERO
            };
            let drawn: f64 = random.random();
            let lot = if drawn < odds.before {
                Lot::LostBefore
            } else if drawn < odds.before + odds.after {
                Lot::LostAfter
            } else {
                Lot::Well
            };
            (lot, delay)
        })
    }

    fn with<T>(&self, decide: impl FnOnce(&mut StdRng) -> T) -> T {
        let mut random = self.random.lock().expect("no draw panics");
        decide(&mut random)
    }
}
