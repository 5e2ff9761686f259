//! A full disk, a read-only one, a broken file: a clear error, and nothing acknowledged that is not there.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use index::{Error, Flush, Index, Settings};
use testkit::Disk;

use crate::kit::*;

pub fn disk(folder: &Path, why: ErrorKind) -> Arc<Disk> {
    let refusal = |cause: io::Error| object_store::Error::Generic {
        store: "test disk",
        source: Box::new(cause),
    };
    Disk::roomy(objects(folder), why, refusal)
}

pub fn impatient() -> Settings {
    let mut settings = Settings {
        store_retries: 1,
        ..Settings::default()
    };
    settings.writes.flush_deadline = std::time::Duration::from_secs(2);
    settings
}

fn one(text: &str) -> Vec<index::IndexedChunk> {
    vec![chunk(0, text, &[1.0, 0.0])]
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(|cause| format!("{cause}; ")).collect()
}

/// Of what was read before and of what was not, however the store puts it.
async fn everything_says_that_it_has_stopped(index: &Index) {
    assert!(index.has_stopped());
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let (all, id) = (live(0..9), version(0));
    let told = [
        replace(index, place(space(1), 0, "u"), 1, one("gamma"))
            .await
            .err(),
        replace(index, place(space(7), 2, "u"), 1, one("gamma"))
            .await
            .err(),
        index.has_forgotten(space(1)).await.err(),
        snapshot
            .search_vector(space(7), &[1.0, 0.0], &all, 9)
            .await
            .err(),
        snapshot.search_text(space(7), "alpha", &all, 9).await.err(),
        snapshot.chunks_of(space(1), id).await.err(),
        snapshot.number_of(space(1), id).await.err(),
        snapshot.texts_of(space(1), id).await.err(),
        snapshot.versions().await.err(),
        snapshot.spaces().await.err(),
    ];
    for (at, told) in told.into_iter().enumerate() {
        let told = told.expect("nothing is read from a dead store");
        assert!(told.is_stopped() && !told.is_transient(), "{at}: {told:?}");
    }
}

async fn a_disk_that_refuses_is_an_error_and_what_was_acknowledged_is_kept(why: ErrorKind) {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(folder.path(), why);
    let text = folder.path().join("text");
    let opened = Index::open(impatient(), disk.clone(), text.clone());
    let index = opened.await.unwrap();
    let first = replace(&index, place(space(1), 0, "u"), 1, one("alpha"))
        .await
        .unwrap();
    first.durable().await.unwrap();
    disk.leave(0);
    let lost = replace(&index, place(space(1), 1, "u"), 1, one("beta"))
        .await
        .unwrap();
    let told = lost.durable().await.unwrap_err();
    assert!(matches!(told, Error::Writes(_)), "{told:?}");
    let cause = io::Error::from(why).to_string();
    assert!(with_causes(&told).contains(&cause), "{told:?}");
    everything_says_that_it_has_stopped(&index).await;
    assert!(
        index.close().await.is_err(),
        "closing tells that something was lost"
    );
    let told = Index::open(impatient(), disk, text).await.err();
    let told = with_causes(&told.expect("it cannot be opened for writing"));
    assert!(told.contains(&cause), "{told}");

    let index = open(folder.path()).await;
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let found = snapshot
        .search_text(space(1), "alpha gamma", &live(0..9), 9)
        .await
        .unwrap();
    assert_eq!(found.len(), 1);
    index.close().await.unwrap();
}

#[tokio::test]
async fn a_full_disk_is_an_error_and_what_was_acknowledged_before_is_kept() {
    a_disk_that_refuses_is_an_error_and_what_was_acknowledged_is_kept(ErrorKind::StorageFull).await;
}

#[tokio::test]
async fn a_folder_that_is_read_only_by_now_is_an_error_and_nothing_is_lost() {
    let why = ErrorKind::ReadOnlyFilesystem;
    a_disk_that_refuses_is_an_error_and_what_was_acknowledged_is_kept(why).await;
}

/// Overwrites every file under a folder whose name passes.
fn spoil(folder: &Path, wanted: &dyn Fn(&str) -> bool) -> usize {
    let mut spoilt = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            spoilt += spoil(&path, wanted);
        } else if wanted(&path.to_string_lossy()) {
            std::fs::write(&path, b"not what it was").unwrap();
            spoilt += 1;
        }
    }
    spoilt
}

#[tokio::test]
async fn a_spoilt_text_index_is_rebuilt_and_a_spoilt_database_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    for number in 0..3 {
        replace(&index, place(space(1), number, "u"), 1, one("alpha"))
            .await
            .unwrap();
    }
    index.close().await.unwrap();
    assert!(
        spoil(&folder.path().join("text"), &|name| name
            .ends_with("meta.json"))
            > 0
    );
    let index = open(folder.path()).await;
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let found = snapshot
        .search_text(space(1), "alpha", &live(0..9), 9)
        .await
        .unwrap();
    assert_eq!(found.len(), 3);
    index.close().await.unwrap();
    std::fs::remove_dir_all(folder.path().join("text")).unwrap();
    let index = open(folder.path()).await;
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let stored = snapshot.chunks_of(space(1), version(1)).await.unwrap();
    assert!(stored[0].has_text, "a lost text index too");
    index.close().await.unwrap();

    assert!(spoil(&folder.path().join("index"), &|name| name.ends_with(".sst")) > 0);
    let text = folder.path().join("text");
    match Index::open(impatient(), objects(folder.path()), text).await {
        Err(error) => assert!(matches!(error, Error::Store { .. }), "{error}"),
        Ok(index) => {
            let snapshot = index.snapshot(Flush(0)).await.unwrap();
            let read = snapshot.chunks_of(space(1), version(1)).await;
            assert!(matches!(read, Err(Error::Store { .. })), "{read:?}");
        }
    }
}
