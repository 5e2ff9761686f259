//! What guard and janitor take away, and what they leave.

use std::path::Path;

use bytes::Bytes;
use catalog::{LedgerKind, NewJob, NewUpload, Page, UploadEnd};
use chrono::{TimeDelta, Utc};
use engine::backup::Local;
use engine::objects::Key;
use engine::{Disposition, Settings};
use index::{Fence, Flush, Space, UnitPlace};
use model::{ContentHash, JobStatus, ModelName, StepKind, UnitName, VersionId};

use crate::house::{House, LEASE, house, house_with, take_in};

fn local_in(data: &Path) -> Local {
    Local {
        data: data.to_owned(),
        index: data.join("index"),
        objects: data.join("objects"),
        beside: Vec::new(),
    }
}

#[tokio::test]
async fn old_bytes_nobody_refers_to_go_and_all_others_stay() {
    let house = house().await;
    let parts = house.engine.parts();
    let tenant = house.place.tenant;
    let staged = Key::staging(uuid::Uuid::now_v7());
    let kept = Key::original(tenant, &ContentHash::of(b"kept"));
    let stray = Key::original(tenant, &ContentHash::of(b"stray"));
    for key in [&staged, &kept, &stray] {
        let bytes = Bytes::from_static(b"bytes");
        parts.objects.put(key, bytes).await.unwrap();
    }
    let admission = house.place.file("kept.txt", "kept", Utc::now());
    parts.catalog.admit(admission, Utc::now()).await.unwrap();

    let young = house.engine.tidy().await.unwrap();
    assert_eq!((young.staged, young.originals), (0, 0));

    house.clock.advance(TimeDelta::hours(25));
    let old = house.engine.tidy().await.unwrap();
    assert_eq!((old.staged, old.originals), (1, 1));
    assert!(parts.objects.exists(&kept).await.unwrap());
    assert!(!parts.objects.exists(&stray).await.unwrap());
    assert_eq!(house.engine.housekeeping().tidied, old);
}

#[tokio::test]
async fn a_repair_leaves_young_originals_and_says_until_when() {
    let house = house().await;
    let (tenant, objects) = (house.place.tenant, &house.engine.parts().objects);
    let stray = Key::original(tenant, &ContentHash::of(b"stray"));
    let bytes = Bytes::from_static(b"stray");
    objects.put(&stray, bytes).await.unwrap();

    let young = house.engine.repair(tenant).await.unwrap();
    assert_eq!(young.leftovers_deleted, 0);
    let [kept] = &young.leftovers_kept[..] else {
        panic!("{young:?}");
    };
    assert_eq!(kept.object, stray.to_string());
    let now = house.engine.parts().clock.now();
    assert!(kept.until > now + TimeDelta::hours(23), "{kept:?}");
    assert!(objects.exists(&stray).await.unwrap());

    house.clock.advance(TimeDelta::hours(25));
    let old = house.engine.repair(tenant).await.unwrap();
    assert_eq!((old.leftovers_deleted, old.leftovers_kept), (1, Vec::new()));
    assert!(!objects.exists(&stray).await.unwrap());
}

#[tokio::test]
async fn a_round_of_the_guard_fails_nothing_that_waits() {
    let house = house().await;
    let catalog = &house.engine.parts().catalog;
    let admission = house.place.file("a.txt", "a", Utc::now());
    let admitted = catalog.admit(admission, Utc::now()).await.unwrap();
    house.clock.advance(TimeDelta::days(3));
    let round = house.engine.guard(LEASE).await.unwrap();
    assert_eq!((round.runs_recreated, round.cancels_finished), (0, 0));
    let run = catalog.run(house.place.tenant, admitted.run.unwrap());
    assert_eq!(run.await.unwrap().status, model::RunStatus::Queued);
}

