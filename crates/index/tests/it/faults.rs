//! A full disk, a read-only one, a broken file: a clear error, and nothing acknowledged that is not there.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path as Folder;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures::stream::BoxStream;
use index::{Error, Flush, Index, Settings};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use crate::kit::*;

/// A store whose disk takes so many writes and nothing more.
#[derive(Debug)]
pub struct Disk {
    inner: Arc<dyn ObjectStore>,
    why: ErrorKind,
    pub writes_left: AtomicUsize,
}

impl Disk {
    pub fn in_folder(folder: &Folder, why: ErrorKind) -> Arc<Self> {
        Arc::new(Self {
            inner: objects(folder),
            why,
            writes_left: AtomicUsize::new(usize::MAX),
        })
    }

    fn room(&self) -> Result<()> {
        let spend = |left: usize| left.checked_sub(1);
        let left = self
            .writes_left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, spend);
        match left {
            Ok(_) => Ok(()),
            Err(_) => Err(object_store::Error::Generic {
                store: "test disk",
                source: Box::new(std::io::Error::from(self.why)),
            }),
        }
    }
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a disk that may refuse")
    }
}

#[async_trait]
impl ObjectStore for Disk {
    async fn put_opts(&self, at: &Path, bytes: PutPayload, o: PutOptions) -> Result<PutResult> {
        self.room()?;
        self.inner.put_opts(at, bytes, o).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.room()?;
        self.inner.put_multipart_opts(at, options).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(at, options).await
    }

    fn delete_stream(
        &self,
        at: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(at)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
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
    let disk = Disk::in_folder(folder.path(), why);
    let text = folder.path().join("text");
    let opened = Index::open(impatient(), disk.clone(), text.clone());
    let index = opened.await.unwrap();
    let first = replace(&index, place(space(1), 0, "u"), 1, one("alpha"))
        .await
        .unwrap();
    first.durable().await.unwrap();
    disk.writes_left.store(0, Ordering::SeqCst);
    let lost = replace(&index, place(space(1), 1, "u"), 1, one("beta"))
        .await
        .unwrap();
    let told = lost.durable().await.unwrap_err();
    assert!(matches!(told, Error::Writes(_)), "{told:?}");
    let cause = std::io::Error::from(why).to_string();
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
fn spoil(folder: &Folder, wanted: &dyn Fn(&str) -> bool) -> usize {
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
