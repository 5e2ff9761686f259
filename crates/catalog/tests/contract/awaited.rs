//! A job that finds its files under way elsewhere waits for them.

use catalog::{Page, RunError, State};
use model::JobStatus;

use crate::World;

pub async fn a_job_waits_for_what_another_has_under_way_and_says_for_what(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.job("first").await;
    world.bring(&first, &[("a", "1"), ("b", "2")], true).await;
    let now = world.clock.now();
    catalog.pause_job(tenant, first.job, now).await.unwrap();
    let second = world.job("second").await;
    world.bring(&second, &[("a", "1"), ("b", "2")], true).await;

    let job = world.shown(&second).await;
    assert_eq!(job.status, JobStatus::Running);
    assert_eq!(
        (job.counters.docs_skipped, job.counters.runs_awaited),
        (2, 2)
    );
    let progress = catalog.job_progress(tenant, second.job).await.unwrap();
    let passed = (progress.taken_in, progress.parsed, progress.ended);
    assert_eq!(passed, (2, 0, 0));
    let stands = job.standing(&progress, world.clock.now());
    let resume = format!("`gristmill jobs resume {}`", first.job);
    assert_eq!(stands.state, State::Waiting);
    assert!(stands.detail.unwrap().contains(&resume));
    let documents = catalog.job_documents(tenant, second.job, Page::first(9));
    for document in documents.await.unwrap().items {
        assert!(document.waiting.unwrap().contains(&resume));
    }
    assert_eq!(catalog.recount_jobs(now).await.unwrap(), []);

    let now = world.clock.now();
    catalog.resume_job(tenant, first.job, now).await.unwrap();
    world.work_off().await;
    for job in [&first, &second] {
        let job = world.shown(job).await;
        assert_eq!(job.status, JobStatus::Completed);
        assert_eq!((job.counters.runs_open, job.counters.runs_awaited), (0, 0));
    }
    let progress = catalog.job_progress(tenant, second.job).await.unwrap();
    assert_eq!(progress.ended, 2);
}

pub async fn what_a_job_waited_for_is_its_own_when_the_other_is_canceled(world: &World) {
    let first = world.job("first").await;
    world.bring(&first, &[("a", "1"), ("b", "2")], true).await;
    let second = world.job("second").await;
    world.bring(&second, &[("a", "1")], true).await;
    let third = world.job("third").await;
    world.bring(&third, &[("a", "1"), ("b", "2")], true).await;
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let now = world.clock.now();
    catalog.pause_job(tenant, first.job, now).await.unwrap();
    assert_eq!(world.cancel(&first).await, 0, "others want all of it");
    let counted = async |job| {
        let counters = world.shown(job).await.counters;
        (counters.runs_open, counters.runs_awaited)
    };
    assert_eq!(counted(&second).await, (0, 1));
    assert_eq!(counted(&third).await, (2, 0));
    assert_eq!(catalog.recount_jobs(now).await.unwrap(), []);
    world.work_off().await;
    assert_eq!(world.shown(&second).await.status, JobStatus::Completed);
    assert_eq!(world.shown(&third).await.status, JobStatus::Completed);
}

pub async fn a_failure_is_told_by_everyone_who_waited_and_taken_back_by_a_retry(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.job("first").await;
    world.bring(&first, &[("a", "1")], true).await;
    let second = world.job("second").await;
    world.bring(&second, &[("a", "1")], true).await;
    let claim = world.one().await;
    let error = RunError {
        code: "test".into(),
        message: "it went wrong".into(),
        hint: None,
    };
    let now = world.clock.now();
    catalog.set_aside(&claim, error, now).await.unwrap();
    let counted = async |job| {
        let job = world.shown(job).await;
        let counters = job.counters;
        let left = counters.runs_open + counters.runs_awaited;
        (job.status, counters.runs_failed, left)
    };
    for job in [&first, &second] {
        assert_eq!(counted(job).await, (JobStatus::Completed, 1, 0));
    }
    catalog.retry_run(tenant, claim.run, now).await.unwrap();
    for job in [&first, &second] {
        assert_eq!(counted(job).await, (JobStatus::Completed, 0, 1));
        let progress = catalog.job_progress(tenant, job.job).await.unwrap();
        let stands = world.shown(job).await.standing(&progress, now);
        assert_eq!(stands.detail.as_deref(), Some("1 document begun again"));
    }
    world.work_off().await;
    for job in [&first, &second] {
        assert_eq!(counted(job).await, (JobStatus::Completed, 0, 0));
    }
}