#[tokio::test]
async fn figures_are_kept_of_the_machine_and_of_each_tenant_for_itself() {
    let house = house().await;
    let now = house.engine.parts().clock.now();
    let admission = house.place.file("a.txt", "a", now);
    let catalog = &house.engine.parts().catalog;
    catalog.admit(admission, now).await.unwrap();
    house.engine.record_load().await.unwrap();
    house.engine.record_holdings().await.unwrap();
    let figures = house.engine.figures();
    figures.open().await.unwrap().sync().await.unwrap();

    let now = now.timestamp_micros();
    let range = series::Range {
        from: now,
        to: now,
        step: 1_000_000,
    };
    let stranger = model::TenantId::from_uuid(uuid::Uuid::now_v7());
    for (query, own, others) in [
        (r#"queue_depth{state="ready"}"#, Some(1.0), Some(1.0)),
        ("documents", Some(1.0), None),
        (r#"runs{state="queued"}"#, Some(1.0), None),
    ] {
        for (tenant, expected) in [(house.place.tenant, own), (stranger, others)] {
            let lines = figures.query(tenant, query, range).await.unwrap();
            let seen = lines.first().map(|line| line.points[0].1);
            assert_eq!((lines.len() < 2, seen), (true, expected), "{query}");
        }
    }
    // Each hourly round thins the history out by a tier: after years nothing is left of it.
    house.clock.advance(TimeDelta::days(2000));
    for _tier in 0..3 {
        house.engine.tidy().await.unwrap();
    }
    let lines = figures.query(house.place.tenant, "documents", range).await;
    assert_eq!(lines.unwrap(), []);
}

#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "it leaves what a killed process would"
)]
async fn a_write_that_was_never_finished_is_swept_when_it_is_old() {
    let stores = tempfile::tempdir().unwrap();
    let local = local_in(stores.path());
    std::fs::create_dir_all(local.index.join("slate/wal")).unwrap();
    std::fs::create_dir_all(local.objects.join("staging")).unwrap();
    let names = [
        "index/slate/wal/1.sst#1",
        "objects/staging/a#12",
        "objects/staging/a",
    ];
    let files = names.map(|name| stores.path().join(name));
    for file in &files {
        std::fs::write(file, "half").unwrap();
    }
    let house = house_with(Settings {
        local: Some(local),
        ..Settings::default()
    });
    let house = house.await;
    assert_eq!(
        house.engine.tidy().await.unwrap().staged,
        0,
        "it may still be under way"
    );
    house.clock.advance(TimeDelta::hours(25));
    assert_eq!(house.engine.tidy().await.unwrap().staged, 2);
    assert_eq!(files.map(|file| file.exists()), [false, false, true]);
}

#[tokio::test]
async fn a_worker_not_heard_from_is_taken_over_and_can_write_nothing_any_more() {
    let house = house().await;
    house.admit().await;
    let stalled = house.claim("first").await;
    house.clock.advance(TimeDelta::minutes(2));
    let taken = house.claim("second").await;
    assert_eq!((stalled.unanswered, taken.unanswered), (0, 1));
    house.engine.taken_over(&taken);

    let objects = &house.engine.parts().objects;
    let bytes = Bytes::from_static(b"a");
    objects.put(&house.original(), bytes).await.unwrap();
    let woke = house.engine.perform(&stalled).await.unwrap_err();
    assert_eq!(woke.disposition(), Disposition::Drop);
    assert_eq!(house.engine.perform(&taken).await.unwrap().len(), 1);
    assert_eq!(house.engine.housekeeping().guarded.steps_taken_over, 1);
}

#[tokio::test]
async fn leases_of_a_dead_process_end_when_the_next_one_starts() {
    let house = house().await;
    house.admit().await;
    house.claim("dead").await;
    assert_eq!(house.engine.take_over().await.unwrap(), 1);
    assert_eq!(house.engine.housekeeping().guarded.leases_ended, 1);
    assert_eq!(house.claim("living").await.unanswered, 1);
}

