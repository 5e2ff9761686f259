//! Jobs that share documents, and whatever may be asked of them, in any order.
//!
//! A seed draws the moves. After each, every job counts as open the runs that live, and none
//! that has nothing left goes on; when everything asked for has been finished, every job has
//! ended and has counted what its rows tell.

use std::time::Duration;

use catalog::{
    Batch, Claim, Error, Job, JobClaim, JobFilter, NewJob, NewSource, Page, Removal, Removing, Run,
    RunError, RunFilter, Untouched, Wait,
};
use model::{DocumentId, JobId, JobStatus, RunStatus};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::json;

use crate::World;
use crate::world::{ALL, LEASE};

const SEED: &str = "GRISTMILL_CATALOG_SEED";
const SEEDS: &str = "GRISTMILL_CATALOG_SEEDS";
const FEW: u64 = 4;
const MOVES: usize = 120;
const JOBS: usize = 3;
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

#[derive(Debug, Clone, Copy, PartialEq)]
enum Move {
    Begin,
    StartAgain,
    Pause,
    Resume,
    List,
    ListLate,
    FailListing,
    Upload,
    Claim,
    Work,
    WorkLate,
    BeginCancel,
    CancelSome,
    Forget,
    FinishCancel,
    Replay,
    Drop,
    Retry,
    Purge,
    Deactivate,
    RollBack,
    Guard,
    Restart,
    Sleep,
}

