//! Has the store bring what is in memory into tables, merge tables and collect the old ones, and
//! waits for it.

use std::time::{Duration, Instant};

use slatedb::compactor::{CompactionSpec, SourceId};
use slatedb::config::{
    FlushOptions, FlushType, GarbageCollectorDirectoryOptions, GarbageCollectorOptions,
};
use slatedb::{Db, VersionedManifest};

use crate::Error;
use crate::erase::Files;
use crate::error::Doing;
use crate::flush::Store;
use crate::slate::key;

/// Between two looks at something others are to bring about, at first and at last.
const PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

pub struct Merger<'a> {
    store: &'a Store,
    until: Instant,
    pause: Duration,
}

impl<'a> Merger<'a> {
    pub fn new(store: &'a Store) -> Self {
        Self {
            store,
            until: Instant::now() + store.settings.erase_within,
            pause: PAUSE,
        }
    }

    /// Brings what is in memory into a table, and one thing more: the log is kept from its last
    /// file in a table on, tables from the newest on.
    pub async fn settle(&self) -> Result<(), Error> {
        let db = &self.store.db;
        let options = FlushOptions {
            flush_type: FlushType::MemTable,
        };
        #[expect(clippy::disallowed_methods, reason = "nothing is ever read there")]
        let written = durable::effect("index.settle", async {
            db.delete(key::NOTHING).await?;
            db.flush().await?;
            db.flush_with_options(options).await
        });
        written.await.doing("write what is in memory")
    }

    /// Has the store merge tables, and waits for the end of it. One that is refused, as the
    /// store's own merging was quicker, is for the caller to ask for again from what there is
    /// then.
    pub async fn merge(
        &mut self,
        sources: Vec<SourceId>,
        manifest: &VersionedManifest,
    ) -> Result<(), Error> {
        let run = |source: &SourceId| match source {
            SourceId::SortedRun(id) => Some(*id),
            SourceId::SstView(_) => None,
        };
        let lowest = sources.iter().filter_map(run).min();
        let beyond = manifest.compacted().iter().map(|run| run.id + 1).max();
        let to = lowest.or(beyond).unwrap_or(0);
        tracing::info!(sources = sources.len(), to, "merging tables");
        let admin = &self.store.files.admin;
        let spec = CompactionSpec::new(sources, to);
        let asked = durable::effect("index.merge", admin.submit_compaction(spec));
        let merge = asked.await.doing("merge tables")?.id();
        loop {
            let stands = admin.read_compaction(merge, None).await;
            if !stands
                .doing("merge tables")?
                .is_some_and(|one| one.active())
            {
                break;
            }
            self.pause = PAUSE;
            self.pause().await?;
        }
        self.pause = PAUSE;
        self.store.db.refresh_manifest().await.doing("merge tables")
    }

    /// Takes away what nothing refers to any more.
    pub async fn collect(&self) -> Result<(), Error> {
        let Store { files, db, .. } = self.store;
        let collected = durable::effect("index.collect", collect(files, db));
        collected.await.doing("collect what was merged")
    }

    /// Every look writes a little; so they become rarer.
    pub async fn pause(&mut self) -> Result<(), Error> {
        if Instant::now() > self.until {
            return Err(Error::NotErased);
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Ok(())
    }
}

/// The store keeps merged tables for a while, for those who read them. Ours read on from what
/// replaced them (see [`crate::slate::store`]).
async fn collect(files: &Files, db: &Db) -> Result<(), slatedb::Error> {
    let now = GarbageCollectorDirectoryOptions {
        interval: None,
        min_age: Duration::ZERO,
        ..GarbageCollectorDirectoryOptions::default()
    };
    let options = GarbageCollectorOptions {
        wal_options: Some(now),
        compacted_options: Some(now),
        manifest_options: None,
        compactions_options: None,
        wal_fence_options: None,
        detach_options: None,
        boundary_files_enabled: false,
        ..GarbageCollectorOptions::default()
    };
    db.refresh_manifest().await?;
    for checkpoint in files.admin.list_checkpoints(None).await? {
        files.admin.delete_checkpoint(checkpoint.id).await?;
    }
    files.admin.run_gc_once(options).await
}
