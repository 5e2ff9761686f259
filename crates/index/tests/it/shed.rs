//! Disk use follows what is kept, without anybody asking for something to be erased.

use std::path::Path;

use index::{Flush, Index, IndexedChunk};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use crate::kit::{chunk, open, place, replace, space, version};

const VERSIONS: u32 = 30;
const KEPT: u32 = 3;
/// Few enough in all to be scanned whole: no time goes into clustering.
const CHUNKS: u32 = 60;
const DIMENSIONS: usize = 384;

fn chunks(number: u32) -> Vec<IndexedChunk> {
    let mut random = StdRng::seed_from_u64(number.into());
    let of = |ordinal| {
        let vector: Vec<f32> = (0..DIMENSIONS).map(|_| random.random()).collect();
        let words = (0..60).map(|_| format!("w{} ", random.random_range(0..5_000)));
        let text = format!("Sheet {ordinal} of {number}: {}", words.collect::<String>());
        chunk(ordinal, &text, &vector)
    };
    (0..CHUNKS).map(of).collect()
}

async fn fill(index: &Index) {
    for number in 0..VERSIONS {
        let receipt = replace(index, place(space(1), number, "u"), 1, chunks(number)).await;
        receipt.unwrap().durable().await.unwrap();
    }
}

async fn forget_most(index: &Index) {
    for number in KEPT..VERSIONS {
        let receipt = index.forget(space(1), version(number)).await.unwrap();
        receipt.durable().await.unwrap();
    }
}

async fn the_kept_answer(index: &Index) {
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    for number in 0..KEPT {
        let stored = snapshot.chunks_of(space(1), version(number)).await.unwrap();
        assert_eq!(stored.len(), CHUNKS as usize);
        assert!(stored.iter().all(|one| one.has_vector && one.has_text));
    }
}

fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let sizes = entries.map(|entry| match entry.file_type().unwrap().is_dir() {
        true => bytes_below(&entry.path()),
        false => entry.metadata().unwrap().len(),
    });
    sizes.sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_most_versions_took_is_given_back_once_they_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let index = open(folder).await;
    fill(&index).await;
    assert!(!index.shed().await.unwrap(), "everything is kept");
    let full = bytes_below(folder);
    forget_most(&index).await;

    assert!(index.shed().await.unwrap());
    the_kept_answer(&index).await;
    assert!(!index.shed().await.unwrap(), "nothing is left to give back");
    index.close().await.unwrap();
    let left = bytes_below(folder);
    assert!(left * 5 < full, "{left} of {full} bytes are left");

    let index = open(folder).await;
    the_kept_answer(&index).await;
    assert!(!index.shed().await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_forgotten_before_a_restart_counts() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    fill(&index).await;
    forget_most(&index).await;
    index.close().await.unwrap();

    let index = open(folder.path()).await;
    assert!(index.shed().await.unwrap());
    the_kept_answer(&index).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_of_an_older_state_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    fill(&index).await;
    let before = index.snapshot(Flush(0)).await.unwrap();
    forget_most(&index).await;

    assert!(!index.shed().await.unwrap(), "it is left to another round");
    let last = version(VERSIONS - 1);
    let stored = before.chunks_of(space(1), last).await.unwrap();
    assert_eq!(stored.len(), CHUNKS as usize);
    drop(before);
    assert!(index.shed().await.unwrap());
    the_kept_answer(&index).await;
}
