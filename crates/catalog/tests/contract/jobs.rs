//! Jobs over a source.

use std::time::Duration;

use catalog::{
    Batch, Error, Job, JobClaim, JobFilter, JobOutcome, JobProgress, NewJob, NewSource, Page,
    Problem,
};
use model::{JobStatus, SourceUri};
use serde_json::json;

use crate::World;
use crate::world::LEASE;

impl World {
    /// A job of a source of its own, started and taken.
    pub async fn job(&self, name: &str) -> JobClaim {
        let (tenant, kb, now) = (self.place.tenant, self.place.kb, self.clock.now());
        let config = json!({});
        let source = NewSource {
            kb,
            kind: "folder".into(),
            name: name.into(),
            config,
        };
        let source = self
            .catalog
            .create_source(tenant, source, now)
            .await
            .unwrap();
        let job = NewJob {
            kb,
            source: Some(source.id),
            config: json!({}),
            initiated_by: None,
        };
        let job = self.catalog.create_job(tenant, job, now).await.unwrap();
        self.catalog.start_job(tenant, job.id, now).await.unwrap();
        self.listing().await
    }

    pub async fn listing(&self) -> JobClaim {
        let claim = self
            .catalog
            .claim_job("worker", LEASE, self.clock.now())
            .await
            .unwrap();
        claim.expect("a job to list")
    }

    pub fn batch(&self, claim: &JobClaim, files: &[(&str, &str)], exhausted: bool) -> Batch {
        let now = self.clock.pass(Duration::from_secs(1));
        let admission = |(name, content): &(&str, &str)| {
            let mut admission = self.place.file(name, content, now);
            (admission.job, admission.source) = (Some(claim.job), claim.source);
            admission
        };
        let admissions: Vec<_> = files.iter().map(admission).collect();
        let cursor = json!({ "after": files.last().map(|(name, _)| name) });
        Batch {
            admissions,
            seen: Vec::new(),
            problems: Vec::new(),
            cursor,
            exhausted,
        }
    }

    pub async fn bring(&self, claim: &JobClaim, files: &[(&str, &str)], exhausted: bool) {
        let batch = self.batch(claim, files, exhausted);
        self.catalog
            .admit_batch(claim, batch, self.clock.now())
            .await
            .unwrap();
    }

    pub async fn shown(&self, claim: &JobClaim) -> Job {
        self.catalog
            .job(self.place.tenant, claim.job)
            .await
            .unwrap()
    }

    pub async fn cancel(&self, claim: &JobClaim) -> usize {
        let (catalog, tenant, now) = (&self.catalog, self.place.tenant, self.clock.now());
        catalog.begin_cancel(tenant, claim.job, now).await.unwrap();
        let mut removed = 0;
        loop {
            let some = || catalog.cancel_some(tenant, claim.job, 3, now);
            let versions = insist(some).await;
            if versions.is_empty() {
                break;
            }
            // Interrupted before anything was forgotten, it goes on where it was: with the same, and
            // with the next in the place of what others have claimed.
            let again = insist(some).await;
            assert!(
                versions.iter().all(|version| again.contains(version)),
                "{versions:?}, then {again:?}"
            );
            let ids: Vec<_> = versions.iter().map(|version| version.version).collect();
            insist(|| catalog.forget_versions(tenant, &ids)).await;
            removed += ids.len();
        }
        while insist(|| catalog.reinstate_some(tenant, claim.job, 1, now)).await > 0 {}
        let job = catalog.finish_cancel(tenant, claim.job, now).await.unwrap();
        assert_eq!(job.status, JobStatus::NotStarted);
        assert_eq!(job.error.as_deref(), Some("Canceled by user"));
        assert_eq!((job.cursor, job.counters), (None, Default::default()));
        removed
    }
}

/// Transactions that collide with those of others at work are made again, as the engine does.
async fn insist<T, F>(call: impl Fn() -> F) -> T
where
    F: Future<Output = Result<T, Error>>,
{
    loop {
        match call().await {
            Err(error) if error.is_retryable() => {}
            done => return done.unwrap(),
        }
    }
}

