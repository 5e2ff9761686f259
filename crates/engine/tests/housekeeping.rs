//! What guard and janitor take away, and what they leave.

use std::sync::Arc;

use bytes::Bytes;
use chrono::{TimeDelta, Utc};
use engine::objects::Key;
use engine::{Engine, Figures, ManualClock, Objects, Parts, Settings};
use model::ContentHash;
use object_store::memory::InMemory;
use sandbox::{Program, Sandbox};
use testkit::Place;

struct House {
    engine: Engine,
    clock: Arc<ManualClock>,
    place: Place,
    _folder: tempfile::TempDir,
}

async fn house() -> House {
    house_with(Settings::default()).await
}

async fn house_with(settings: Settings) -> House {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("catalog.db").display());
    let catalog = catalog::open(&catalog::Settings::new(url)).await.unwrap();
    let clock = Arc::new(ManualClock::at(Utc::now()));
    let place = testkit::place(&*catalog, Utc::now()).await.unwrap();
    let text = folder.path().join("text");
    let index = index::Index::open(index::Settings::default(), Arc::new(InMemory::new()), text);
    let hash = providers::Settings::Hash(providers::HashSettings::default());
    let parts = Parts {
        catalog,
        index: index.await.unwrap(),
        objects: Objects::new(Arc::new(InMemory::new())),
        embedder: providers::open(&hash).unwrap(),
        // Nothing is parsed here, so no child is ever started.
        sandbox: Arc::new(Sandbox::new(
            sandbox::Settings::default(),
            Program::new("none", &[]),
        )),
        clock: clock.clone(),
        figures: Figures::new(Arc::new(InMemory::new())),
    };
    House {
        engine: Engine::new(settings, parts),
        clock,
        place,
        _folder: folder,
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
async fn a_round_of_the_guard_fails_nothing_that_waits() {
    let house = house().await;
    let catalog = &house.engine.parts().catalog;
    let admission = house.place.file("a.txt", "a", Utc::now());
    let admitted = catalog.admit(admission, Utc::now()).await.unwrap();
    house.clock.advance(TimeDelta::days(3));
    let round = house.engine.guard().await.unwrap();
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
    let local = engine::backup::Local {
        index: stores.path().join("index"),
        objects: stores.path().join("objects"),
        beside: Vec::new(),
    };
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
