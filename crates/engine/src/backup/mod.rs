//! One moment of catalog, index and objects, copied while everything goes on.
//!
//! The catalog is frozen for as long as its own copy takes, and the index's files, which
//! are never changed once written, get a second name meanwhile. What lies in the copy is
//! then what a process killed at that moment would have left, and opening that is what the
//! crash tests prove. Objects follow at leisure: nothing is deleted until they are copied.
//! The list of files with their hashes is written last; a backup without it was never
//! finished.
//!
//! ```text
//! manifest.json             what belongs to the backup, by hash, and what it counts; last
//! catalog/…                 one file (SQLite), or one per table (PostgreSQL)
//! index/…                   the index's store; text is made again from it
//! objects/…                 originals, and what was made of them
//! beside/…                  the keys tokens are signed with
//! .gristmillignore          keeps all of it out of ingests; belongs to nothing
//! ```

mod beside;

mod counts;

mod files;

mod index_files;

mod manifest;

mod restore;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalog::{Held, every};
use model::{ContentHash, TenantId};

use crate::objects::Key;
use crate::{Engine, Error};

pub use counts::Counts;
use files::Writing;
pub(crate) use files::io;
use index_files::Still;
pub(crate) use index_files::is_unfinished;
pub use manifest::{Entry, Manifest};
pub use restore::{Restored, restore};

/// Where the stores of a single machine lie.
#[derive(Debug, Clone)]
pub struct Local {
    /// The data folder, in which all the others are.
    pub data: PathBuf,
    pub index: PathBuf,
    pub objects: PathBuf,
    /// Small files that belong to the folder.
    pub beside: Vec<PathBuf>,
}

impl Local {
    /// A backup among what belongs to the folder would be taken for that, be in every backup to
    /// come, or be swept away with it.
    fn refuse(&self, to: &Path) -> Result<(), Error> {
        let to = real(to);
        let places = [&self.data, &self.index, &self.objects];
        match places.into_iter().any(|place| to.starts_with(real(place))) {
            true => Err(Error::BadRequest {
                what: "backup",
                why: format!(
                    "`{}` lies within the data folder, which keeps nothing else; choose a folder \
                     elsewhere",
                    to.display()
                ),
            }),
            false => Ok(()),
        }
    }
}

/// As far as it is there, without links.
fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|ancestor| {
        let real = ancestor.canonicalize().ok()?;
        Some(real.join(path.strip_prefix(ancestor).ok()?))
    });
    there.unwrap_or_else(|| path.to_owned())
}

/// What a backup came to.
#[derive(Debug, Clone, serde::Serialize)]
pub struct BackedUp {
    pub files: u64,
    pub bytes: u64,
    pub versions: u64,
    /// What the catalog refers to and the stores do not have.
    pub missing: Vec<String>,
}

/// The moment a backup is of.
struct Cut {
    held: Vec<(TenantId, Vec<Held>)>,
    counts: Counts,
    staged: index_files::Staged,
}

impl Engine {
    /// Copies one moment into a folder that is not there yet, or empty.
    pub async fn backup(&self, to: &Path) -> Result<BackedUp, Error> {
        let local = self.settings.local.clone().ok_or(Error::BadRequest {
            what: "backup",
            why: "the stores are not on this machine".to_owned(),
        })?;
        local.refuse(to)?;
        let mut writing = Writing::begin(to)?;
        let still = Arc::new(Arc::clone(&self.still).write_owned().await);
        let Cut {
            held,
            counts,
            staged,
        } = self.cut(&local, to, &still).await?;
        writing.note_below("catalog")?;
        let versions = counts.versions;
        writing = index_files::copy(staged, writing).await?;
        for (tenant, held) in &held {
            for one in held {
                writing = self.copy_objects(*tenant, one, writing).await?;
            }
        }
        for path in &local.beside {
            writing.copy_beside(path)?;
        }
        let kind = self.parts.catalog.kind();
        let done = writing.finish(kind, counts, self.parts.clock.now())?;
        tracing::info!(files = done.0, bytes = done.1, versions, "backed up");
        Ok(BackedUp {
            files: done.0,
            bytes: done.1,
            versions,
            missing: done.2,
        })
    }

    /// Second names of the index's files, left by a backup that died, hold the text of documents
    /// still. For whoever keeps backups from beginning.
    pub(crate) async fn drop_second_names(&self) -> Result<(), Error> {
        let Some(local) = self.settings.local.clone() else {
            return Ok(());
        };
        let dropped = tokio::task::spawn_blocking(move || index_files::clear(&local.index));
        dropped.await.map_err(|_| Error::StageStopped)?
    }

    /// The moment itself: while the catalog stands still, it is copied, and so is the list
    /// of what it refers to, and the index's files are given a second name.
    async fn cut(&self, local: &Local, to: &Path, still: &Still) -> Result<Cut, Error> {
        let catalog = &self.parts.catalog;
        let frozen = catalog.freeze().await;
        let staged = index_files::stage(local.index.clone(), Arc::clone(still)).await?;
        catalog.copy_into(&to.join("catalog"), &frozen).await?;
        let (mut held, mut counts) = (Vec::new(), Counts::default());
        for tenant in every(|page| catalog.tenants(page)).await? {
            let now = self.parts.clock.now();
            let of_it = catalog.held(tenant.id).await?;
            counts.add(&catalog.status(tenant.id, now).await?, of_it.len() as u64);
            held.push((tenant.id, of_it));
        }
        drop(frozen);
        Ok(Cut {
            held,
            counts,
            staged,
        })
    }

    async fn copy_objects(
        &self,
        tenant: TenantId,
        held: &Held,
        mut writing: Writing,
    ) -> Result<Writing, Error> {
        let made = Key::version(tenant, held.version);
        let made = self.parts.objects.list_below(&made).await?;
        let original = held.content_hash.as_ref();
        let original = original.map(|hash| Key::original(tenant, hash));
        let keys = original
            .into_iter()
            .chain(made.into_iter().map(|(key, _)| key));
        let mut found = Vec::new();
        for key in keys {
            let path = format!("objects/{key}");
            if writing.has(&path) {
                continue;
            }
            match self.object(&key).await? {
                Some(bytes) => found.push((path, bytes)),
                // Its text has been read meanwhile.
                None if key.is_progress() => {}
                None => writing.missing(path),
            }
        }
        let written = tokio::task::spawn_blocking(move || {
            for (path, bytes) in found {
                writing.write(&path, &bytes)?;
            }
            Ok(writing)
        });
        written.await.map_err(|_| Error::StageStopped)?
    }
}

/// The hash of a file, and how long it is.
fn hash(bytes: &[u8]) -> (ContentHash, u64) {
    (ContentHash::of(bytes), bytes.len() as u64)
}
