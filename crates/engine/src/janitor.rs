//! Takes away what nothing refers to any more.
//!
//! Only what is old enough is looked at: bytes on their way in are nobody's yet. An
//! original is deleted with the door shut to admissions, so that none of them can find
//! it there and count on it.

use std::path::Path;
use std::time::Duration;

use catalog::{Upload, UploadEnd};
use chrono::{DateTime, TimeDelta, Utc};
use model::{ContentHash, TenantId};

use crate::backup::{io, is_unfinished};
use crate::objects::Key;
use crate::{Engine, Error};

/// What is kept for how long.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Staged bytes nobody came back for.
    pub staging: Duration,
    /// Originals no version refers to.
    pub originals: Duration,
    /// Events for those who follow along.
    pub events: Duration,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Default for Settings {
    fn default() -> Self {
        Self {
            staging: DAY,
            originals: DAY,
            events: 7 * DAY,
        }
    }
}

/// What one round took away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tidied {
    pub staged: u64,
    pub originals: u64,
    pub uploads: u64,
}

/// Uploads ended, and originals asked about, in one go.
const AT_ONCE: usize = 100;

impl Engine {
    /// One round.
    pub async fn tidy(&self) -> Result<Tidied, Error> {
        let tidied = Tidied {
            uploads: self.expire_uploads().await?,
            staged: self.tidy_staging().await?,
            originals: self.tidy_originals().await?,
        };
        let now = self.parts.clock.now();
        let before = now - delta(self.settings.janitor.events);
        self.parts.catalog.prune(before, now).await?;
        self.figures().expire(now).await?;
        let Tidied {
            staged,
            originals,
            uploads,
        } = tidied;
        if tidied != Tidied::default() {
            tracing::info!(staged, originals, uploads, "took away what nobody needs");
        }
        let mut kept = self.kept();
        kept.tidied.staged += staged;
        kept.tidied.originals += originals;
        kept.tidied.uploads += uploads;
        Ok(tidied)
    }

    async fn expire_uploads(&self) -> Result<u64, Error> {
        let mut ended = 0;
        loop {
            let now = self.parts.clock.now();
            let overdue = self.parts.catalog.overdue_uploads(now, AT_ONCE as u32);
            let overdue = overdue.await?;
            for upload in &overdue {
                self.expire_upload(upload, now).await?;
            }
            ended += overdue.len() as u64;
            if overdue.len() < AT_ONCE {
                return Ok(ended);
            }
        }
    }

    /// Its bytes, should any have come, are staging's business.
    async fn expire_upload(&self, upload: &Upload, now: DateTime<Utc>) -> Result<(), Error> {
        self.parts
            .catalog
            .finish_upload(upload.tenant, upload.id, UploadEnd::Expired, now)
            .await?;
        tracing::info!(tenant_id = %upload.tenant, upload_id = %upload.id, "an upload never came");
        Ok(())
    }

    async fn tidy_staging(&self) -> Result<u64, Error> {
        let before = self.parts.clock.now() - delta(self.settings.janitor.staging);
        let staged = self.parts.objects.list_below(&Key::all_staged()).await?;
        let mut taken = self.tidy_unfinished(before).await?;
        for (key, meta) in staged {
            if meta.last_modified < before {
                self.parts.objects.delete(&key).await?;
                taken += 1;
            }
        }
        Ok(taken)
    }

    /// What a process that was killed in the middle of a write left in a local store, which
    /// does not list it.
    async fn tidy_unfinished(&self, before: DateTime<Utc>) -> Result<u64, Error> {
        let Some(local) = self.settings.local.clone() else {
            return Ok(0);
        };
        let swept = tokio::task::spawn_blocking(move || {
            let mut taken = 0;
            for folder in [&local.objects, &local.index] {
                sweep(folder, before, &mut taken)?;
            }
            Ok(taken)
        });
        swept.await.map_err(|_| Error::StageStopped)?
    }

    async fn tidy_originals(&self) -> Result<u64, Error> {
        let before = self.parts.clock.now() - delta(self.settings.janitor.originals);
        let mut taken = 0;
        for tenant in self.parts.catalog.tenants().await? {
            let all = Key::originals(tenant.id);
            let kept = self.parts.objects.list_below(&all).await?;
            let old: Vec<ContentHash> = kept
                .iter()
                .filter(|(_, meta)| meta.last_modified < before)
                .filter_map(|(key, _)| key.original_hash())
                .collect();
            for some in old.chunks(AT_ONCE) {
                taken += self.drop_unreferenced(tenant.id, some).await?;
            }
        }
        Ok(taken)
    }

    async fn drop_unreferenced(
        &self,
        tenant: TenantId,
        hashes: &[ContentHash],
    ) -> Result<u64, Error> {
        let _moving = self.still.read().await;
        let _shut = self.door.write().await;
        let free = self.parts.catalog.unreferenced(tenant, hashes).await?;
        for hash in &free {
            self.parts
                .objects
                .delete(&Key::original(tenant, hash))
                .await?;
        }
        Ok(free.len() as u64)
    }
}

/// Files of unfinished writes last touched before a time.
fn sweep(folder: &Path, before: DateTime<Utc>, taken: &mut u64) -> Result<(), Error> {
    let entries = std::fs::read_dir(folder).map_err(io("list", folder))?;
    for entry in entries {
        let entry = entry.map_err(io("list", folder))?;
        let path = entry.path();
        // Whatever vanishes meanwhile was not left behind.
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() {
            sweep(&path, before, taken)?;
        } else if is_unfinished(&path)
            && meta
                .modified()
                .is_ok_and(|at| DateTime::<Utc>::from(at) < before)
        {
            remove(&path).map_err(io("delete", &path))?;
            tracing::info!(path = %path.display(), "took away a write that was never finished");
            *taken += 1;
        }
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where it becomes an effect"
)]
fn remove(path: &Path) -> std::io::Result<()> {
    durable::effect_blocking("objects.sweep", || std::fs::remove_file(path))
}

fn delta(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX)
}