#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "it leaves what a killed process would"
)]
async fn what_a_backup_that_died_left_goes_with_a_purge_and_at_the_next_start() {
    let data = tempfile::tempdir().unwrap();
    for store in ["index", "objects"] {
        std::fs::create_dir(data.path().join(store)).unwrap();
    }
    let settings = Settings {
        local: Some(local_in(data.path())),
        ..Settings::default()
    };
    let house = house_with(settings).await;
    let staged = data.path().join("index.backup-01a2");
    let die_in_a_backup = || {
        std::fs::create_dir_all(staged.join("data/wal")).unwrap();
        std::fs::write(staged.join("data/wal/1.sst"), "a").unwrap();
        let says = "gristmill keeps second names of its index here while it is backed up\n";
        std::fs::write(staged.join("backup"), says).unwrap();
    };

    house.begin_purge().await;
    die_in_a_backup();
    assert_eq!(house.engine.tidy().await.unwrap().purged, 1);
    assert!(!staged.exists());

    die_in_a_backup();
    house.engine.take_over().await.unwrap();
    assert!(!staged.exists());
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "it is somebody else's")]
async fn what_is_called_as_a_backup_of_the_index_and_is_none_of_ours_stays() {
    let data = tempfile::tempdir().unwrap();
    for store in ["index", "objects"] {
        std::fs::create_dir(data.path().join(store)).unwrap();
    }
    let settings = Settings {
        local: Some(local_in(data.path())),
        ..Settings::default()
    };
    let house = house_with(settings).await;
    let called = |name: &str| data.path().join(name);
    let (copy, notes) = (called("index.backup"), called("index.backup-notes"));
    std::fs::create_dir(&copy).unwrap();
    std::fs::write(copy.join("manifest"), "mine").unwrap();
    std::fs::write(&notes, "mine").unwrap();

    house.begin_purge().await;
    assert_eq!(house.engine.tidy().await.unwrap().purged, 1);
    house.engine.take_over().await.unwrap();
    assert!(copy.join("manifest").exists() && notes.exists());

    std::fs::remove_dir_all(&copy).unwrap();
    std::fs::write(&copy, "mine").unwrap();
    house.engine.take_over().await.unwrap();
    assert!(copy.exists());
}

#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "it leaves what a killed process would"
)]
async fn a_purge_takes_along_what_was_being_written_when_a_process_died() {
    let data = tempfile::tempdir().unwrap();
    let local = local_in(data.path());
    std::fs::create_dir(&local.index).unwrap();
    let house = house_with(Settings {
        local: Some(local.clone()),
        ..Settings::default()
    });
    let house = house.await;
    let tenant = house.place.tenant;
    let [version] = house.begin_purge().await[..] else {
        panic!("there is one");
    };
    let another = VersionId::from_uuid(uuid::Uuid::now_v7());
    let image = Key::page_image(tenant, version, 1, 110);
    let begun = [
        house.original(),
        Key::text(tenant, version, 1),
        image,
        Key::text(tenant, another, 1),
    ];
    let begun = begun.map(|key| local.objects.join(format!("{key}#1")));
    for file in &begun {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "half").unwrap();
    }
    assert_eq!(house.engine.tidy().await.unwrap().purged, 1);
    assert_eq!(begun.map(|file| file.exists()), [false, false, false, true]);
}

impl House {
    /// In the index, and as an object, whose key it answers with.
    async fn hold_a_version_nobody_knows(&self) -> Key {
        let parts = self.engine.parts();
        let version: VersionId = VersionId::from_uuid(uuid::Uuid::now_v7());
        let place = UnitPlace {
            space: Space {
                tenant: self.place.tenant,
                kb: self.place.kb,
                generation: self.place.generation,
            },
            version,
            number: 0,
            unit: UnitName::new("u").unwrap(),
        };
        let model = ModelName::new("test", "words");
        let written = parts.index.replace_unit(place, Fence(1), &model, vec![]);
        written.await.unwrap().durable().await.unwrap();
        let text = Key::text(self.place.tenant, version, 1);
        parts.objects.put(&text, Bytes::new()).await.unwrap();
        text
    }
}

