//! What a cancel takes, and what it leaves.

use catalog::{Activated, Page};
use model::{JobStatus, RunStatus};

use crate::World;
use crate::world::LEASE;

pub async fn cancel_takes_what_only_the_job_brought(world: &World) {
    let before = world.admit("a", "before").await;
    world.work_off().await;
    let listing = world.job("folder").await;
    world
        .bring(
            &listing,
            &[("a", "after"), ("b", "new"), ("c", "new"), ("d", "new")],
            false,
        )
        .await;
    for claim in world.claim(3).await {
        world.perform(&claim).await.unwrap();
    }
    world.work_off().await;
    assert_eq!(world.answering().await.len(), 4);
    world
        .bring(&listing, &[("e", "queued"), ("f", "queued")], false)
        .await;
    let held = world.claim(1).await;

    assert_eq!(world.cancel(&listing).await, 6);
    let again = world.cancel(&listing).await;
    assert_eq!(again, 0, "whoever asks again is told that it is done");
    assert_eq!(
        world.answering().await,
        [before.version],
        "what it had replaced is back"
    );
    assert!(world.claim(9).await.is_empty());
    assert!(
        world.perform(&held[0]).await.is_err(),
        "a step under way changes nothing"
    );
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let all = catalog::DocumentFilter {
        active: catalog::Active::All,
        ..Default::default()
    };
    let documents = catalog
        .documents(tenant, all, catalog::Page::first(10))
        .await
        .unwrap()
        .items;
    assert_eq!(documents.len(), 1);
    assert_eq!(documents[0].versions, 1);
    let filter = catalog::RunFilter {
        job: Some(listing.job),
        ..Default::default()
    };
    let runs = catalog
        .runs(tenant, filter, catalog::Page::first(10))
        .await
        .unwrap()
        .items;
    let canceled = runs
        .iter()
        .filter(|run| run.status == RunStatus::Canceled)
        .count();
    assert_eq!(
        (runs.len(), canceled),
        (6, 6),
        "runs are kept, as canceled, those that had ended too"
    );
    assert!(catalog.canceling().await.unwrap().is_empty());
}

pub async fn what_came_too_late_for_a_canceled_job_answers_after_all(world: &World) {
    let first = world.job("first").await;
    world.bring(&first, &[("a", "old")], true).await;
    world.prepare(&world.one().await, 0).await;
    let late = world.one().await;
    let second = world.job("second").await;
    world.bring(&second, &[("a", "new")], true).await;
    world.work_off().await;
    assert_eq!(world.activate(&late).await.unwrap(), Activated::Superseded);

    assert_eq!(world.cancel(&second).await, 1);
    assert_eq!(world.answering().await, [late.step.version()]);
    let run = world.catalog.run(world.place.tenant, late.run);
    let run = run.await.unwrap();
    assert_eq!((run.status, run.superseded), (RunStatus::Succeeded, false));
    assert_eq!(world.cancel(&first).await, 1);
    assert!(world.answering().await.is_empty());
}

pub async fn a_rollback_outlives_the_cancel_of_what_it_turned_back(world: &World) {
    let oldest = world.admit("a", "oldest").await;
    world.work_off().await;
    let first = world.job("first").await;
    world.bring(&first, &[("a", "old")], true).await;
    world.prepare(&world.one().await, 0).await;
    let late = world.one().await;
    let second = world.job("second").await;
    world.bring(&second, &[("a", "new")], true).await;
    world.work_off().await;
    assert_eq!(world.activate(&late).await.unwrap(), Activated::Superseded);
    let (catalog, tenant, now) = (&world.catalog, world.place.tenant, world.clock.now());
    let back = catalog.rollback(tenant, oldest.document, oldest.version, None, now);
    back.await.unwrap();
    assert_eq!(world.cancel(&second).await, 1);
    assert_eq!(world.answering().await, [oldest.version]);
}

