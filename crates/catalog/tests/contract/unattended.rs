//! Runs that are brought to a worker one by one.

use std::collections::BTreeSet;
use std::time::Duration;

use catalog::{Claim, Page, RunError, State, Wait};
use futures::future::join_all;
use model::{RunId, RunStatus};
use uuid::Uuid;

use crate::World;
use crate::world::LEASE;

impl World {
    async fn claim_of(&self, run: RunId, max: usize) -> Vec<Claim> {
        let now = self.clock.now();
        let claims = self.catalog.claim_run(run, "worker", max, LEASE, now);
        claims.await.unwrap()
    }

    async fn unattended(&self) -> Vec<RunId> {
        let found = self.catalog.unattended(99, self.clock.now()).await;
        found.unwrap().iter().map(|one| one.run).collect()
    }
}

pub async fn a_run_is_claimed_by_itself_and_each_of_its_steps_once(world: &World) {
    let other = world.admit("other.txt", "other").await.run.unwrap();
    let run = world.admit("a.txt", "one").await.run.unwrap();
    let nobody = RunId::from_uuid(Uuid::now_v7());
    assert!(world.claim_of(nobody, 9).await.is_empty());
    let claims = world.claim_of(run, 9).await;
    let [prep] = &claims[..] else {
        panic!("one step is due, not {claims:?}")
    };
    assert_eq!((prep.run, prep.step.kind().as_str()), (run, "prep"));
    assert!(world.claim_of(run, 9).await.is_empty(), "its lease runs");
    world.prepare(prep, 20).await;

    // Eight deliveries at once, each of which takes what it can.
    let all = async |_| {
        let mut held = Vec::new();
        loop {
            match world.claim_of(run, 3).await {
                claims if claims.is_empty() => return held,
                claims => held.extend(claims),
            }
        }
    };
    let held: Vec<_> = join_all((0..8).map(all)).await.concat();
    let distinct: BTreeSet<_> = held.iter().map(|claim| claim.work).collect();
    assert_eq!((held.len(), distinct.len()), (20, 20));
    assert!(held.iter().all(|claim| claim.run == run));

    // A delivery after their leases fences those that took them before.
    world.clock.pass(LEASE * 2);
    let heirs = world.claim_of(run, 99).await;
    let greatest = held.iter().map(|claim| claim.token).max().unwrap();
    assert!(heirs.iter().all(|claim| claim.token > greatest));
    for heir in &heirs {
        world.complete(heir).await.unwrap();
    }
    let last = world.claim_of(run, 9).await;
    world.perform(&last[0]).await.unwrap();
    assert!(world.claim_of(run, 9).await.is_empty(), "it has ended");
    let untouched = world.catalog.run(world.place.tenant, other).await.unwrap();
    assert_eq!(untouched.status, RunStatus::Queued);
}

pub async fn a_run_nobody_is_at_is_found_and_says_why_it_waits(world: &World) {
    let (catalog, clock) = (&world.catalog, &world.clock);
    let first = world.admit("a.txt", "one").await.run.unwrap();
    let second = world.admit("b.txt", "two").await.run.unwrap();
    assert_eq!(world.unattended().await, [first, second]);

    let taken = world.claim_of(first, 9).await.remove(0);
    assert_eq!(world.unattended().await, [second], "somebody is at it");
    let until = clock.now() + Duration::from_secs(30);
    let why = "no worker takes it: the worker cannot be reached".to_owned();
    let wait = Wait {
        not_before: until,
        why: why.clone(),
    };
    catalog.await_worker(wait, clock.now()).await.unwrap();
    let runs = [first, second].map(async |run| {
        let run = catalog.run(world.place.tenant, run).await.unwrap();
        run.standing(true, clock.now())
    });
    let [running, waiting] = join_all(runs).await.try_into().unwrap();
    assert_eq!(running.state, State::Running);
    assert_eq!(waiting.state, State::Waiting);
    assert_eq!((waiting.until, waiting.detail), (Some(until), Some(why)));
    assert_eq!(world.unattended().await, [second], "it is due all the same");

    let counted = async || {
        let status = catalog.status(world.place.tenant, clock.now()).await;
        status.unwrap().runs_waiting
    };
    assert_eq!(counted().await, 1);

    // Whoever took the first is not heard from: it is found again, from then on.
    let heard = clock.now() + LEASE;
    clock.pass(LEASE * 3);
    assert_eq!(counted().await, 0, "it waits for nothing any more");
    let found = catalog.unattended(99, clock.now()).await.unwrap();
    let since: Vec<_> = found.iter().map(|one| (one.run, one.since)).collect();
    let admitted = clock.now() - LEASE * 3;
    assert_eq!(since, [(second, admitted), (first, heard)]);
    assert_eq!(found[0].tenant, world.place.tenant);

    // One that waits for its time is not brought to anybody before.
    let again = world.claim_of(first, 9).await.remove(0);
    assert!(again.token > taken.token);
    let wait = Wait {
        not_before: clock.now() + Duration::from_secs(5),
        why: "slow down".into(),
    };
    catalog.release(&again, wait, clock.now()).await.unwrap();
    assert_eq!(world.unattended().await, [second]);
    clock.pass(Duration::from_secs(5));
    assert_eq!(world.unattended().await, [second, first]);
}