#[tokio::test]
async fn a_part_of_a_round_that_fails_keeps_no_other_from_its_turn() {
    let house = house().await;
    let parts = house.engine.parts();
    let text = house.hold_a_version_nobody_knows().await;
    parts.index.clone().close().await.unwrap();
    house.clock.advance(TimeDelta::hours(25));
    assert!(house.engine.tidy().await.is_err(), "the index has stopped");
    assert!(!parts.objects.exists(&text).await.unwrap());
    assert_eq!(house.engine.housekeeping().tidied.leftovers, 1);
}

#[tokio::test]
async fn what_index_and_objects_hold_of_versions_that_are_gone_is_taken_away() {
    let house = house().await;
    let parts = house.engine.parts();
    let text = house.hold_a_version_nobody_knows().await;
    let round = house.engine.tidy().await.unwrap();
    assert_eq!((round.unreachable, round.leftovers), (1, 0), "too young");
    let snapshot = parts.index.snapshot(Flush(0)).await.unwrap();
    assert!(snapshot.versions().await.unwrap().is_empty());
    house.clock.advance(TimeDelta::hours(25));
    let round = house.engine.tidy().await.unwrap();
    assert_eq!((round.unreachable, round.leftovers), (0, 1));
    assert!(!parts.objects.exists(&text).await.unwrap());
}

#[tokio::test]
async fn bytes_of_a_failed_upload_are_kept_for_a_week() {
    let house = house().await;
    let parts = house.engine.parts();
    let staged = Key::staging(uuid::Uuid::now_v7());
    parts.objects.put(&staged, Bytes::new()).await.unwrap();
    let now = Utc::now();
    let upload = NewUpload {
        kb: house.place.kb,
        object_key: staged.to_string(),
        filename: "a.txt".into(),
        size: 0,
        media_type: None,
        initiated_by: None,
        expires_at: now + TimeDelta::hours(1),
    };
    let tenant = house.place.tenant;
    let upload = parts
        .catalog
        .create_upload(tenant, upload, now)
        .await
        .unwrap();
    let end = UploadEnd::Failed {
        error: "it was no document".into(),
    };
    let ended = parts.catalog.finish_upload(tenant, upload.id, end, now);
    ended.await.unwrap();
    house.clock.advance(TimeDelta::days(6));
    assert_eq!(house.engine.tidy().await.unwrap().staged, 0);
    house.clock.advance(TimeDelta::days(2));
    assert_eq!(house.engine.tidy().await.unwrap().staged, 1);
}

#[tokio::test]
async fn what_the_ledger_tells_of_is_kept_for_repair_though_its_row_is_lost() {
    let house = house().await;
    let (tenant, engine) = (house.place.tenant, &house.engine);
    house.up_to(StepKind::Finalize).await;
    let last = house.claim_of(StepKind::Finalize, "worker").await;
    engine.perform(&last).await.unwrap();
    let whole = engine.verify(tenant).await.unwrap();
    assert_eq!(whole.disagreements, []);

    house.vandalise("DELETE FROM document_versions").await;
    house.clock.advance(TimeDelta::hours(25));
    let round = engine.tidy().await.unwrap();
    assert_eq!((round.originals, round.unreachable), (0, 0));
    assert_eq!(round.leftovers, 0);
    let objects = &engine.parts().objects;
    assert!(objects.exists(&house.original()).await.unwrap());

    engine.repair(tenant).await.unwrap();
    let mended = engine.verify(tenant).await.unwrap();
    assert_eq!(mended.disagreements, []);
    assert_eq!(mended.digest, whole.digest);

    // What was let go on purpose is told of too, and kept no longer.
    let document = last.document;
    let purged = engine.purge(tenant, document, None).await.unwrap();
    assert_eq!(purged.residue, engine::Residue::default());
    assert!(!objects.exists(&house.original()).await.unwrap());
}

