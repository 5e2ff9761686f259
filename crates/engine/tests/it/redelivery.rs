//! A unit that comes again is told as it was the first time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use catalog::{Claim, RunStats};
use chrono::Utc;
use engine::objects::Key;
use engine::{Disposition, Engine, Settings, SystemClock};
use model::{ContentHash, StepKind};
use providers::{HashEmbedder, HashSettings};
use testkit::Place;

use crate::house::{catalog_in, engine_in};

const LEASE: Duration = Duration::from_secs(60);

/// By one whose clock is ahead by so much.
async fn claim(engine: &Engine, kind: StepKind, ahead: Duration) -> Claim {
    let catalog = &engine.parts().catalog;
    let now = Utc::now() + ahead;
    let claims = catalog.claim(&[kind], "worker", 1, LEASE, now).await;
    claims.unwrap().remove(0)
}

/// Takes a text in. Whoever holds its unit loses the lease, and notices when it is in the index.
async fn ingest(engine: &Engine, place: &Place, name: &str, text: &str, losses: u32) -> RunStats {
    let (now, parts) = (Utc::now(), engine.parts());
    let original = Key::original(place.tenant, &ContentHash::of(text.as_bytes()));
    let bytes = Bytes::from(text.to_owned());
    parts.objects.put(&original, bytes).await.unwrap();
    let file = place.file(name, text, now);
    parts.catalog.admit(file, now).await.unwrap();
    let mut ahead = Duration::ZERO;
    let prep = claim(engine, StepKind::Prep, ahead).await;
    engine.perform(&prep).await.unwrap();
    let mut extract = claim(engine, StepKind::Extract, ahead).await;
    for _ in 0..losses {
        ahead += 2 * LEASE;
        let taken_over = claim(engine, StepKind::Extract, ahead).await;
        let late = engine.perform(&extract).await.unwrap_err();
        assert_eq!(late.disposition(), Disposition::Drop);
        extract = taken_over;
    }
    engine.perform(&extract).await.unwrap();
    let finalize = claim(engine, StepKind::Finalize, ahead).await;
    engine.perform(&finalize).await.unwrap();
    parts
        .catalog
        .run(place.tenant, prep.run)
        .await
        .unwrap()
        .stats
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_run_embedded_and_what_it_reused_is_the_same_however_often_it_was_interrupted() {
    let line = |n: usize| format!("Sack {n} was weighed, {} grains in it.\n\n", n * n);
    let text: String = (0..300).map(line).collect();
    let longer = format!("{text}A last sack was found behind the door.\n");
    let mut told = Vec::new();
    for losses in [0, 2] {
        let folder = tempfile::tempdir().unwrap();
        let catalog = catalog_in(folder.path()).await;
        let embedder = Arc::new(HashEmbedder::new(&HashSettings::default()));
        let clock = Arc::new(SystemClock);
        let opened = engine_in(folder.path(), Settings::default(), catalog, embedder, clock);
        let (engine, place) = opened.await;
        let first = ingest(&engine, &place, "sacks.txt", &text, losses).await;
        let second = ingest(&engine, &place, "more.txt", &longer, losses).await;
        assert_eq!((first.chunks_skipped, first.chunks_error), (0, 0));
        assert!(second.chunks_skipped > 0 && second.chunks_processed > 0);
        told.push([first, second]);
    }
    assert_eq!(told[0], told[1]);
}
