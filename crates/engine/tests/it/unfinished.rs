//! Versions on their way that lost something, failed or were cut off: each comes to its end.

use catalog::NewJob;
use chrono::{TimeDelta, Utc};
use engine::Disposition;
use index::Space;
use model::StepKind;

use crate::house::{LEASE, house};

const ALL: [StepKind; 3] = [StepKind::Prep, StepKind::Extract, StepKind::Finalize];

/// Nothing but its run tells of it: it is in no ledger, and nothing is noted of it yet.
#[tokio::test]
async fn a_version_on_its_way_that_lost_its_row_is_written_again_and_goes_on() {
    for stopped in [StepKind::Prep, StepKind::Extract] {
        let house = house().await;
        let (tenant, engine) = (house.place.tenant, &house.engine);
        house.up_to(stopped).await;
        house.vandalise("DELETE FROM document_versions").await;
        house.clock.advance(TimeDelta::hours(25));
        assert_eq!(engine.tidy().await.unwrap().originals, 0, "{stopped:?}");

        let found = engine.verify(tenant).await.unwrap();
        let gone = "its row among the versions is gone";
        let named = found.disagreements.iter().any(|one| one.what == gone);
        assert!(named, "{stopped:?}: {found:#?}");
        let repaired = engine.repair(tenant).await.unwrap();
        assert_eq!(repaired.after.disagreements, [], "{stopped:?}");
        let objects = &engine.parts().objects;
        assert!(objects.exists(&house.original()).await.unwrap());

        house.perform(&ALL).await;
        let whole = engine.verify(tenant).await.unwrap();
        assert_eq!((whole.documents, whole.disagreements), (1, Vec::new()));
    }
}

#[tokio::test]
async fn a_step_whose_version_is_lost_does_not_blame_the_file() {
    let house = house().await;
    house.up_to(StepKind::Prep).await;
    let claim = house.claim_of(StepKind::Prep, "worker").await;
    house.vandalise("DELETE FROM document_versions").await;
    let told = house.engine.perform(&claim).await.unwrap_err();
    assert_eq!(told.on_run().code, "version_lost");
}

#[tokio::test]
async fn a_run_that_failed_after_its_seal_succeeds_when_it_is_tried_again() {
    let house = house().await;
    let (tenant, parts) = (house.place.tenant, house.engine.parts());
    house.up_to(StepKind::Finalize).await;
    let last = house.claim_of(StepKind::Finalize, "worker").await;
    let space = Space {
        tenant,
        kb: last.kb,
        generation: last.generation,
    };
    let sealed = parts.index.seal(space, last.step.version()).await.unwrap();
    sealed.durable().await.unwrap();
    let error = catalog::RunError {
        code: "unavailable".into(),
        message: "the database was away for long".into(),
        hint: None,
    };
    let now = parts.clock.now();
    parts.catalog.set_aside(&last, error, now).await.unwrap();

    parts
        .catalog
        .retry_run(tenant, last.run, now)
        .await
        .unwrap();
    house.perform(&ALL).await;
    let verified = house.engine.verify(tenant).await.unwrap();
    assert_eq!((verified.disagreements.len(), verified.chunks), (0, 1));
}

#[tokio::test]
async fn a_run_whose_chunks_the_index_lost_does_not_succeed_with_the_rest() {
    let house = house().await;
    let (tenant, parts) = (house.place.tenant, house.engine.parts());
    house.up_to(StepKind::Finalize).await;
    let last = house.claim_of(StepKind::Finalize, "worker").await;
    let space = Space {
        tenant,
        kb: last.kb,
        generation: last.generation,
    };
    let lost = parts.index.scour(space, last.step.version()).await.unwrap();
    lost.durable().await.unwrap();

    let told = house.engine.perform(&last).await.unwrap_err();
    assert_eq!(told.disposition(), Disposition::Halt);
    assert!(told.explain().contains("1 chunks and the index holds 0"));
    let now = parts.clock.now();
    let set_aside = parts.catalog.set_aside(&last, told.on_run(), now);
    set_aside.await.unwrap();
    let none = house.engine.verify(tenant).await.unwrap();
    assert_eq!((none.disagreements.len(), none.documents), (0, 0));

    let retried = parts.catalog.retry_run(tenant, last.run, now);
    retried.await.unwrap();
    house.perform(&ALL).await;
    let verified = house.engine.verify(tenant).await.unwrap();
    assert_eq!((verified.disagreements.len(), verified.chunks), (0, 1));
}

