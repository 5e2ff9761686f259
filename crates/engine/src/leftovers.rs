//! What is left of a batch whose listing died, and of files that were being written: bytes nobody
//! refers to.
//!
//! Originals are noted before they are put, and the notes go in the transaction that admits
//! the batch. With the door shut no batch is under way, so what is noted then and nobody
//! refers to was left behind. Larger files wait under names that tell their job.

use std::path::Path;

use catalog::JobClaim;
use chrono::{DateTime, Utc};
use futures::future::try_join_all;
use model::{ContentHash, JobId, TenantId};

use crate::backup::{io, is_unfinished};
use crate::intake::{Intake, Staged};
use crate::janitor::{remove, sweep};
use crate::jobs::blocking;
use crate::objects::Key;
use crate::{Engine, Error};

/// Notes of originals looked at in one go.
const AT_ONCE: u32 = 100;

/// Bytes of a file that was listed, and whether its original is there already.
pub(crate) struct Arrived {
    pub intake: Intake,
    pub staged: Staged,
    pub there: bool,
}

impl Engine {
    /// Looks which originals are there already, and notes the others: they are about to be put.
    pub(crate) async fn note_arrived(
        &self,
        claim: &JobClaim,
        staged: Vec<(Intake, Staged)>,
    ) -> Result<Vec<Arrived>, Error> {
        let looked = staged.into_iter().map(|(intake, staged)| async move {
            let there = self.is_kept(claim.tenant, &staged).await?;
            Ok::<_, Error>(Arrived {
                intake,
                staged,
                there,
            })
        });
        let arrived = try_join_all(looked).await?;
        let new = arrived.iter().filter(|arrived| !arrived.there);
        let new: Vec<ContentHash> = new.map(|arrived| arrived.staged.hash).collect();
        if !new.is_empty() {
            self.parts
                .catalog
                .note_originals(claim.tenant, &new)
                .await?;
        }
        Ok(arrived)
    }

    /// Deletes originals that were noted and nobody refers to.
    pub(crate) async fn delete_freed(&self, deleted: &mut u64) -> Result<(), Error> {
        let catalog = &self.parts.catalog;
        // Nobody is kept waiting where nothing is noted.
        if catalog.freed_originals(1).await?.is_empty() {
            return Ok(());
        }
        loop {
            let _moving = self.still.read().await;
            let _shut = self.door.write().await;
            let noted = catalog.freed_originals(AT_ONCE).await?;
            for (tenant, hash) in &noted {
                let free = catalog.unreferenced(*tenant, &[*hash]).await?;
                for hash in &free {
                    self.delete_original(*tenant, hash).await?;
                    *deleted += 1;
                }
                catalog.originals_gone(*tenant, &[*hash]).await?;
            }
            if noted.len() < AT_ONCE as usize {
                return Ok(());
            }
        }
    }

    /// Everything below a key, with what was being written there when a process died.
    pub(crate) async fn delete_below(&self, key: &Key) -> Result<(), Error> {
        self.parts.objects.delete_below(key).await?;
        let Some(local) = self.settings.local.clone() else {
            return Ok(());
        };
        let folder = local.objects.join(key.to_string());
        blocking(move || clear_unfinished(&folder)).await?
    }

    /// The same, of an original. With the door shut nobody is writing it.
    pub(crate) async fn delete_original(
        &self,
        tenant: TenantId,
        hash: &ContentHash,
    ) -> Result<(), Error> {
        let key = Key::original(tenant, hash);
        self.parts.objects.delete(&key).await?;
        let Some(local) = self.settings.local.clone() else {
            return Ok(());
        };
        // A local store names a write that is not finished after its object, and counts up.
        let unfinished = move || -> Result<(), Error> {
            for nth in 1.. {
                let path = local.objects.join(format!("{key}#{nth}"));
                if !path.exists() {
                    break;
                }
                remove(&path).map_err(io("delete", &path))?;
            }
            Ok(())
        };
        blocking(unfinished).await?
    }

    /// What is left of the files of a job that is being canceled. Whoever lists it has come to
    /// an end when the door is shut first, and lists nothing more of it.
    pub(crate) async fn sweep_job(&self, job: JobId) -> Result<(), Error> {
        let mut deleted = self.sweep_staged(job).await?;
        self.delete_freed(&mut deleted).await?;
        if deleted > 0 {
            tracing::info!(job_id = %job, deleted, "took away what a canceled job had left behind");
        }
        Ok(())
    }

    async fn sweep_staged(&self, job: JobId) -> Result<u64, Error> {
        let mut deleted = 0;
        let _moving = self.still.read().await;
        let _shut = self.door.write().await;
        let staged = self.parts.objects.list_below(&Key::all_staged()).await?;
        for (key, _) in staged.iter().filter(|(key, _)| key.is_staged_for(job)) {
            self.parts.objects.delete(key).await?;
            deleted += 1;
        }
        if let Some(local) = self.settings.local.clone() {
            let staging = local.objects.join(Key::all_staged().to_string());
            deleted += blocking(move || sweep_unfinished(&staging, job)).await??;
        }
        Ok(deleted)
    }
}

/// Takes away what was being written in a folder when a process died, however young it is. Only for
/// whoever holds the data folder alone, before anything writes there.
pub fn clear_unfinished(folder: &Path) -> Result<(), Error> {
    match folder.exists() {
        true => sweep(folder, DateTime::<Utc>::MAX_UTC, &mut 0),
        false => Ok(()),
    }
}

/// A local store does not list writes that were never finished.
fn sweep_unfinished(staging: &Path, job: JobId) -> Result<u64, Error> {
    let Ok(entries) = std::fs::read_dir(staging) else {
        return Ok(0);
    };
    let mut taken = 0;
    for entry in entries {
        let path = entry.map_err(io("list", staging))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(&format!("{job}.")) && is_unfinished(&path) {
            remove(&path).map_err(io("delete", &path))?;
            taken += 1;
        }
    }
    Ok(taken)
}