pub async fn a_run_of_a_paused_job_waits_for_nobody(world: &World) {
    let (catalog, clock, tenant) = (&world.catalog, &world.clock, world.place.tenant);
    let listing = world.job("folder").await;
    let files = [("a.txt", "one"), ("b.txt", "two")];
    world.bring(&listing, &files, true).await;
    let [run, taken] = world.unattended().await[..] else {
        panic!("two runs wait")
    };
    assert_eq!(world.claim_of(taken, 9).await.len(), 1);
    let now = clock.now();
    catalog.pause_job(tenant, listing.job, now).await.unwrap();
    clock.pass(Duration::from_secs(2 * 60 * 60));
    let now = clock.now();
    assert!(world.unattended().await.is_empty());
    let depth = catalog.queue_depth(now).await.unwrap();
    let counted = (depth.ready, depth.waiting);
    assert_eq!(counted, (0, 2), "nobody looks at them again");
    let wait = Wait {
        not_before: now + LEASE,
        why: "no worker takes it".into(),
    };
    catalog.await_worker(wait, now).await.unwrap();
    assert_eq!(catalog.run(tenant, run).await.unwrap().waiting, None);
    let error = RunError {
        code: "no_worker".into(),
        message: "nobody took it".into(),
        hint: None,
    };
    let buried = catalog.bury_unattended(run, error, now).await;
    assert!(!buried.unwrap(), "nobody was to take it");

    // It is looked for from now on, and not since it was admitted.
    catalog.resume_job(tenant, listing.job, now).await.unwrap();
    let found = catalog.unattended(9, now).await.unwrap();
    let found: Vec<_> = found.iter().map(|one| (one.run, one.since)).collect();
    assert_eq!(found, [(run, now), (taken, now)]);
    world.work_off().await;
    assert_eq!(world.answering().await.len(), 2);
}

pub async fn a_run_is_buried_only_while_nobody_is_at_it(world: &World) {
    let (catalog, clock, tenant) = (&world.catalog, &world.clock, world.place.tenant);
    let run = world.admit("a.txt", "one").await.run.unwrap();
    let bury = async || {
        let error = RunError {
            code: "no_worker".into(),
            message: "nobody took it".into(),
            hint: None,
        };
        let buried = catalog.bury_unattended(run, error, clock.now()).await;
        buried.unwrap()
    };
    assert_eq!(world.claim_of(run, 9).await.len(), 1);
    assert!(!bury().await, "somebody is at it");
    clock.pass(LEASE * 2);
    assert!(bury().await);
    assert!(!bury().await, "it has ended");
    let letters = catalog.dead_letters(tenant, Page::first(9)).await.unwrap();
    assert_eq!(letters.items[0].attempts, 0);
    let found = catalog.run(tenant, run).await.unwrap();
    assert_eq!(found.status, RunStatus::Failed);
    assert!(world.claim_of(run, 9).await.is_empty());
}
