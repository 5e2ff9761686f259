//! Every way to stand somewhere has its own word.

use std::time::Duration;

use catalog::{RunError, Standing, State, Wait};
use model::{JobId, RunId};

use crate::World;
use crate::world::LEASE;

impl World {
    async fn run_stands(&self, run: RunId) -> Standing {
        let now = self.clock.now();
        let run = self.catalog.run(self.place.tenant, run).await.unwrap();
        run.standing(self.catalog.busy(now).await.unwrap(), now)
    }

    async fn job_stands(&self, job: JobId) -> Standing {
        let tenant = self.place.tenant;
        let progress = self.catalog.job_progress(tenant, job).await.unwrap();
        let job = self.catalog.job(tenant, job).await.unwrap();
        job.standing(&progress, self.clock.now())
    }
}

fn broken() -> RunError {
    RunError {
        code: "retries_exhausted".into(),
        message: "the disk hums".into(),
        hint: Some("listen to it".into()),
    }
}

pub async fn a_run_that_waits_says_for_what_and_one_that_failed_what_to_do(world: &World) {
    let (catalog, clock) = (&world.catalog, &world.clock);
    let run = world.admit("a.txt", "one").await.run.unwrap();
    assert_eq!(world.run_stands(run).await.state, State::Queued);
    let claim = world.one().await;
    let second = world.admit("b.txt", "two").await.run.unwrap();
    assert_eq!(world.run_stands(second).await.state, State::WaitingForSlot);

    clock.pass(Duration::from_secs(7));
    let running = world.run_stands(run).await;
    assert_eq!(running.state, State::Running);
    assert_eq!(running.heartbeat_age_seconds, Some(8));
    clock.pass(LEASE);
    let stalled = world.run_stands(run).await;
    assert_eq!(stalled.state, State::Stalled);
    assert!(stalled.heartbeat_age_seconds > Some(60));

    let until = clock.now() + Duration::from_secs(30);
    let why = "the provider asked us to slow down".to_owned();
    let wait = Wait {
        not_before: until,
        why: why.clone(),
    };
    catalog.release(&claim, wait, clock.now()).await.unwrap();
    let waiting = world.run_stands(run).await;
    assert_eq!(waiting.state, State::Waiting);
    assert_eq!((waiting.until, waiting.detail), (Some(until), Some(why)));

    clock.pass(Duration::from_secs(60));
    let due = world.run_stands(run).await;
    let again = "due again, and no worker has taken it since".to_owned();
    assert_eq!((due.state, due.detail), (State::Queued, Some(again)));
    for _ in 0..3 {
        let claims = world.claim(9).await;
        let claim = claims.iter().find(|claim| claim.run == run).unwrap();
        let until = clock.now() + Duration::from_secs(4);
        let retried = catalog.retry_later(claim, broken(), until, clock.now());
        retried.await.unwrap();
        let stands = world.run_stands(run).await;
        if claim.attempt < 3 {
            assert_eq!(stands.state, State::BackingOff);
            assert_eq!(stands.until, Some(until));
        } else {
            assert_eq!(stands.state, State::Failed);
            let detail = "the disk hums; listen to it".to_owned();
            assert_eq!(stands.detail, Some(detail));
        }
        clock.pass(LEASE);
    }
}