pub async fn the_cursor_moves_with_the_batch_and_counters_add_up(world: &World) {
    let listing = world.job("folder").await;
    let again = world
        .catalog
        .start_job(world.place.tenant, listing.job, world.clock.now())
        .await;
    assert!(
        matches!(again, Err(Error::Conflict { .. })),
        "a second start is a conflict"
    );
    world
        .bring(&listing, &[("a", "1"), ("b", "2")], false)
        .await;
    assert_eq!(
        world.shown(&listing).await.cursor,
        Some(json!({ "after": "b" }))
    );
    world.work_off().await;

    // A broken batch changes nothing, its cursor included.
    let mut broken = world.batch(&listing, &[("c", "3"), ("d", "4")], true);
    broken.admissions[1].kb = model::KbId::from_uuid(Default::default());
    assert!(
        world
            .catalog
            .admit_batch(&listing, broken, world.clock.now())
            .await
            .is_err()
    );
    assert_eq!(world.shown(&listing).await.counters.docs_seen, 2);
    assert!(world.claim(9).await.is_empty());

    world.bring(&listing, &[("a", "1"), ("c", "3")], true).await;
    assert_eq!(
        world.shown(&listing).await.status,
        JobStatus::Running,
        "a run is open"
    );
    world.work_off().await;
    let job = world.shown(&listing).await;
    assert_eq!(job.status, JobStatus::Completed);
    let counters = job.counters;
    assert_eq!(
        (
            counters.docs_seen,
            counters.docs_skipped,
            counters.runs_open
        ),
        (4, 1, 0)
    );
    assert_eq!((counters.chunks_seen, counters.chunks_processed), (6, 3));
    assert_eq!((counters.chunks_skipped, counters.chunks_error), (3, 0));
}

pub async fn a_job_says_what_became_of_everything_it_met(world: &World) {
    let listing = world.job("folder").await;
    let mut batch = world.batch(&listing, &[("a", "1"), ("b", "2")], true);
    let refused = Problem {
        source_uri: Some(model::SourceUri::new("file:///locked.md").unwrap()),
        message: "permission denied".into(),
    };
    batch.problems.push(refused.clone());
    let (tenant, now) = (world.place.tenant, world.clock.now());
    world
        .catalog
        .admit_batch(&listing, batch, now)
        .await
        .unwrap();

    let page = world
        .catalog
        .job_documents(tenant, listing.job, Page::first(1))
        .await
        .unwrap();
    let next = page.next.expect("there is a second document");
    let rest = world
        .catalog
        .job_documents(tenant, listing.job, Page::following(next, 1))
        .await
        .unwrap();
    let outcomes = [&page.items[0], &rest.items[0]].map(|found| found.outcome);
    assert_eq!((outcomes, rest.next), ([JobOutcome::New; 2], None));
    let problems = world
        .catalog
        .job_problems(tenant, listing.job, Page::first(10))
        .await
        .unwrap();
    assert_eq!(problems.items, [refused]);
    let counters = world.shown(&listing).await.counters;
    assert_eq!((counters.docs_seen, counters.docs_refused), (3, 1));
    let passed = async || {
        let progress = world.catalog.job_progress(tenant, listing.job).await;
        let progress = progress.unwrap();
        let JobProgress {
            taken_in,
            parsed,
            embedded,
            ended,
            ..
        } = progress;
        (taken_in, parsed, embedded, ended)
    };
    let at_first = passed().await;
    assert_eq!(at_first, (3, 0, 0, 1), "nobody has read the refused one");

    let failed = catalog::RunError {
        code: "test".into(),
        message: "it cannot be read".into(),
        hint: None,
    };
    let claim = world.claim(1).await.remove(0);
    let set_aside = world.catalog.set_aside(&claim, failed.clone(), now);
    set_aside.await.unwrap();
    assert_eq!(passed().await, (3, 0, 0, 2), "it was not read either");

    // What failed before it began anew is not met again: nothing is taken off for it.
    world.work_off().await;
    assert_eq!(passed().await, (3, 1, 1, 3));
    for _ in 0..3 {
        let now = world.clock.pass(Duration::from_secs(1));
        world
            .catalog
            .start_job(tenant, listing.job, now)
            .await
            .unwrap();
        let again = world.listing().await;
        world.bring(&again, &[("a", "3"), ("b", "2")], true).await;
        let now = world.clock.now();
        for claim in world.claim(9).await {
            let failed = failed.clone();
            world.catalog.set_aside(&claim, failed, now).await.unwrap();
        }
    }
    assert_eq!(passed().await, (2, 1, 1, 2));
}

