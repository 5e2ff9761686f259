//! What is removed leaves nothing behind, readable or not: looked for in the store itself.

use std::path::Path;

use index::{Flush, Scope};
use slatedb::Db;

use crate::kit::{chunk, objects, open, place, replace, space, version};

pub const VERSION: u8 = 0x10;
const UNIT: u8 = 0x11;
pub const CHUNK: u8 = 0x12;
pub const SPACE: u8 = 0x20;
pub const VECTOR: u8 = 0x21;
pub const POSTING: u8 = 0x25;
const REUSE: u8 = 0x30;

async fn db(folder: &Path) -> Db {
    Db::open("slate", objects(folder)).await.unwrap()
}

async fn keys(db: &Db, kind: u8) -> Vec<Vec<u8>> {
    let mut rows = db.scan_prefix([kind], ..).await.unwrap();
    let mut keys = Vec::new();
    while let Some(row) = rows.next().await.unwrap() {
        keys.push(row.key.to_vec());
    }
    keys
}

/// Two versions of two chunks each.
async fn write(folder: &Path) {
    let index = open(folder).await;
    for number in 0..2 {
        let text = |at: u32| format!("text {at} of {number}");
        let chunks = vec![
            chunk(0, &text(0), &[0.6, 0.8]),
            chunk(1, &text(1), &[1.0, 0.0]),
        ];
        let place = place(space(1), number, "u");
        let receipt = replace(&index, place, 1, chunks).await.unwrap();
        receipt.durable().await.unwrap();
    }
    index.close().await.unwrap();
}

/// Writes over the first record of a kind, which is the first version's.
async fn spoil(folder: &Path, kind: u8) {
    spoil_at(folder, kind, 0).await;
}

/// Writes over one record of a kind.
pub async fn spoil_at(folder: &Path, kind: u8, at: usize) {
    let db = db(folder).await;
    let key = keys(&db, kind).await.remove(at);
    db.put(key, b"\xffnothing").await.unwrap();
    db.close().await.unwrap();
}

/// Vectors, and entries that would let them be reused.
pub async fn left(folder: &Path) -> (usize, usize) {
    let db = db(folder).await;
    let left = (keys(&db, VECTOR).await.len(), keys(&db, REUSE).await.len());
    db.close().await.unwrap();
    left
}

/// Records of one kind.
pub async fn count(folder: &Path, kind: u8) -> usize {
    let db = db(folder).await;
    let count = keys(&db, kind).await.len();
    db.close().await.unwrap();
    count
}

#[tokio::test]
async fn a_version_is_gone_with_its_vectors_even_where_its_records_cannot_be_read() {
    for spoilt in [None, Some(UNIT), Some(CHUNK), Some(VECTOR)] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).await;
        if let Some(kind) = spoilt {
            spoil(folder.path(), kind).await;
        }
        let index = open(folder.path()).await;
        let forgotten = index.forget(space(1), version(0)).await.unwrap();
        forgotten.durable().await.unwrap();
        index.close().await.unwrap();
        assert_eq!(left(folder.path()).await, (2, 2), "{spoilt:?} was spoilt");
    }
}

#[tokio::test]
async fn a_version_that_is_written_anew_leaves_nothing_of_the_old_to_reuse() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path()).await;
    spoil(folder.path(), CHUNK).await;
    let index = open(folder.path()).await;
    index.scour(space(1), version(0)).await.unwrap();
    let place = place(space(1), 0, "u");
    let receipt = replace(&index, place, 2, vec![chunk(0, "anew", &[0.0, 1.0])]).await;
    receipt.unwrap().durable().await.unwrap();
    index.close().await.unwrap();
    assert_eq!(left(folder.path()).await, (3, 3));
}

#[tokio::test]
async fn a_unit_that_comes_again_takes_the_place_of_one_that_cannot_be_read() {
    for spoilt in [UNIT, CHUNK, VECTOR] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).await;
        spoil(folder.path(), spoilt).await;
        let index = open(folder.path()).await;
        let place = place(space(1), 0, "u");
        let receipt = replace(&index, place, 2, vec![chunk(0, "anew", &[0.0, 1.0])]).await;
        receipt.unwrap().durable().await.unwrap();
        let snapshot = index.snapshot(Flush(0)).await.unwrap();
        let mut audit = snapshot.audit(space(1)).await.unwrap();
        let found = audit.version(version(0)).await.unwrap();
        assert_eq!(found.faults, [], "{spoilt} was spoilt");
        index.close().await.unwrap();
        assert_eq!(left(folder.path()).await, (3, 3), "{spoilt} was spoilt");
    }
}

#[tokio::test]
async fn a_knowledge_base_is_gone_with_all_that_could_be_reused_of_it() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path()).await;
    spoil(folder.path(), CHUNK).await;
    let index = open(folder.path()).await;
    let forgotten = index.forget_space(Scope::Generation(space(1))).await;
    forgotten.unwrap().durable().await.unwrap();
    index.close().await.unwrap();
    assert_eq!(left(folder.path()).await, (0, 0));
}
