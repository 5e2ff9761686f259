//! Records that tell where others are: what cannot be read of them is told as damage of the index,
//! costs their own knowledge base, and can be forgotten.

use std::path::Path;

use index::{Flush, Index, IndexedChunk, Scope, Settings};

use crate::kit::{chunk, live, open_with, place, replace, space, version};
use crate::sweep::{POSTING, SPACE, spoil_at};

const DELETED: u8 = 0x22;
const CENTROID: u8 = 0x23;
const COUNT: u8 = 0x24;
const COLD: u8 = 0x26;

/// So small that what is written makes postings.
fn settings() -> Settings {
    Settings {
        exact_up_to: 20,
        ..Settings::default()
    }
}

fn chunks() -> Vec<IndexedChunk> {
    let of = |ordinal| {
        let (y, x) = (ordinal as f32 / 10.0).sin_cos();
        chunk(ordinal, "grain", &[x, y])
    };
    (0..30).map(of).collect()
}

async fn write(index: &Index, of: u128, number: u32) -> Result<(), index::Error> {
    let place = place(space(of), number, "u");
    replace(index, place, 1, chunks()).await?.durable().await?;
    Ok(())
}

/// One space with a record of every kind, beside another.
async fn written(folder: &Path) {
    let index = open_with(folder, settings()).await;
    write(&index, 4, 0).await.unwrap();
    for number in 0..3 {
        write(&index, 1, number).await.unwrap();
    }
    let forgotten = index.forget(space(1), version(0)).await.unwrap();
    forgotten.durable().await.unwrap();
    index.compact(space(1), &live([1])).await.unwrap();
    index.close().await.unwrap();
}

async fn search(index: &Index, of: u128) -> Result<usize, index::Error> {
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let all = live(0..9);
    let found = snapshot.search_vector(space(of), &[1.0, 0.0], &all, 99);
    found.await.map(|found| found.len())
}

#[tokio::test]
async fn what_cannot_be_read_of_a_structure_is_told_and_costs_no_other_space() {
    for kind in [SPACE, DELETED, CENTROID, COUNT, COLD] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        written(folder).await;
        spoil_at(folder, kind, 0).await;

        let index = open_with(folder, settings()).await;
        let told = search(&index, 1).await.unwrap_err();
        assert!(told.is_damage(), "{kind:x}: {told}");
        let named = told.to_string().contains(&space(1).to_string());
        assert!(named, "{kind:x}: {told}");
        let refused = write(&index, 1, 5).await.unwrap_err();
        assert!(refused.is_damage(), "{kind:x}: {refused}");
        let refused = index.compact(space(1), &live([1])).await.unwrap_err();
        assert!(refused.is_damage(), "{kind:x}: {refused}");

        write(&index, 4, 1).await.unwrap();
        assert_eq!(search(&index, 4).await.unwrap(), 60, "{kind:x}");
        let scope = Scope::Generation(space(1));
        let forgotten = index.forget_space(scope).await.unwrap();
        forgotten.durable().await.unwrap();
        assert!(index.has_forgotten(space(1)).await.unwrap(), "{kind:x}");
        index.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_posting_that_cannot_be_read_is_told_as_damage() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    written(folder).await;
    spoil_at(folder, POSTING, 0).await;
    let index = open_with(folder, settings()).await;
    let told = search(&index, 1).await.unwrap_err();
    assert!(told.is_damage(), "{told}");
    assert_eq!(search(&index, 4).await.unwrap(), 30);
    index.close().await.unwrap();
}
