//! Spaces too large to scan.

use std::path::Path;

use index::{Flush, Settings};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::kit::*;

const DIMENSIONS: usize = 32;
const VERSIONS: u32 = 40;
const CHUNKS: u32 = 100;

fn clustered(rng: &mut StdRng, centers: &[Vec<f32>]) -> Vec<f32> {
    let center = &centers[rng.random_range(0..centers.len())];
    let raw: Vec<f32> = center
        .iter()
        .map(|c| c + rng.random_range(-0.5..0.5))
        .collect();
    let length = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
    raw.iter().map(|x| x / length).collect()
}

fn centers(rng: &mut StdRng, count: usize) -> Vec<Vec<f32>> {
    let center = |rng: &mut StdRng| {
        (0..DIMENSIONS)
            .map(|_| rng.random_range(-1.0..1.0))
            .collect()
    };
    (0..count).map(|_| center(rng)).collect()
}

async fn recall(
    index: &index::Index,
    exact: &index::Index,
    live_numbers: &[u32],
    rng: &mut StdRng,
    centers: &[Vec<f32>],
) -> f64 {
    let near = index.snapshot(Flush(0)).await.unwrap();
    let truth = exact.snapshot(Flush(0)).await.unwrap();
    let bitmap = live(live_numbers.iter().copied());
    let mut hits = 0;
    for _ in 0..20 {
        let query = clustered(rng, centers);
        let found = near
            .search_vector(space(1), &query, &bitmap, 10)
            .await
            .unwrap();
        let expected = truth
            .search_vector(space(1), &query, &bitmap, 10)
            .await
            .unwrap();
        assert!(found.iter().all(|s| live_numbers.contains(&s.number)));
        hits += expected
            .iter()
            .filter(|e| found.iter().any(|f| f.id == e.id))
            .count();
    }
    hits as f64 / 200.0
}

#[tokio::test]
async fn postings_find_what_a_scan_finds_also_among_few_live_and_after_compaction() {
    let mut rng = StdRng::seed_from_u64(7);
    let centers = centers(&mut rng, 50);
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let postings = Settings {
        exact_up_to: 500,
        ..Settings::default()
    };
    let index = open_with(a.path(), postings).await;
    let exact = open(b.path()).await;
    for number in 0..VERSIONS {
        let chunks: Vec<_> = (0..CHUNKS)
            .map(|ordinal| chunk(ordinal, "grain", &clustered(&mut rng, &centers)))
            .collect();
        for index in [&index, &exact] {
            let receipt = replace(index, place(space(1), number, "u"), 1, chunks.clone()).await;
            let receipt = receipt.unwrap();
            // Several flushes: the first clusters, later ones append and part.
            if number % 8 == 7 {
                receipt.flushed().await.unwrap();
            }
        }
    }
    let all: Vec<u32> = (0..VERSIONS).collect();
    let few = [3, 17, 20, 39];
    assert!(recall(&index, &exact, &all, &mut rng, &centers).await >= 0.97);
    assert!(recall(&index, &exact, &few, &mut rng, &centers).await >= 0.97);
    let report = index.compact(space(1), &live(few)).await.unwrap();
    assert_eq!((report.hot, report.cold), (400, 3600));
    assert!(recall(&index, &exact, &few, &mut rng, &centers).await >= 0.97);
    assert!(
        recall(&index, &exact, &all, &mut rng, &centers).await >= 0.97,
        "the cold is found on demand"
    );
    index.close().await.unwrap();

    let index = open_with(a.path(), postings).await;
    assert!(recall(&index, &exact, &all, &mut rng, &centers).await >= 0.97);
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    for number in [3, 4] {
        let stored = snapshot.chunks_of(space(1), version(number)).await.unwrap();
        assert_eq!(stored.len() as u32, CHUNKS);
        assert!(stored.iter().all(|c| c.has_vector && c.has_text));
    }
    index.close().await.unwrap();
    exact.close().await.unwrap();
}