#[tokio::test]
async fn what_comes_again_while_its_document_is_purged_is_no_residue() {
    let house = house().await;
    let (tenant, engine, place) = (house.place.tenant, &house.engine, &house.place);
    take_in(engine, place, [("a.txt".to_owned(), "one".to_owned())]).await;
    let catalog = &engine.parts().catalog;
    let known = catalog.dossiers(tenant, Page::first(1)).await.unwrap();
    let document = known.items[0].document;
    let comes_again = async {
        let is_purged = async || {
            let dossier = catalog.dossier(tenant, document).await.unwrap();
            let mut told = dossier.ledger.iter();
            told.any(|entry| entry.kind == LedgerKind::Purged)
        };
        while !is_purged().await {}
        let admission = place.file("a.txt", "two", Utc::now());
        catalog.admit(admission, Utc::now()).await.unwrap()
    };
    let (purged, came) = tokio::join!(engine.purge(tenant, document, None), comes_again);
    assert_eq!(purged.unwrap().residue, engine::Residue::default());
    let there = catalog.dossier(tenant, came.document).await.unwrap();
    assert_eq!(there.versions.len(), 1, "and it is there");
}

#[tokio::test]
async fn an_index_that_has_stopped_is_waited_for() {
    let house = house().await;
    house.up_to(StepKind::Extract).await;
    let claim = house.claim_of(StepKind::Extract, "worker").await;
    house.engine.parts().index.clone().close().await.unwrap();
    let told = house.engine.perform(&claim).await.unwrap_err();
    let Disposition::Wait { why, .. } = told.disposition() else {
        panic!("{told:?} would cost the run an attempt");
    };
    assert!(why.starts_with("the index has stopped"), "{why}");
    assert!(why.contains("closed"), "it names the cause: {why}");
}

#[tokio::test]
async fn a_job_that_had_counted_wrongly_ends_with_the_next_round_of_the_guard() {
    let house = house().await;
    let (tenant, catalog) = (house.place.tenant, &house.engine.parts().catalog);
    let job = NewJob {
        kb: house.place.kb,
        source: None,
        config: serde_json::json!({}),
        initiated_by: None,
    };
    let job = catalog.create_job(tenant, job, Utc::now()).await.unwrap();
    catalog.start_job(tenant, job.id, Utc::now()).await.unwrap();
    house
        .vandalise("UPDATE jobs SET exhausted = TRUE, runs_open = 1")
        .await;
    assert_eq!(house.engine.guard(LEASE).await.unwrap().jobs_recounted, 1);
    let ended = catalog.job(tenant, job.id).await.unwrap();
    assert_eq!(ended.status, JobStatus::Completed);
    assert_eq!(house.engine.guard(LEASE).await.unwrap().jobs_recounted, 0);
    assert_eq!(house.engine.housekeeping().guarded.jobs_recounted, 1);
}

#[tokio::test]
async fn a_purge_that_was_interrupted_is_finished() {
    let house = house().await;
    let parts = house.engine.parts();
    assert_eq!(house.begin_purge().await.len(), 1);

    assert_eq!(house.engine.tidy().await.unwrap().purged, 1);
    let snapshot = parts.index.snapshot(Flush(0)).await.unwrap();
    assert!(snapshot.versions().await.unwrap().is_empty());
    assert!(!parts.objects.exists(&house.original()).await.unwrap());
    assert_eq!(house.engine.tidy().await.unwrap().purged, 0);
}

#[tokio::test]
async fn an_original_whose_rows_went_before_it_is_deleted_by_the_guard() {
    let house = house().await;
    let (tenant, parts) = (house.place.tenant, house.engine.parts());
    let versions = house.begin_purge().await;
    let freed = parts.catalog.forget_versions(tenant, &versions).await;
    assert_eq!(freed.unwrap().len(), 1);
    assert!(parts.objects.exists(&house.original()).await.unwrap());

    assert_eq!(
        house.engine.guard(LEASE).await.unwrap().originals_deleted,
        1
    );
    assert!(!parts.objects.exists(&house.original()).await.unwrap());
    assert_eq!(
        house.engine.guard(LEASE).await.unwrap().originals_deleted,
        0
    );
}
