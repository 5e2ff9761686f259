//! Jobs that share documents, and whatever may be asked of them, in any order.
//!
//! A seed draws the moves. After each, every job counts as open the runs that live, and none
//! that has nothing left goes on; when everything asked for has been finished, every job has
//! ended and has counted what its rows tell, and every ledger tells what answered when.

mod asking;
mod deck;
mod ending;
mod working;

use std::time::Duration;

use catalog::{Claim, Error, JobClaim, Removing};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use self::deck::{DRAWN, Move};
use crate::World;
use crate::world::LEASE;

const SEED: &str = "GRISTMILL_CATALOG_SEED";
const SEEDS: &str = "GRISTMILL_CATALOG_SEEDS";
const FEW: u64 = 4;
const MOVES: usize = 120;
/// Files a job lists, of those there are.
const LISTED: usize = 4;
const FILES: usize = 6;

pub async fn whatever_is_asked_in_whatever_order_every_job_counts_right_and_ends(world: &World) {
    for seed in seeds() {
        println!("{SEED}={seed}");
        let mut hand = Hand::new(world, seed);
        for _ in 0..MOVES {
            hand.moves().await;
            let wrong = world.catalog.recount_jobs(world.clock.now()).await.unwrap();
            assert_eq!(wrong, [], "{SEED}={seed}, after {:?}", hand.done.last());
        }
        hand.settle().await;
        world.has_ended().await;
        world.counted_what_rows_tell().await;
        world.all_is_proven().await;
    }
}

pub async fn jobs_at_work_at_the_same_time_count_right_and_end(world: &World) {
    for seed in seeds() {
        println!("{SEED}={seed}");
        let mut hands: Vec<_> = (0..4).map(|nth| Hand::new(world, seed ^ nth)).collect();
        let counted = async {
            for _ in 0..MOVES {
                match world.catalog.recount_jobs(world.clock.now()).await {
                    Ok(wrong) => assert_eq!(wrong, [], "{SEED}={seed}"),
                    Err(error) => assert!(error.is_retryable(), "{SEED}={seed}: {error:?}"),
                }
            }
        };
        let moved = futures::future::join_all(hands.iter_mut().map(|hand| async move {
            for _ in 0..MOVES {
                hand.moves().await;
            }
        }));
        tokio::join!(counted, moved);
        for hand in &mut hands {
            hand.settle().await;
        }
        world.has_ended().await;
        world.all_is_proven().await;
    }
}

fn seeds() -> Vec<u64> {
    let number = |name| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    match (number(SEED), number(SEEDS)) {
        (Some(one), _) => vec![one],
        (None, many) => {
            let first = u64::from(rand::random::<u32>());
            (first..first + many.unwrap_or(FEW)).collect()
        }
    }
}

/// Somebody who asks for things, and remembers what they hold and what they held.
struct Hand<'a> {
    world: &'a World,
    random: StdRng,
    listings: Vec<JobClaim>,
    claims: Vec<Claim>,
    late: Vec<Claim>,
    removing: Vec<Removing>,
    done: Vec<Move>,
}

impl<'a> Hand<'a> {
    fn new(world: &'a World, seed: u64) -> Self {
        Self {
            world,
            random: StdRng::seed_from_u64(seed),
            listings: Vec::new(),
            claims: Vec::new(),
            late: Vec::new(),
            removing: Vec::new(),
            done: Vec::new(),
        }
    }

    /// What cannot be done just now is refused; nothing may break.
    async fn moves(&mut self) {
        let weighed = DRAWN.choose_weighted(&mut self.random, |(_, weight)| *weight);
        let next = weighed.expect("there are moves").0;
        self.world.clock.pass(Duration::from_secs(1));
        self.done.push(next);
        match self.make(next).await {
            Ok(())
            | Err(Error::Conflict { .. } | Error::NotFound { .. } | Error::Fenced { .. }) => {}
            Err(error) if error.is_retryable() => {}
            Err(error) => panic!("{next:?}: {error:?}"),
        }
    }

    async fn make(&mut self, next: Move) -> Result<(), Error> {
        match next {
            Move::Begin => self.begin().await,
            Move::StartAgain | Move::Pause | Move::Resume => self.steer(next).await,
            Move::BeginCancel | Move::CancelSome | Move::Reinstate | Move::FinishCancel => {
                self.cancel(next).await
            }
            Move::List => self.list().await,
            Move::ListLate => self.list_late().await,
            Move::FailListing => self.fail_listing().await,
            Move::RemoveMissing => self.remove_missing().await,
            Move::Upload => self.upload().await,
            Move::Claim => self.claim().await,
            Move::Work => self.work().await,
            Move::WorkLate => self.work_late().await,
            Move::Forget => self.forget().await,
            Move::Replay | Move::Drop => self.answer_letter(next).await,
            Move::Retry => self.retry().await,
            Move::Purge | Move::Deactivate | Move::RollBack => self.meddle(next).await,
            Move::Guard => self.guard().await,
            Move::Restart => {
                let now = self.world.clock.now();
                self.world.catalog.expire_leases(now).await.map(drop)
            }
            Move::Sleep => {
                self.world.clock.pass(LEASE * 2);
                Ok(())
            }
        }
    }
}