/// More often those that bring a document on.
static DRAWN: [(Move, u32); 24] = [
    (Move::Begin, 4),
    (Move::StartAgain, 4),
    (Move::Pause, 2),
    (Move::Resume, 3),
    (Move::List, 10),
    (Move::ListLate, 2),
    (Move::FailListing, 1),
    (Move::Upload, 2),
    (Move::Claim, 8),
    (Move::Work, 20),
    (Move::WorkLate, 3),
    (Move::BeginCancel, 2),
    (Move::CancelSome, 5),
    (Move::Forget, 4),
    (Move::FinishCancel, 3),
    (Move::Replay, 3),
    (Move::Drop, 1),
    (Move::Retry, 2),
    (Move::Purge, 1),
    (Move::Deactivate, 1),
    (Move::RollBack, 1),
    (Move::Guard, 1),
    (Move::Restart, 1),
    (Move::Sleep, 1),
];

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
            Move::BeginCancel | Move::CancelSome | Move::FinishCancel => self.cancel(next).await,
            Move::List => self.list().await,
            Move::ListLate => self.list_late().await,
            Move::FailListing => self.fail_listing().await,
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

    async fn begin(&mut self) -> Result<(), Error> {
        let jobs = self.world.jobs().await?;
        let live = jobs
            .iter()
            .filter(|job| job.status != JobStatus::Completed)
            .count();
        if live >= JOBS {
            return Ok(());
        }
        let (tenant, kb, now) = (
            self.world.place.tenant,
            self.world.place.kb,
            self.world.clock.now(),
        );
        let catalog = &self.world.catalog;
        let source = NewSource {
            kb,
            kind: "folder".into(),
            name: "files".into(),
            config: json!({}),
        };
        let source = catalog.create_source(tenant, source, now).await?;
        let first = self.random.random_range(0..=FILES - LISTED);
        let job = NewJob {
            kb,
            source: Some(source.id),
            config: json!({ "first": first }),
            initiated_by: None,
        };
        let job = catalog.create_job(tenant, job, now).await?;
        catalog.start_job(tenant, job.id, now).await.map(drop)
    }

    async fn any_job(&mut self, fits: impl Fn(&Job) -> bool) -> Result<Option<JobId>, Error> {
        let jobs = self.world.jobs().await?;
        let fitting: Vec<_> = jobs.iter().filter(|job| fits(job)).collect();
        Ok(fitting.choose(&mut self.random).map(|job| job.id))
    }

    async fn steer(&mut self, next: Move) -> Result<(), Error> {
        let Some(job) = self.any_job(|_| true).await? else {
            return Ok(());
        };
        let (catalog, tenant) = (&self.world.catalog, self.world.place.tenant);
        let now = self.world.clock.now();
        match next {
            Move::StartAgain => catalog.start_job(tenant, job, now).await,
            Move::Pause => catalog.pause_job(tenant, job, now).await,
            _ => catalog.resume_job(tenant, job, now).await,
        }
        .map(drop)
    }

    async fn cancel(&mut self, next: Move) -> Result<(), Error> {
        let canceled = next != Move::BeginCancel;
        let fits = |job: &Job| !canceled || job.status == JobStatus::Canceled;
        let Some(job) = self.any_job(fits).await? else {
            return Ok(());
        };
        let (catalog, tenant) = (&self.world.catalog, self.world.place.tenant);
        let now = self.world.clock.now();
        match next {
            Move::BeginCancel => drop(catalog.begin_cancel(tenant, job, now).await?),
            Move::CancelSome => {
                let some = catalog.cancel_some(tenant, job, 2, now).await?;
                self.removing.extend(some);
            }
            _ => drop(catalog.finish_cancel(tenant, job, now).await?),
        }
        Ok(())
    }

    async fn forget(&mut self) -> Result<(), Error> {
        let versions: Vec<_> = self.removing.iter().map(|one| one.version).collect();
        let tenant = self.world.place.tenant;
        self.world
            .catalog
            .forget_versions(tenant, &versions)
            .await?;
        self.removing.clear();
        Ok(())
    }

    async fn list(&mut self) -> Result<(), Error> {
        let (catalog, now) = (&self.world.catalog, self.world.clock.now());
        let Some(claim) = catalog.claim_job("lister", LEASE, now).await? else {
            return self.list_late().await;
        };
        let nth = self.listings.len();
        self.listings.push(claim);
        for _ in 0..self.random.random_range(0..4) {
            if self.batch(nth).await? {
                return Ok(());
            }
        }
        if self.random.random_bool(0.5) {
            catalog.release_job(&self.listings[nth]).await?;
        }
        Ok(())
    }

    /// By whoever held the listing once, from where they were.
    async fn list_late(&mut self) -> Result<(), Error> {
        if self.listings.is_empty() {
            return Ok(());
        }
        let late = self.random.random_range(0..self.listings.len());
        self.batch(late).await.map(drop)
    }

    /// One or two files more, and the cursor past them; whether they were the last.
    async fn batch(&mut self, nth: usize) -> Result<bool, Error> {
        let claim = self.listings[nth].clone();
        let at = |value: &serde_json::Value, key: &str| {
            usize::try_from(value[key].as_u64().unwrap_or(0)).expect("a small number")
        };
        let first = at(&claim.config, "first");
        let listed = claim.cursor.as_ref().map_or(0, |cursor| at(cursor, "at"));
        let next = (listed + self.random.random_range(1..=2)).min(LISTED);
        let now = self.world.clock.pass(Duration::from_secs(1));
        let admissions = (listed..next).map(|nth| {
            let (name, text) = self.file(first + nth);
            let mut admission = self.world.place.file(&name, &text, now);
            (admission.job, admission.source) = (Some(claim.job), claim.source);
            admission
        });
        let batch = Batch {
            admissions: admissions.collect(),
            seen: Vec::new(),
            problems: Vec::new(),
            cursor: json!({ "at": next }),
            exhausted: next == LISTED,
        };
        let catalog = &self.world.catalog;
        catalog.admit_batch(&claim, batch.clone(), now).await?;
        self.listings[nth].cursor = Some(batch.cursor);
        Ok(batch.exhausted)
    }

    /// As it is just now.
    fn file(&mut self, nth: usize) -> (String, String) {
        let text = self.random.random_range(0..3);
        (format!("file-{nth}"), format!("text {text}"))
    }

    async fn fail_listing(&mut self) -> Result<(), Error> {
        let Some(claim) = self.listings.choose(&mut self.random) else {
            return Ok(());
        };
        let (catalog, now) = (&self.world.catalog, self.world.clock.now());
        catalog.fail_job(claim, "no such folder", now).await
    }

    async fn upload(&mut self) -> Result<(), Error> {
        let nth = self.random.random_range(0..FILES);
        let (name, text) = self.file(nth);
        let now = self.world.clock.now();
        let admission = self.world.place.file(&name, &text, now);
        self.world.catalog.admit(admission, now).await.map(drop)
    }

    async fn claim(&mut self) -> Result<(), Error> {
        let max = self.random.random_range(1..5);
        let (catalog, now) = (&self.world.catalog, self.world.clock.now());
        let claims = catalog.claim(&ALL, "worker", max, LEASE, now).await?;
        self.claims.extend(claims);
        Ok(())
    }

    async fn work(&mut self) -> Result<(), Error> {
        if self.claims.is_empty() {
            self.claim().await?;
        }
        let Some(claim) = self.claims.pop() else {
            return Ok(());
        };
        self.late.push(claim.clone());
        let (catalog, now) = (&self.world.catalog, self.world.clock.now());
        match catalog.job_gate(&claim).await? {
            Some(JobStatus::Paused) => {
                let wait = Wait {
                    not_before: now + LEASE,
                    why: "paused".into(),
                };
                catalog.release(&claim, wait, now).await
            }
            Some(JobStatus::Canceled | JobStatus::NotStarted) => {
                catalog.stop_run(&claim, "Canceled by user", now).await
            }
            _ => self.perform(&claim).await,
        }
    }

    async fn perform(&mut self, claim: &Claim) -> Result<(), Error> {
        let (catalog, now) = (&self.world.catalog, self.world.clock.now());
        let error = || RunError {
            code: "test".into(),
            message: "it went wrong".into(),
            hint: None,
        };
        match self.random.random_range(0..20) {
            0 => catalog.fail_run(claim, error(), now).await,
            1 => catalog.set_aside(claim, error(), now).await,
            2 => catalog
                .retry_later(claim, error(), now + LEASE, now)
                .await
                .map(drop),
            // Its worker is not heard from again.
            3 => Ok(()),
            _ => self.world.perform(claim).await,
        }
    }

    /// By whoever held the step once.
    async fn work_late(&mut self) -> Result<(), Error> {
        match self.late.choose(&mut self.random).cloned() {
            Some(late) => self.perform(&late).await,
            None => Ok(()),
        }
    }

    async fn answer_letter(&mut self, next: Move) -> Result<(), Error> {
        let (catalog, tenant) = (&self.world.catalog, self.world.place.tenant);
        let letters = catalog.dead_letters(tenant, Page::first(50)).await?.items;
        let Some(letter) = letters.choose(&mut self.random) else {
            return Ok(());
        };
        let now = self.world.clock.now();
        match next {
            Move::Drop => catalog.drop_dead_letter(tenant, letter.id).await,
            _ => catalog
                .replay_dead_letter(tenant, letter.id, now)
                .await
                .map(drop),
        }
    }

    async fn retry(&mut self) -> Result<(), Error> {
        let ended = |run: &Run| matches!(run.status, RunStatus::Failed | RunStatus::Canceled);
        let runs = self.world.runs().await?;
        let ended: Vec<_> = runs.iter().filter(|run| ended(run)).collect();
        let Some(run) = ended.choose(&mut self.random) else {
            return Ok(());
        };
        let (catalog, now) = (&self.world.catalog, self.world.clock.now());
        catalog
            .retry_run(self.world.place.tenant, run.id, now)
            .await
            .map(drop)
    }

    async fn meddle(&mut self, next: Move) -> Result<(), Error> {
        let runs = self.world.runs().await?;
        let Some(document) = runs.choose(&mut self.random).map(|run| run.document) else {
            return Ok(());
        };
        let (catalog, tenant) = (&self.world.catalog, self.world.place.tenant);
        let now = self.world.clock.now();
        match next {
            Move::Purge => {
                let versions = catalog.begin_purge(tenant, document, None, now).await?;
                self.removing.extend(versions);
                Ok(())
            }
            Move::Deactivate => catalog
                .deactivate(tenant, document, Removal::default(), now)
                .await
                .map(drop),
            _ => self.roll_back(document).await,
        }
    }

    async fn roll_back(&mut self, document: DocumentId) -> Result<(), Error> {
        let (catalog, tenant) = (&self.world.catalog, self.world.place.tenant);
        let versions = catalog.versions(tenant, document).await?;
        let Some(version) = versions.choose(&mut self.random) else {
            return Ok(());
        };
        let now = self.world.clock.now();
        catalog
            .rollback(tenant, document, version.id, None, now)
            .await
    }

    async fn guard(&mut self) -> Result<(), Error> {
        let untouched = Untouched {
            queued: Duration::ZERO,
            running: Duration::ZERO,
        };
        let (catalog, now) = (&self.world.catalog, self.world.clock.now());
        catalog
            .recreate_missing_work(untouched, now)
            .await
            .map(drop)
    }

    /// Everything asked for is finished, and nothing goes wrong any more.
    async fn settle(&mut self) {
        self.forget().await.unwrap();
        for _ in 0..20 {
            self.world.clock.pass(LEASE * 2);
            self.finish_cancels().await;
            if self.finish_jobs().await {
                return;
            }
            self.world.work_off().await;
        }
        let jobs = self.world.jobs().await.unwrap();
        panic!("a job does not end: {jobs:#?}, after {:?}", self.done);
    }

    async fn finish_cancels(&mut self) {
        let catalog = &self.world.catalog;
        for (tenant, job) in catalog.canceling().await.unwrap() {
            loop {
                let now = self.world.clock.now();
                let some = catalog.cancel_some(tenant, job, 9, now).await.unwrap();
                if some.is_empty() {
                    break;
                }
                self.removing.extend(some);
                self.forget().await.unwrap();
            }
            let now = self.world.clock.now();
            catalog.finish_cancel(tenant, job, now).await.unwrap();
        }
    }

    /// Whether every job had ended, and every run.
    async fn finish_jobs(&mut self) -> bool {
        let (catalog, tenant) = (&self.world.catalog, self.world.place.tenant);
        let mut ended = true;
        for job in self.world.jobs().await.unwrap() {
            let now = self.world.clock.now();
            match job.status {
                JobStatus::Paused => drop(catalog.resume_job(tenant, job.id, now).await.unwrap()),
                JobStatus::Failed => drop(catalog.start_job(tenant, job.id, now).await.unwrap()),
                _ => {}
            }
            ended &= matches!(job.status, JobStatus::Completed | JobStatus::NotStarted);
        }
        let now = self.world.clock.now();
        while let Some(claim) = catalog.claim_job("last", LEASE, now).await.unwrap() {
            let nth = self.listings.len();
            self.listings.push(claim);
            while !self.batch(nth).await.unwrap() {}
        }
        let runs = self.world.runs().await.unwrap();
        ended && runs.iter().all(|run| run.finished_at.is_some())
    }
}

