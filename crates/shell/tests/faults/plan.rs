//! What a seed stands for.

use std::time::Duration;

use durable::When;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use testkit::Odds;

use crate::corpus::CORPORA;

pub struct Plan {
    pub corpus: usize,
    pub postgres: bool,
    /// Whether a death is a power cut: what was not synced is gone.
    pub power_cuts: bool,
    pub lives: Vec<LifePlan>,
}

/// One process, from its start to its death.
#[derive(Debug, Clone, Copy)]
pub struct LifePlan {
    pub seed: u64,
    pub catalog: Odds,
    pub objects: Odds,
    pub index: Odds,
    /// Old claims are performed again, at once or after their lease has ended.
    pub ghosts: bool,
    /// The clock jumps, forwards and backwards.
    pub jumps: bool,
    /// The job is paused and resumed.
    pub pauses: bool,
    pub death: Death,
}

#[derive(Debug, Clone, Copy)]
pub enum Death {
    /// At the n-th durable effect of any kind.
    AtEffect { when: When, hit: u64 },
    /// At the n-th call that syncs a file.
    AtSync { when: When, hit: u64 },
    /// `kill -9`, wherever it is by then.
    Killed { after: Duration },
    /// It stops as it was asked to.
    Closed,
}

impl Plan {
    pub fn of(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let postgres = random.random_bool(0.2);
        let power_cuts = !postgres && random.random_bool(0.4);
        let lives = random.random_range(1..=3);
        Self {
            corpus: random.random_range(0..CORPORA),
            postgres,
            power_cuts,
            lives: (0..lives)
                .map(|_| life(&mut random, postgres, power_cuts))
                .collect(),
        }
    }
}

fn life(random: &mut StdRng, postgres: bool, power_cuts: bool) -> LifePlan {
    let mut odds = |most: f64, slow: f64| Odds {
        before: random.random_range(0.0..most),
        after: random.random_range(0.0..most),
        slow,
        delay: Duration::from_millis(20),
    };
    // A real connection is cut by the proxy instead.
    let catalog = odds(if postgres { 1e-9 } else { 0.06 }, 0.02);
    let (objects, index) = (odds(0.06, 0.1), odds(0.01, 0.05));
    LifePlan {
        seed: random.random(),
        catalog,
        objects,
        index,
        ghosts: random.random_bool(0.5),
        jumps: random.random_bool(0.5),
        pauses: random.random_bool(0.2),
        death: death(random, power_cuts),
    }
}

fn death(random: &mut StdRng, power_cuts: bool) -> Death {
    let when = if random.random_bool(0.5) {
        When::Before
    } else {
        When::After
    };
    match random.random_range(0..10) {
        0 if !power_cuts => Death::Closed,
        1..=3 if power_cuts => Death::AtSync {
            when,
            hit: random.random_range(1..200),
        },
        4..=6 => Death::Killed {
            after: Duration::from_millis(random.random_range(20..900)),
        },
        _ => Death::AtEffect {
            when,
            hit: random.random_range(1..150),
        },
    }
}
