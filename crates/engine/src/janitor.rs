//! Takes away what nothing refers to any more.
//!
//! Only what is old enough is looked at: bytes on their way in are nobody's yet. An
//! original is deleted with the door shut to admissions, so that none of them can find
//! it there and count on it.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use catalog::{Removing, Upload, UploadEnd, UploadState, every};
use chrono::{DateTime, TimeDelta, Utc};
use index::Space;
use model::{ContentHash, TenantId, VersionId};
use object_store::ObjectMeta;

use crate::backup::{io, is_unfinished};
use crate::objects::Key;
use crate::{Engine, Error};

/// What is kept for how long.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// What nobody refers to: staged bytes, originals, what was made of a version that is gone.
    pub orphans: Duration,
    /// The bytes of uploads that failed, for whoever wants to see why.
    pub failed_uploads: Duration,
    /// Events for those who follow along.
    pub events: Duration,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Default for Settings {
    fn default() -> Self {
        Self {
            orphans: DAY,
            failed_uploads: 7 * DAY,
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
    /// Versions whose purge was interrupted.
    pub purged: u64,
    /// Versions the index held and the catalog does not know.
    pub unreachable: u64,
    /// Versions objects were left of and the catalog does not know.
    pub leftovers: u64,
    /// Spaces of the index in which what no longer answers was set aside.
    pub compacted: u64,
    /// Times the index's tables were merged to give back what was forgotten.
    pub merged: u64,
    /// Counts of status that were not as their rows have it, put right.
    pub miscounted: u64,
}

impl Tidied {
    fn add(&mut self, more: &Self) {
        self.staged += more.staged;
        self.originals += more.originals;
        self.uploads += more.uploads;
        self.purged += more.purged;
        self.unreachable += more.unreachable;
        self.leftovers += more.leftovers;
        self.compacted += more.compacted;
        self.merged += more.merged;
        self.miscounted += more.miscounted;
    }
}

fn note(tidied: &Tidied) {
    let Tidied {
        staged,
        originals,
        uploads,
        purged,
        unreachable,
        leftovers,
        compacted,
        merged,
        miscounted,
    } = tidied;
    tracing::info!(
        staged,
        originals,
        uploads,
        purged,
        unreachable,
        leftovers,
        compacted,
        merged,
        miscounted,
        "took away what nobody needs"
    );
}

/// Uploads ended, and originals asked about, in one go.
const AT_ONCE: usize = 100;

impl Engine {
    /// One round. What it took away is logged and counted, however the round ended.
    pub async fn tidy(&self) -> Result<Tidied, Error> {
        let mut tidied = Tidied::default();
        let ended = self.tidy_all(&mut tidied).await;
        if tidied != Tidied::default() {
            note(&tidied);
            self.kept().tidied.add(&tidied);
        }
        ended.map(|()| tidied)
    }

    /// A part that fails keeps no other from its turn.
    async fn tidy_all(&self, tidied: &mut Tidied) -> Result<(), Error> {
        let parts = [
            self.expire_uploads(&mut tidied.uploads).await,
            self.tidy_staging(&mut tidied.staged).await,
            self.finish_purges(&mut tidied.purged).await,
            self.tidy_originals(&mut tidied.originals).await,
            self.tidy_index(&mut tidied.unreachable).await,
            self.tidy_versions(&mut tidied.leftovers).await,
            self.compact_idle(&mut tidied.compacted).await,
            self.shed_forgotten(&mut tidied.merged).await,
            self.recount_tallies(&mut tidied.miscounted).await,
            self.prune().await,
        ];
        parts.into_iter().collect()
    }

    /// What is kept for a time and no longer.
    async fn prune(&self) -> Result<(), Error> {
        let now = self.parts.clock.now();
        let before = now - delta(self.settings.janitor.events);
        self.parts.catalog.prune(before, now).await?;
        self.figures().expire(now).await?;
        Ok(())
    }

    /// The database tallies with every change, so that a wrong count is a fault, and loud.
    async fn recount_tallies(&self, put_right: &mut u64) -> Result<(), Error> {
        let miscounted = self.parts.catalog.recount_tallies().await?;
        for tally in &miscounted {
            tracing::warn!(
                of = %tally.of, kind = tally.kind, told = tally.told, counted = tally.counted,
                "a count was not as its rows have it; it was put right"
            );
        }
        *put_right += miscounted.len() as u64;
        Ok(())
    }

    async fn expire_uploads(&self, ended: &mut u64) -> Result<(), Error> {
        loop {
            let now = self.parts.clock.now();
            let overdue = self.parts.catalog.overdue_uploads(now, AT_ONCE as u32);
            let overdue = overdue.await?;
            for upload in &overdue {
                self.expire_upload(upload, now).await?;
                *ended += 1;
            }
            if overdue.len() < AT_ONCE {
                return Ok(());
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

    /// Whoever asked for a purge the process died in was told nothing; it is done all the same.
    async fn finish_purges(&self, purged: &mut u64) -> Result<(), Error> {
        loop {
            let some = self.parts.catalog.purging(AT_ONCE as u32).await?;
            let mut of: BTreeMap<TenantId, Vec<Removing>> = BTreeMap::new();
            for version in &some {
                of.entry(version.tenant).or_default().push(*version);
            }
            for (tenant, versions) in of {
                self.purge_versions(tenant, &versions).await?;
                *purged += versions.len() as u64;
            }
            if some.len() < AT_ONCE {
                break;
            }
        }
        // Of rows that were gone before the process died.
        Ok(self.parts.catalog.scrub().await?)
    }

    async fn tidy_staging(&self, taken: &mut u64) -> Result<(), Error> {
        let staged = self.parts.objects.list_below(&Key::all_staged()).await?;
        let before = self.parts.clock.now() - delta(self.settings.janitor.orphans);
        *taken += self.tidy_unfinished(before).await?;
        for (key, meta) in staged {
            if self.is_old(&meta) && self.is_done_with(&key, &meta).await? {
                self.parts.objects.delete(&key).await?;
                *taken += 1;
            }
        }
        Ok(())
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

    fn is_old(&self, meta: &ObjectMeta) -> bool {
        let orphans = self.settings.janitor.orphans;
        meta.last_modified < self.parts.clock.now() - delta(orphans)
    }

    /// Bytes of an upload under way are waited for, those of a failed one kept for longer.
    async fn is_done_with(&self, key: &Key, meta: &ObjectMeta) -> Result<bool, Error> {
        let upload = self.parts.catalog.upload_by_key(&key.to_string()).await?;
        let kept = self.settings.janitor.failed_uploads;
        Ok(match upload.map(|upload| upload.state) {
            Some(UploadState::Pending) => false,
            Some(UploadState::Failed) => meta.last_modified < self.parts.clock.now() - delta(kept),
            Some(UploadState::Admitted | UploadState::Expired) | None => true,
        })
    }

    /// What the index holds of versions that are gone cannot be reached by any search.
    async fn tidy_index(&self, forgotten: &mut u64) -> Result<(), Error> {
        let mut held: BTreeMap<TenantId, Vec<(Space, VersionId)>> = BTreeMap::new();
        for (space, version, _) in self.view(0).await?.versions().await? {
            held.entry(space.tenant).or_default().push((space, version));
        }
        for (tenant, versions) in held {
            for some in versions.chunks(AT_ONCE) {
                let ids: Vec<_> = some.iter().map(|(_, version)| *version).collect();
                let unknown = self.parts.catalog.unknown_versions(tenant, &ids).await?;
                let _moving = self.still.read().await;
                for (space, version) in some.iter().filter(|(_, v)| unknown.contains(v)) {
                    let receipt = self.parts.index.forget(*space, *version).await?;
                    receipt.durable().await?;
                    *forgotten += 1;
                }
            }
        }
        Ok(())
    }

    /// A Prep that was still writing when its version was removed leaves objects behind, and
    /// so does a server that died while it drew one of its pages.
    async fn tidy_versions(&self, taken: &mut u64) -> Result<(), Error> {
        let objects = &self.parts.objects;
        for tenant in every(|page| self.parts.catalog.tenants(page)).await? {
            let there = objects.versions_of(tenant.id).await?;
            self.drop_unknown(tenant.id, &there, Key::version, taken)
                .await?;
            let cached = objects.cached_of(tenant.id).await?;
            self.drop_unknown(tenant.id, &cached, Key::cached, taken)
                .await?;
        }
        Ok(())
    }

    async fn drop_unknown(
        &self,
        tenant: TenantId,
        there: &[VersionId],
        key: fn(TenantId, VersionId) -> Key,
        taken: &mut u64,
    ) -> Result<(), Error> {
        let objects = &self.parts.objects;
        for some in there.chunks(AT_ONCE) {
            let unknown = self.parts.catalog.unknown_versions(tenant, some).await?;
            for version in unknown {
                let key = key(tenant, version);
                let left = objects.list_below(&key).await?;
                if left.iter().all(|(_, meta)| self.is_old(meta)) {
                    let _moving = self.still.read().await;
                    objects.delete_below(&key).await?;
                    *taken += 1;
                }
            }
        }
        Ok(())
    }

    async fn tidy_originals(&self, taken: &mut u64) -> Result<(), Error> {
        for tenant in every(|page| self.parts.catalog.tenants(page)).await? {
            let all = Key::originals(tenant.id);
            let kept = self.parts.objects.list_below(&all).await?;
            let old: Vec<ContentHash> = kept
                .iter()
                .filter(|(_, meta)| self.is_old(meta))
                .filter_map(|(key, _)| key.original_hash())
                .collect();
            for some in old.chunks(AT_ONCE) {
                self.drop_unreferenced(tenant.id, some, taken).await?;
            }
        }
        Ok(())
    }

    /// Of these originals, those no version refers to.
    pub(crate) async fn drop_unreferenced(
        &self,
        tenant: TenantId,
        hashes: &[ContentHash],
        taken: &mut u64,
    ) -> Result<(), Error> {
        let _moving = self.still.read().await;
        let _shut = self.door.write().await;
        let free = self.parts.catalog.unreferenced(tenant, hashes).await?;
        for hash in &free {
            self.parts
                .objects
                .delete(&Key::original(tenant, hash))
                .await?;
            *taken += 1;
        }
        Ok(())
    }
}

/// Files of unfinished writes last touched before a time.
pub(crate) fn sweep(folder: &Path, before: DateTime<Utc>, taken: &mut u64) -> Result<(), Error> {
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
            match remove(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                removed => removed.map_err(io("delete", &path))?,
            }
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
pub(crate) fn remove(path: &Path) -> std::io::Result<()> {
    durable::effect_blocking("objects.sweep", || std::fs::remove_file(path))
}

pub(crate) fn delta(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX)
}
