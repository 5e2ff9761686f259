//! A folder as an object store whose writes are on the disk before they count.
//!
//! The store below syncs a file, the folder it stands in and the folders it made for it. It
//! does not know of folders another write has made and not yet synced, nor of those that a
//! process was killed amid making: a file put there would be lost with them. Here such a write
//! is waited for, and a folder is synced when it is first met.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path as Place, PathBuf};
use std::sync::{Arc, Condvar, Mutex};

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetRange, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt as _, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    RenameOptions, Result,
};

#[derive(Debug)]
pub struct SyncedFolder {
    files: LocalFileSystem,
    made: Arc<Made>,
}

/// Folders that are there and not yet sure to stay.
#[derive(Debug)]
struct Made {
    root: PathBuf,
    unsynced: Mutex<HashSet<PathBuf>>,
    synced: Condvar,
    /// Synced by this process; forgotten when there are many, which costs a sync more.
    sure: Mutex<HashSet<PathBuf>>,
}

/// Folders remembered as synced.
const REMEMBERED: usize = 4096;

impl SyncedFolder {
    /// Makes the folder where it is not.
    pub fn open(path: &Place) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        let files = LocalFileSystem::new_with_prefix(path).map_err(io::Error::other)?;
        let made = Made {
            root: path.canonicalize()?,
            unsynced: Mutex::default(),
            synced: Condvar::new(),
            sure: Mutex::default(),
        };
        if let Some(parent) = made.root.parent() {
            File::open(parent)?.sync_all()?;
        }
        Ok(Self {
            files: files.with_fsync(true),
            made: Arc::new(made),
        })
    }

    /// Bytes behind the end of a file that was cut short are gone, whatever is tried again. The
    /// store below does not tell that from a disk that does not answer.
    async fn told_apart(&self, at: &Path, range: Option<GetRange>, error: Error) -> Error {
        let Ok(meta) = self.files.head(at).await else {
            return error;
        };
        match range.map(|range| range.as_range(meta.size)) {
            Some(Err(_)) => Error::NotFound {
                path: at.to_string(),
                source: Box::new(error),
            },
            _ => error,
        }
    }

    /// The folder an object goes to is there and stays.
    async fn make_way(&self, to: &Path) -> Result<()> {
        let folder = self.files.path_to_filesystem(to)?;
        let made = Arc::clone(&self.made);
        let work = move || match folder.parent() {
            Some(folder) => made.ensure(folder),
            None => Ok(()),
        };
        let done = tokio::task::spawn_blocking(work).await;
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| Error::Generic {
            store: "folder",
            source,
        };
        done.map_err(|error| failed(Box::new(error)))?
            .map_err(|error| failed(Box::new(error)))
    }
}

impl Made {
    fn ensure(&self, folder: &Place) -> io::Result<()> {
        let unsure = {
            let mut unsynced = self.unsynced.lock().expect("nothing panics with it");
            // Another write is at one of them: what it makes counts once it is synced.
            while folder.ancestors().any(|above| unsynced.contains(above)) {
                unsynced = self.synced.wait(unsynced).expect("nothing panics with it");
            }
            let unsure = self.unsure(folder);
            unsynced.extend(unsure.iter().cloned());
            unsure
        };
        let made = make(folder, &unsure);
        if made.is_ok() {
            self.remember(&unsure);
        }
        let mut unsynced = self.unsynced.lock().expect("nothing panics with it");
        unsure.iter().for_each(|folder| {
            unsynced.remove(folder);
        });
        self.synced.notify_all();
        made
    }

    /// From the folder itself upwards, those that are not there or not known to stay.
    fn unsure(&self, folder: &Place) -> Vec<PathBuf> {
        let sure = self.sure.lock().expect("nothing panics with it");
        let inside = |above: &&Place| **above != *self.root;
        let stays = |above: &&Place| sure.contains(*above) && above.exists();
        let unsure = folder.ancestors().take_while(inside);
        let unsure = unsure.take_while(|above| !stays(above));
        unsure.map(Place::to_owned).collect()
    }

    fn remember(&self, folders: &[PathBuf]) {
        let mut sure = self.sure.lock().expect("nothing panics with it");
        if sure.len() > REMEMBERED {
            sure.clear();
        }
        sure.extend(folders.iter().cloned());
    }
}

/// Makes folders, and syncs each and the one the topmost stands in.
fn make(folder: &Place, unsure: &[PathBuf]) -> io::Result<()> {
    if unsure.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    let above = unsure.last().and_then(|topmost| topmost.parent());
    for changed in unsure.iter().map(PathBuf::as_path).chain(above) {
        File::open(changed)?.sync_all()?;
    }
    Ok(())
}

impl fmt::Display for SyncedFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(f)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "what is called here is an effect of whoever calls"
)]
#[async_trait]
impl ObjectStore for SyncedFolder {
    async fn put_opts(&self, at: &Path, bytes: PutPayload, o: PutOptions) -> Result<PutResult> {
        self.make_way(at).await?;
        self.files.put_opts(at, bytes, o).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.make_way(at).await?;
        self.files.put_multipart_opts(at, options).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        let range = options.range.clone();
        match self.files.get_opts(at, options).await {
            Err(error @ Error::Generic { .. }) if range.is_some() => {
                Err(self.told_apart(at, range, error).await)
            }
            got => got,
        }
    }

    fn delete_stream(
        &self,
        at: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.files.delete_stream(at)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.files.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.files.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.make_way(to).await?;
        self.files.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.make_way(to).await?;
        self.files.rename_opts(from, to, options).await
    }
}