pub async fn a_source_is_at_the_job_under_way_and_a_refused_start_makes_none(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let listing = world.job("folder").await;
    let source = listing.source.unwrap();
    let of_source = async || {
        let job = catalog.job_of_source(tenant, source).await.unwrap();
        job.map(|job| (job.id, job.status))
    };
    let another = || NewJob {
        kb: world.place.kb,
        source: Some(source),
        config: json!({}),
        initiated_by: None,
    };
    let now = world.clock.pass(Duration::from_secs(1));
    let refused = catalog.begin_job(tenant, another(), now).await;
    assert!(matches!(refused, Err(Error::Conflict { .. })));
    let filter = JobFilter {
        source: Some(source),
        ..JobFilter::default()
    };
    let known = catalog.jobs(tenant, filter, Page::first(9)).await.unwrap();
    assert_eq!(known.items.len(), 1);

    // Left behind by releases that made it first.
    let waits = catalog.create_job(tenant, another(), now).await.unwrap();
    let at = Some((listing.job, JobStatus::Running));
    assert_eq!(of_source().await, at);
    catalog.pause_job(tenant, listing.job, now).await.unwrap();
    let at = Some((listing.job, JobStatus::Paused));
    assert_eq!(of_source().await, at);
    catalog.resume_job(tenant, listing.job, now).await.unwrap();
    world.bring(&listing, &[], true).await;
    let at = Some((listing.job, JobStatus::Completed));
    assert_eq!(of_source().await, at, "what never began is not its newest");

    let next = catalog.begin_job(tenant, another(), now).await.unwrap();
    assert_eq!(of_source().await, Some((next.id, JobStatus::Running)));
    let listing = world.listing().await;
    assert_eq!(listing.job, next.id);
    world.cancel(&listing).await;
    let canceled = Some((next.id, JobStatus::NotStarted));
    assert_eq!(of_source().await, canceled, "it began once");
    catalog.start_job(tenant, waits.id, now).await.unwrap();
    assert_eq!(of_source().await, Some((waits.id, JobStatus::Running)));
}

pub async fn a_listing_that_was_taken_over_cannot_move_the_cursor(world: &World) {
    let sleeper = world.job("folder").await;
    world.clock.pass(LEASE * 2);
    let awake = world.listing().await;
    assert_eq!(awake.job, sleeper.job);
    let batch = world.batch(&sleeper, &[("a", "1")], true);
    let told = world
        .catalog
        .admit_batch(&sleeper, batch, world.clock.now())
        .await;
    assert!(matches!(told, Err(Error::Conflict { .. })));
    assert!(
        world.claim(9).await.is_empty(),
        "nothing was admitted either"
    );
    assert!(
        !world
            .catalog
            .heartbeat_job(&sleeper, LEASE, world.clock.now())
            .await
            .unwrap()
    );
    world.bring(&awake, &[("a", "1")], true).await;
}

pub async fn what_a_source_shows_no_more_is_found(world: &World) {
    let (tenant, now) = (world.place.tenant, world.clock.now());
    let listing = world.job("folder").await;
    world
        .bring(&listing, &[("a", "1"), ("b", "2"), ("c", "3")], true)
        .await;
    world.work_off().await;
    world.clock.pass(Duration::from_secs(1));
    world
        .catalog
        .start_job(tenant, listing.job, world.clock.now())
        .await
        .unwrap();
    let listing = world.listing().await;
    let mut batch = world.batch(&listing, &[("a", "1")], false);
    batch.seen.push(SourceUri::new("file:///c").unwrap());
    world
        .catalog
        .admit_batch(&listing, batch, world.clock.now())
        .await
        .unwrap();
    let unseen = world.catalog.unseen(&listing, None, 10).await.unwrap();
    assert_eq!(unseen.len(), 1);
    assert_eq!(unseen[0].source_uri.as_str(), "file:///b");
    assert!(world.clock.now() > now);
}

pub async fn a_job_tells_what_changed_and_what_was_let_go_is_not_current(world: &World) {
    let (tenant, catalog) = (world.place.tenant, &world.catalog);
    let first = world.job("folder").await;
    world
        .bring(&first, &[("a", "1"), ("b", "2"), ("c", "3")], true)
        .await;
    world.work_off().await;
    world.clock.pass(Duration::from_secs(1));
    let job = NewJob {
        kb: world.place.kb,
        source: first.source,
        config: json!({}),
        initiated_by: None,
    };
    let now = world.clock.now();
    let job = catalog.create_job(tenant, job, now).await.unwrap();
    catalog.start_job(tenant, job.id, now).await.unwrap();
    let second = world.listing().await;
    world
        .bring(&second, &[("a", "1"), ("b", "changed"), ("d", "4")], false)
        .await;
    assert_eq!(world.remove_missing(&second).await, 1);
    world.bring(&second, &[], true).await;
    world.work_off().await;

    let changes = catalog.job_changes(tenant, second.job).await.unwrap();
    let counted = (changes.new, changes.changed, changes.unchanged);
    assert_eq!((counted, changes.removed), ((1, 1, 1), 1));
    let listed = async |active| {
        let filter = catalog::DocumentFilter {
            active,
            ..Default::default()
        };
        let page = catalog.documents(tenant, filter, Page::first(9)).await;
        page.unwrap().items.len()
    };
    assert_eq!(listed(catalog::Active::Current).await, 3);
    assert_eq!(listed(catalog::Active::Inactive).await, 1);
}

