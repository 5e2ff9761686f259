//! What is forgotten leaves the files too, and whoever asked may wait for it.
//!
//! Forgetting writes that something is gone; the bytes themselves stay in the store's tables
//! until those are merged, and in merged tables until they are collected. Left alone, both
//! happen some time. Here they happen now, to as few tables as hold anything, and what is
//! told afterwards was read from the files. Killed in between, it is asked for again.
//!
//! In order: what is in memory becomes a table, so that its log may go; tables are merged
//! from the newest to the oldest that holds anything, for what is newer says that it is
//! gone; then nothing refers to the old ones, and they are collected. A reader of an older
//! state keeps what it may still read, and is waited for.

mod files;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use slatedb::compactor::{CompactionSpec, SourceId};
use slatedb::config::{
    FlushOptions, FlushType, GarbageCollectorDirectoryOptions, GarbageCollectorOptions,
};
use slatedb::{Db, VersionedManifest};

use crate::Error;
use crate::error::Doing;
use crate::flush::Store;
use crate::place::Gone;
use crate::slate::key;
pub use files::Files;
use files::Traces;

/// Between two looks at something others are to bring about, at first and at last.
const PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// An erasure under way.
struct Erasure<'a> {
    store: &'a Store,
    traces: Traces,
    /// Tables found to hold nothing; none is ever changed.
    clean: HashSet<String>,
    until: Instant,
    pause: Duration,
}

/// Returns when no file of the store holds anything of these versions, which were forgotten
/// at the sequence `since` or before. Says how many files there are.
pub async fn erase(store: &Store, gone: &[Gone], since: u64) -> Result<u64, Error> {
    if gone.is_empty() {
        return Ok(0);
    }
    // Another's merge may take ours along.
    let _turn = store.files.turn.lock().await;
    let mut erasure = Erasure {
        store,
        traces: Traces::of(&store.db, gone).await?,
        clean: HashSet::new(),
        until: Instant::now() + store.settings.erase_within,
        pause: PAUSE,
    };
    loop {
        erasure.settle().await?;
        let manifest = store.db.manifest();
        let sources = erasure.sources(&manifest).await?;
        if !sources.is_empty() {
            if manifest.recent_snapshot_min_seq() >= since {
                erasure.merge(sources, &manifest).await?;
                erasure.pause = PAUSE;
                continue;
            }
        } else if let Some(files) = erasure.collect().await? {
            return Ok(files);
        }
        erasure.pause().await?;
    }
}

impl Erasure<'_> {
    /// Brings what is in memory into a table, and one thing more: the log is kept from its last
    /// file in a table on, tables from the newest on.
    async fn settle(&self) -> Result<(), Error> {
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

    /// What must be merged: everything down to the last that holds anything.
    async fn sources(&mut self, manifest: &VersionedManifest) -> Result<Vec<SourceId>, Error> {
        let mut sources = Vec::new();
        let mut upto = 0;
        for view in manifest.l0() {
            sources.push(SourceId::SstView(view.id));
            if self.holds(&view.sst.id.value().to_string()).await? {
                // All of them: one left behind would count as newer than what is merged.
                upto = manifest.l0().len();
            }
        }
        for run in manifest.compacted() {
            sources.push(SourceId::SortedRun(run.id));
            for view in run.sst_views() {
                if self.holds(&view.sst.id.value().to_string()).await? {
                    upto = sources.len();
                    break;
                }
            }
        }
        sources.truncate(upto);
        Ok(sources)
    }

    async fn holds(&mut self, table: &str) -> Result<bool, Error> {
        if self.clean.contains(table) {
            return Ok(false);
        }
        let holds = self.store.files.table_holds(table, &self.traces).await?;
        if !holds {
            self.clean.insert(table.to_owned());
        }
        Ok(holds)
    }

    /// Has the store merge tables, and waits for the end of it. One that is refused, as the
    /// store's own merging was quicker, is asked for again from what there is then.
    async fn merge(
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
        tracing::info!(
            sources = sources.len(),
            to,
            "merging tables to erase from them"
        );
        let store = self.store;
        let admin = &store.files.admin;
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
        self.store.db.refresh_manifest().await.doing("merge tables")
    }

    /// Takes away what nothing refers to. Says how many files are left, if none of them holds
    /// anything any more.
    async fn collect(&mut self) -> Result<Option<u64>, Error> {
        let Store { files, db, .. } = self.store;
        let collected = durable::effect("index.collect", collect(files, db));
        collected.await.doing("collect what was merged")?;
        let tables = files.tables().await?;
        for table in &tables {
            if self.holds(table).await? {
                return Ok(None);
            }
        }
        let log = files.clean_log(&self.traces).await?;
        Ok(log.map(|log| log + tables.len() as u64))
    }

    /// Every look writes a little; so they become rarer.
    async fn pause(&mut self) -> Result<(), Error> {
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