/// How many entries the postings in the store have.
async fn posting_lengths(folder: &Path) -> Vec<u32> {
    const COUNT: u8 = 0x24;
    let db = slatedb::Db::open("slate", objects(folder)).await.unwrap();
    let mut rows = db.scan_prefix([COUNT], ..).await.unwrap();
    let mut lengths = Vec::new();
    while let Some(row) = rows.next().await.unwrap() {
        let count = row.value.last_chunk().expect("records are longer");
        lengths.push(u32::from_le_bytes(*count));
    }
    db.close().await.unwrap();
    lengths
}

#[tokio::test]
async fn however_many_vectors_are_alike_no_posting_grows_long_and_all_are_there() {
    let mut rng = StdRng::seed_from_u64(5);
    let folder = tempfile::tempdir().unwrap();
    let postings = Settings {
        exact_up_to: 500,
        ..Settings::default()
    };
    let index = open_with(folder.path(), postings).await;
    let centers = centers(&mut rng, 5);
    let footer = clustered(&mut rng, &centers);
    for number in 0..20 {
        let of = |ordinal| match ordinal % 4 {
            0 => chunk(ordinal, "grain", &clustered(&mut rng, &centers)),
            _ => chunk(ordinal, "footer", &footer),
        };
        let chunks: Vec<_> = (0..CHUNKS).map(of).collect();
        let receipt = replace(&index, place(space(1), number, "u"), 1, chunks).await;
        receipt.unwrap().flushed().await.unwrap();
    }
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let all = live(0..20);
    let found = snapshot.search_vector(space(1), &footer, &all, 1500);
    assert_eq!(found.await.unwrap().len(), 1500);
    index.close().await.unwrap();
    let lengths = posting_lengths(folder.path()).await;
    assert_eq!(lengths.iter().sum::<u32>(), 20 * CHUNKS);
    assert!(lengths.iter().all(|length| *length <= 192), "{lengths:?}");
}

/// The numbers of the postings that are in the store.
async fn posting_numbers(folder: &Path) -> Vec<u32> {
    const CENTROID: u8 = 0x23;
    let db = slatedb::Db::open("slate", objects(folder)).await.unwrap();
    let mut rows = db.scan_prefix([CENTROID], ..).await.unwrap();
    let mut numbers = Vec::new();
    while let Some(row) = rows.next().await.unwrap() {
        let number = row.key.last_chunk().expect("keys are longer");
        numbers.push(u32::from_be_bytes(*number));
    }
    db.close().await.unwrap();
    numbers
}

#[tokio::test]
async fn postings_are_made_anew_for_what_takes_the_place_of_all_there_was() {
    let mut rng = StdRng::seed_from_u64(11);
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let postings = Settings {
        exact_up_to: 500,
        ..Settings::default()
    };
    let exact = open(b.path()).await;
    let all: Vec<u32> = (0..10).collect();
    let mut before = Vec::new();
    for fence in 1..=2 {
        // Other topics each time, and never more vectors at once.
        let index = open_with(a.path(), postings).await;
        let centers = centers(&mut rng, 20);
        for number in &all {
            let chunks: Vec<_> = (0..CHUNKS)
                .map(|ordinal| chunk(ordinal, "grain", &clustered(&mut rng, &centers)))
                .collect();
            for index in [&index, &exact] {
                let place = place(space(1), *number, "u");
                let receipt = replace(index, place, fence, chunks.clone()).await;
                receipt.unwrap().flushed().await.unwrap();
            }
        }
        assert!(recall(&index, &exact, &all, &mut rng, &centers).await >= 0.97);
        index.close().await.unwrap();
        let now = posting_numbers(a.path()).await;
        assert!(!now.is_empty());
        assert!(now.iter().all(|number| !before.contains(number)));
        before = now;
    }
    exact.close().await.unwrap();
}