pub async fn a_job_that_counted_wrongly_is_put_right(world: &World) {
    let stuck = world.job("stuck").await;
    world.bring(&stuck, &[("a", "1")], true).await;
    world
        .vandalise("UPDATE jobs SET runs_open = runs_open + 1")
        .await;
    world.work_off().await;
    let job = world.shown(&stuck).await;
    assert_eq!(
        (job.status, job.counters.runs_open),
        (JobStatus::Running, 1)
    );

    let now = world.clock.now();
    let recounted = world.catalog.recount_jobs(now).await.unwrap();
    let told = (recounted[0].counted, recounted[0].live);
    assert_eq!((recounted.len(), told), (1, (1, 0)));
    assert_eq!(world.shown(&stuck).await.status, JobStatus::Completed);
    assert_eq!(world.catalog.recount_jobs(now).await.unwrap(), []);
}

pub async fn who_listed_a_job_before_it_began_anew_lists_it_no_more(world: &World) {
    let slow = world.job("folder").await;
    world.bring(&slow, &[("a", "1")], false).await;
    world.cancel(&slow).await;
    let (tenant, now) = (world.place.tenant, world.clock.now());
    let started = world.catalog.start_job(tenant, slow.job, now).await;
    assert_eq!(started.unwrap().cursor, None);
    let late = world.batch(&slow, &[("b", "2")], true);
    let told = world.catalog.admit_batch(&slow, late, now).await;
    assert!(matches!(told, Err(Error::Conflict { .. })));
    let listing = world.listing().await;
    assert_eq!(listing.cursor, None, "nothing is left out");
    world.bring(&listing, &[("a", "1"), ("b", "2")], true).await;
    let late = world.catalog.fail_job(&listing, "too late", now).await;
    assert!(
        matches!(late, Err(Error::Conflict { .. })),
        "what was listed to its end cannot fail"
    );
    world.work_off().await;
    assert_eq!(world.shown(&listing).await.status, JobStatus::Completed);
}

pub async fn a_letter_from_before_a_job_began_anew_takes_nothing_from_its_counters(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.job("folder").await;
    world.bring(&first, &[("a", "1")], true).await;
    let error = catalog::RunError {
        code: "test".into(),
        message: "it went wrong".into(),
        hint: None,
    };
    let claim = world.one().await;
    let now = world.clock.now();
    catalog.set_aside(&claim, error, now).await.unwrap();
    assert_eq!(world.shown(&first).await.counters.runs_failed, 1);

    world.clock.pass(Duration::from_secs(1));
    let now = world.clock.now();
    catalog.start_job(tenant, first.job, now).await.unwrap();
    let again = world.listing().await;
    world.bring(&again, &[("a", "mended")], true).await;
    world.work_off().await;
    let letters = catalog.dead_letters(tenant, Page::first(9)).await.unwrap();
    let letter = letters.items[0].id;
    catalog
        .replay_dead_letter(tenant, letter, now)
        .await
        .unwrap();
    let counters = world.shown(&again).await.counters;
    assert_eq!((counters.runs_open, counters.runs_failed), (1, 0));
    world.work_off().await;
    assert_eq!(world.shown(&again).await.counters.runs_open, 0);
}

pub async fn what_stops_at_the_gate_of_a_paused_job_has_not_begun(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let listing = world.job("folder").await;
    world.bring(&listing, &[("a", "1"), ("b", "2")], true).await;
    let now = world.clock.now();
    catalog.pause_job(tenant, listing.job, now).await.unwrap();
    assert_eq!(world.claim(9).await.len(), 2);
    let status = catalog.status(tenant, world.clock.now()).await.unwrap();
    assert_eq!((status.runs_queued, status.runs_running), (2, 0));
}

pub async fn a_paused_job_is_left_alone_until_it_is_resumed(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let listing = world.job("folder").await;
    world.bring(&listing, &[("a", "1"), ("b", "2")], true).await;
    let claims = world.claim(9).await;
    let now = world.clock.now();
    catalog.pause_job(tenant, listing.job, now).await.unwrap();
    for claim in &claims {
        let wait = catalog::Wait {
            not_before: now + Duration::from_secs(1),
            why: "the job is paused".into(),
        };
        catalog.release(claim, wait, now).await.unwrap();
    }
    let now = world.clock.pass(LEASE * 5);
    assert_eq!(world.claim(9).await.len(), 0, "nobody looks in vain");
    let status = catalog.status(tenant, now).await.unwrap();
    assert_eq!(
        status.runs_waiting, 2,
        "they wait for as long as they are left alone"
    );
    catalog.resume_job(tenant, listing.job, now).await.unwrap();
    let status = catalog.status(tenant, now).await.unwrap();
    assert_eq!((status.runs_waiting, status.queue.ready), (0, 2));
    for claim in &claims {
        let run = catalog.run(tenant, claim.run).await.unwrap();
        assert_eq!((run.waiting, run.waiting_until), (None, None));
    }
    assert_eq!(world.claim(9).await.len(), 2);
}
