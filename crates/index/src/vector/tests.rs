//! What is held of a space in memory and what is read of it at opening are one.

use std::sync::Arc;

use crate::kit::{chunk, open, space, write};
use crate::vector::code::Query;
use crate::vector::posting::Table;
use crate::vector::rotate::split_mix;
use crate::{Flush, Index, IndexedChunk, Settings};

const DIMENSIONS: usize = 16;
/// So many that centroids are guessed.
const SPREAD: u32 = 8000;
/// So many of one heap that its postings are parted.
const ALIKE: u32 = 400;

fn draw(state: &mut u64) -> Vec<f32> {
    let mut one = || (split_mix(state) >> 40) as f32 / (1 << 24) as f32 - 0.5;
    (0..DIMENSIONS).map(|_| one()).collect()
}

async fn write_durably(index: &Index, unit: &str, chunks: Vec<IndexedChunk>) {
    let written = write(index, space(1), unit, chunks).await;
    written.durable().await.unwrap();
}

async fn table(index: &Index) -> Arc<Table> {
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let view = snapshot.view(space(1)).await.unwrap();
    Arc::clone(view.table.as_ref().expect("it is too large to scan"))
}

#[tokio::test]
async fn postings_come_in_the_same_order_after_a_restart() {
    let (objects, folder) = (Arc::default(), tempfile::tempdir().unwrap());
    let index = open(Settings::default(), &objects, folder.path()).await;
    let mut state = 5;
    let spread = (0..SPREAD).map(|at| chunk(at, draw(&mut state)));
    write_durably(&index, "spread", spread.collect()).await;
    let heap = draw(&mut state);
    let near = |x: &f32, by: f32| x + by / 50.0;
    let alike = (0..ALIKE).map(|at| {
        let by = draw(&mut state);
        let vector = heap.iter().zip(by).map(|(x, by)| near(x, by)).collect();
        chunk(at, vector)
    });
    write_durably(&index, "alike", alike.collect()).await;
    let before = table(&index).await;
    index.close().await.unwrap();
    let index = open(Settings::default(), &objects, folder.path()).await;
    let after = table(&index).await;
    assert_eq!(before.postings, after.postings);
    assert!(
        before.postings.len() as u32 > SPREAD / 64,
        "none was parted"
    );
    for _ in 0..50 {
        let rotated = before.rotation.apply(&draw(&mut state));
        let query = Query::new(&rotated);
        let order =
            |table: &Table| -> Vec<_> { table.nearest_first(&rotated, &query, false).collect() };
        assert!(order(&before) == order(&after));
    }
    index.close().await.unwrap();
}