pub async fn a_run_that_ended_stays_as_it_ended_while_another_claims_it(world: &World) {
    let first = world.job("first").await;
    world.bring(&first, &[("a", "1"), ("b", "2")], true).await;
    world.work_off().await;
    let second = world.job("second").await;
    world.bring(&second, &[("a", "1")], true).await;
    assert_eq!(world.cancel(&first).await, 1);
    let statuses = async || {
        let runs = world
            .catalog
            .runs(world.place.tenant, Default::default(), Page::first(9));
        let mut runs = runs.await.unwrap().items;
        runs.sort_by(|a, b| a.source_uri.cmp(&b.source_uri));
        runs.iter().map(|run| run.status).collect::<Vec<_>>()
    };
    use RunStatus::{Canceled, Succeeded};
    assert_eq!(statuses().await, [Succeeded, Canceled]);
    assert_eq!(world.cancel(&second).await, 1);
    assert_eq!(statuses().await, [Canceled, Canceled]);
    assert_eq!(world.catalog.recount_tallies().await.unwrap(), []);
}

pub async fn a_run_others_wait_for_survives_the_cancel_of_its_job(world: &World) {
    let first = world.job("first").await;
    world.bring(&first, &[("a", "1"), ("b", "2")], true).await;
    let second = world.job("second").await;
    world.bring(&second, &[("a", "1")], true).await;
    let claims = world.claim(9).await;
    assert_eq!(claims.len(), 2);
    world
        .catalog
        .begin_cancel(world.place.tenant, first.job, world.clock.now())
        .await
        .unwrap();
    let mut gates = Vec::new();
    for claim in &claims {
        gates.push(world.catalog.job_gate(claim).await.unwrap());
    }
    assert!(gates.contains(&None) && gates.contains(&Some(JobStatus::Canceled)));

    assert_eq!(world.cancel(&first).await, 1);
    world.clock.pass(LEASE * 2);
    world.work_off().await;
    assert_eq!(world.answering().await.len(), 1);
    assert_eq!(world.shown(&second).await.counters.runs_open, 0);
}

pub async fn a_cancel_gives_nobody_a_run_that_was_theirs_already(world: &World) {
    let first = world.job("first").await;
    world.bring(&first, &[("a", "1"), ("b", "2")], true).await;
    let second = world.job("second").await;
    world.bring(&second, &[("a", "1")], true).await;
    assert_eq!(world.cancel(&second).await, 0);
    assert_eq!(world.shown(&first).await.counters.runs_open, 2);
    world.work_off().await;
    let first = world.shown(&first).await;
    assert_eq!(first.status, JobStatus::Completed);
}

pub async fn a_cancel_beside_another_job_at_work_takes_nothing_of_it(world: &World) {
    let first = world.job("first").await;
    let names: Vec<String> = (0..12).map(|at| format!("{at:02}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "text")).collect();
    world.bring(&first, &files[..8], false).await;
    let second = world.job("second").await;
    let brought = async {
        for file in &files[4..] {
            let batch = world.batch(&second, &[*file], file.0 == "11");
            loop {
                let batch = batch.clone();
                match world
                    .catalog
                    .admit_batch(&second, batch, world.clock.now())
                    .await
                {
                    Ok(admitted) => break assert_eq!(admitted.len(), 1),
                    Err(error) => assert!(error.is_retryable(), "{error}"),
                }
            }
        }
    };
    let worked = async {
        for _ in 0..6 {
            for claim in world.claim(4).await {
                // Whoever loses to the cancel is told so.
                drop(world.perform(&claim).await);
            }
        }
    };
    tokio::join!(brought, worked, world.cancel(&first));
    world.clock.pass(LEASE * 2);
    world.work_off().await;
    assert_eq!(
        world.answering().await.len(),
        8,
        "all the second job brought, nothing else"
    );
    let job = world.shown(&second).await;
    assert_eq!((job.counters.docs_seen, job.counters.runs_open), (8, 0));
    assert_eq!(job.status, JobStatus::Completed);
}