impl World {
    async fn jobs(&self) -> Result<Vec<Job>, Error> {
        let page = Page::first(Page::MAX);
        let jobs = self
            .catalog
            .jobs(self.place.tenant, JobFilter::default(), page);
        Ok(jobs.await?.items)
    }

    async fn runs(&self) -> Result<Vec<Run>, Error> {
        let (mut runs, mut page) = (Vec::new(), Page::first(Page::MAX));
        loop {
            let filter = RunFilter::default();
            let listed = self.catalog.runs(self.place.tenant, filter, page).await?;
            runs.extend(listed.items);
            match listed.next {
                Some(next) => page = Page::following(next, Page::MAX),
                None => return Ok(runs),
            }
        }
    }

    /// Nothing is left to do; every job has met all there was, or has left nothing.
    async fn has_ended(&self) {
        assert_eq!(self.catalog.next_due().await.unwrap(), None);
        for job in self.jobs().await.unwrap() {
            assert_eq!(job.counters.runs_open, 0);
            if job.status == JobStatus::Completed {
                assert_eq!(job.counters.docs_seen, LISTED as u64, "{job:#?}");
                continue;
            }
            assert_eq!(job.counters, Default::default());
            let page = Page::first(9);
            let left = self.catalog.job_documents(self.place.tenant, job.id, page);
            assert_eq!(left.await.unwrap().items.len(), 0, "{job:#?}");
        }
    }

    /// What ended before a job last began anew was counted then.
    async fn counted_what_rows_tell(&self) {
        let runs = self.runs().await.unwrap();
        let jobs = self.jobs().await.unwrap();
        for job in jobs.iter().filter(|j| j.status == JobStatus::Completed) {
            let of = |run: &&Run| run.job == Some(job.id) && run.finished_at >= job.started_at;
            let of: Vec<_> = runs.iter().filter(of).collect();
            let sum = |part: fn(&Run) -> u64| of.iter().map(|run| part(run)).sum::<u64>();
            let rows = [
                sum(|run| u64::from(run.status == RunStatus::Failed)),
                sum(|run| run.stats.chunks_processed),
                sum(|run| run.stats.chunks_skipped),
                sum(|run| run.stats.chunks_error),
            ];
            let counted = [
                job.counters.runs_failed,
                job.counters.chunks_processed,
                job.counters.chunks_skipped,
                job.counters.chunks_error,
            ];
            assert_eq!(counted, rows, "{job:#?}");
        }
    }
}