pub async fn a_job_says_whether_it_runs_waits_pauses_or_stalls(world: &World) {
    let (catalog, clock, tenant) = (&world.catalog, &world.clock, world.place.tenant);
    let stands = async |job| world.job_stands(job).await.state;
    let claim = world.job("folder").await;
    let job = claim.job;
    assert_eq!(stands(job).await, State::Running);
    clock.pass(LEASE);
    assert_eq!(stands(job).await, State::Stalled);
    let claim = world.listing().await;
    world.bring(&claim, &[("a.txt", "one")], true).await;
    assert_eq!(stands(job).await, State::Queued);

    let lost = world.one().await;
    assert_eq!(stands(job).await, State::Running);
    clock.pass(LEASE);
    let stalled = world.job_stands(job).await;
    assert_eq!(stalled.state, State::Stalled);
    assert!(stalled.heartbeat_age_seconds >= Some(60));
    assert!(stalled.detail.unwrap().contains("1 step"));
    let heir = world.one().await;
    assert_eq!((heir.run, stands(job).await), (lost.run, State::Running));
    let until = clock.now() + Duration::from_secs(4);
    let retried = catalog.retry_later(&heir, broken(), until, clock.now());
    retried.await.unwrap();
    let waits = world.job_stands(job).await;
    assert_eq!((waits.state, waits.until), (State::BackingOff, Some(until)));
    assert!(waits.detail.unwrap().contains("the disk hums"));

    let now = clock.pass(Duration::from_secs(9));
    assert_eq!(stands(job).await, State::Queued);
    let step = world.one().await;
    catalog.pause_job(tenant, job, now).await.unwrap();
    let pausing = world.job_stands(job).await;
    assert_eq!(pausing.state, State::Pausing);
    assert!(pausing.detail.unwrap().starts_with("1 step under way"));
    let wait = Wait {
        not_before: now,
        why: "the job is paused".into(),
    };
    catalog.release(&step, wait, now).await.unwrap();
    let paused = world.job_stands(job).await;
    assert_eq!(paused.state, State::Paused);
    assert!(paused.detail.unwrap().contains("jobs resume"));
    let run = world.run_stands(step.run).await;
    assert_eq!(run.state, State::Paused);

    catalog.resume_job(tenant, job, now).await.unwrap();
    world.work_off().await;
    assert_eq!(stands(job).await, State::Completed);
    catalog.begin_cancel(tenant, job, now).await.unwrap();
    let beat = catalog.heartbeat_cancel(tenant, job, LEASE, now);
    beat.await.unwrap();
    clock.pass(Duration::from_secs(7));
    let canceling = world.job_stands(job).await;
    assert_eq!(canceling.state, State::Canceling);
    assert_eq!(canceling.heartbeat_age_seconds, Some(7));
    let now = clock.pass(LEASE);
    let stalled = world.job_stands(job).await;
    assert_eq!(stalled.state, State::Stalled);
    assert_eq!(stalled.heartbeat_age_seconds, Some(67));
    let finish = format!("`gristmill jobs cancel {job}`");
    assert!(stalled.detail.unwrap().contains(&finish));
    assert!(!catalog.busy(now).await.unwrap());
    assert!(world.claim(1).await.is_empty());
}

pub async fn a_paused_job_says_whether_files_are_still_taken_in(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let claim = world.job("folder").await;
    let now = world.clock.now();
    catalog.pause_job(tenant, claim.job, now).await.unwrap();
    let pausing = world.job_stands(claim.job).await;
    assert_eq!(pausing.state, State::Pausing);
    let detail = "a batch of files is being taken in".to_owned();
    assert_eq!(pausing.detail, Some(detail));
    catalog.release_job(&claim).await.unwrap();
    assert_eq!(world.job_stands(claim.job).await.state, State::Paused);
}

pub async fn a_listing_that_was_interrupted_says_why_until_it_goes_on(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let claim = world.job("folder").await;
    let job = claim.job;
    let until = Some(world.clock.now() + LEASE);
    catalog.put_off_job(&claim, "the disk hums").await.unwrap();
    let backs_off = async || {
        let stands = world.job_stands(job).await;
        assert_eq!((stands.state, stands.until), (State::BackingOff, until));
        assert!(stands.detail.unwrap().contains("the disk hums"));
    };
    let now = world.clock.pass(Duration::from_secs(7));
    backs_off().await;
    assert_eq!(catalog.job(tenant, job).await.unwrap().error, None);
    catalog.pause_job(tenant, job, now).await.unwrap();
    assert_eq!(world.job_stands(job).await.state, State::Paused);
    catalog.resume_job(tenant, job, now).await.unwrap();
    backs_off().await;
    let early = catalog.claim_job("worker", LEASE, now).await;
    assert_eq!(early.unwrap(), None);

    world.clock.pass(LEASE);
    assert_eq!(world.job_stands(job).await.state, State::Queued);
    let heir = world.listing().await;
    assert_eq!(world.job_stands(job).await.state, State::Running);
    catalog.put_off_job(&claim, "too late").await.unwrap();
    let stands = world.job_stands(job).await;
    assert_eq!(stands.state, State::Running, "another lists it");
    world.bring(&heir, &[], true).await;
    assert_eq!(world.job_stands(job).await.state, State::Completed);
}

pub async fn a_job_resumed_after_a_restart_waits_for_a_worker(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let claim = world.job("folder").await;
    let job = claim.job;
    let now = world.clock.now();
    catalog.pause_job(tenant, job, now).await.unwrap();
    assert_eq!(catalog.expire_leases(now).await.unwrap(), 1);
    assert_eq!(world.job_stands(job).await.state, State::Paused);
    let now = world.clock.pass(Duration::from_secs(9));
    catalog.resume_job(tenant, job, now).await.unwrap();
    assert_eq!(world.job_stands(job).await.state, State::Queued);

    // The same where nobody ended the lease of whoever went away.
    world.listing().await;
    catalog.pause_job(tenant, job, now).await.unwrap();
    let now = world.clock.pass(LEASE);
    catalog.resume_job(tenant, job, now).await.unwrap();
    assert_eq!(world.job_stands(job).await.state, State::Queued);
    world.listing().await;
    assert_eq!(world.job_stands(job).await.state, State::Running);
}
