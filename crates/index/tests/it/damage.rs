//! A record that cannot be read costs what it held, and nothing else.

use index::{Flush, Index, IndexedChunk, Settings};

use crate::kit::{chunk, live, open_with, place, replace, space};
use crate::sweep::{VECTOR, spoil_at};

/// Few, so that a compaction has to look at each of them.
const FIRST: u32 = 3;
const OTHERS: u32 = 12;

/// So small that the second of the others makes postings.
fn settings() -> Settings {
    Settings {
        exact_up_to: 20,
        ..Settings::default()
    }
}

fn chunks(count: u32) -> Vec<IndexedChunk> {
    let of = |ordinal| {
        let (y, x) = (ordinal as f32 / 10.0).sin_cos();
        chunk(ordinal, "grain", &[x, y])
    };
    (0..count).map(of).collect()
}

async fn write(index: &Index, number: u32, count: u32) {
    let place = place(space(1), number, "u");
    let receipt = replace(index, place, 1, chunks(count)).await.unwrap();
    receipt.durable().await.unwrap();
}

async fn found(index: &Index) -> u32 {
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let all = live(0..9);
    let found = snapshot.search_vector(space(1), &[1.0, 0.0], &all, 99);
    found.await.unwrap().len() as u32
}

#[tokio::test]
async fn a_vector_that_cannot_be_read_stops_neither_clustering_nor_compaction_nor_searches() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let index = open_with(folder, settings()).await;
    write(&index, 0, FIRST).await;
    write(&index, 1, OTHERS).await;
    index.close().await.unwrap();

    spoil_at(folder, VECTOR, 0).await;
    let index = open_with(folder, settings()).await;
    write(&index, 2, OTHERS).await;
    assert_eq!(found(&index).await, FIRST + 2 * OTHERS - 1);
    index.close().await.unwrap();

    spoil_at(folder, VECTOR, 1).await;
    let index = open_with(folder, settings()).await;
    assert_eq!(found(&index).await, FIRST + 2 * OTHERS - 2);
    index.compact(space(1), &live([1, 2])).await.unwrap();
    write(&index, 3, FIRST).await;
    assert_eq!(found(&index).await, 2 * FIRST + 2 * OTHERS - 2);
    index.close().await.unwrap();
}