#[tokio::test]
async fn a_version_on_its_way_whose_document_lost_its_row_is_not_forgotten_by_the_index() {
    for sql in [
        "DELETE FROM documents",
        "UPDATE documents SET id = randomblob(16)",
    ] {
        let house = house().await;
        house.up_to(StepKind::Finalize).await;
        house.vandalise(sql).await;
        let found = house.engine.verify(house.place.tenant).await.unwrap();
        let nobodys = |what: &str| what.starts_with("the index holds a version");
        let named = found.disagreements.iter().any(|one| nobodys(one.what));
        assert!(!named, "{sql}: {found:#?}");
        let repaired = house.engine.repair(house.place.tenant).await.unwrap();
        assert_eq!(repaired.after.disagreements, [], "{sql}");
        house.perform(&[StepKind::Finalize]).await;
        house.answers_soundly().await;
    }
}

#[tokio::test]
async fn a_version_begun_again_by_a_repair_comes_to_its_end() {
    for (sealed, sql) in [
        // The step of the pass it does not know any more must not stay.
        (true, "UPDATE document_versions SET pass = 0"),
        (
            true,
            "UPDATE document_versions SET pass = 0, units_open = 1",
        ),
        // All of its units were done, and the last step is in the queue.
        (false, "UPDATE document_units SET state = 'open'"),
        (true, "UPDATE document_units SET state = 'open'"),
        (true, "UPDATE document_units SET pass = 2"),
        (true, "DELETE FROM document_units"),
    ] {
        let house = house().await;
        house.up_to(StepKind::Finalize).await;
        if sealed {
            house.seal().await;
        }
        house.vandalise(sql).await;
        let repaired = house.engine.repair(house.place.tenant).await.unwrap();
        assert_eq!(repaired.after.disagreements, [], "{sql}");
        house.perform(&ALL).await;
        let catalog = &house.engine.parts().catalog;
        let left = catalog.claim(&ALL, "worker", 1, LEASE, house.engine.parts().clock.now());
        assert_eq!(left.await.unwrap().len(), 0, "{sql}");
        house.answers_soundly().await;
    }
}

/// Its pass and its units are lost: what it is begun again with has the number of the pass before.
#[tokio::test]
async fn a_version_sealed_in_the_pass_it_is_in_again_is_written_all_the_same() {
    let house = house().await;
    house.up_to(StepKind::Finalize).await;
    house.seal().await;
    house.vandalise("DELETE FROM document_units").await;
    house
        .vandalise("UPDATE document_versions SET pass = 0")
        .await;
    let repaired = house.engine.repair(house.place.tenant).await.unwrap();
    assert_eq!(repaired.after.disagreements, []);
    house.perform(&ALL).await;
    house.answers_soundly().await;
}

#[tokio::test]
async fn a_paused_listing_and_a_cancel_under_way_are_work_that_is_left() {
    let house = house().await;
    let (tenant, engine) = (house.place.tenant, &house.engine);
    let catalog = &engine.parts().catalog;
    let job = NewJob {
        kb: house.place.kb,
        source: None,
        config: serde_json::json!({}),
        initiated_by: None,
    };
    let job = catalog.create_job(tenant, job, Utc::now()).await.unwrap();
    let job = job.id;
    let left = async || engine.verify(tenant).await.unwrap().work;
    assert_eq!(left().await, 0, "it has not started");
    catalog.start_job(tenant, job, Utc::now()).await.unwrap();
    assert_eq!(left().await, 1, "it is listed");
    catalog.pause_job(tenant, job, Utc::now()).await.unwrap();
    assert_eq!(left().await, 1, "it is paused");
    catalog.begin_cancel(tenant, job, Utc::now()).await.unwrap();
    assert_eq!(left().await, 1, "it is being canceled");
    catalog
        .finish_cancel(tenant, job, Utc::now())
        .await
        .unwrap();
    assert_eq!(left().await, 0, "it is canceled");
}
