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
mod merger;
mod shed;

use std::collections::HashSet;

use slatedb::VersionedManifest;
use slatedb::compactor::SourceId;

use crate::Error;
use crate::flush::Store;
use crate::place::Gone;
pub use files::Files;
use files::Traces;
use merger::Merger;
pub use shed::shed;

/// The store's own merging may be quicker now and then, and what is written meanwhile comes to lie
/// beside it. What shows after so many merges is not taken out by one.
const MERGES: u32 = 32;

/// An erasure under way.
struct Erasure<'a> {
    store: &'a Store,
    traces: Traces,
    /// Tables found to hold nothing; none is ever changed.
    clean: HashSet<String>,
    merger: Merger<'a>,
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
        merger: Merger::new(store),
    };
    let mut merges = 0;
    loop {
        erasure.merger.settle().await?;
        let manifest = store.db.manifest();
        let sources = erasure.sources(&manifest).await?;
        if !sources.is_empty() {
            if manifest.recent_snapshot_min_seq() >= since {
                erasure.merger.merge(sources, &manifest).await?;
                merges += 1;
                if merges == MERGES {
                    return Err(Error::StillKept);
                }
                continue;
            }
        } else if let Some(files) = erasure.collect().await? {
            return Ok(files);
        }
        erasure.merger.pause().await?;
    }
}

impl Erasure<'_> {
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

    /// Takes away what nothing refers to. Says how many files are left, if none of them holds
    /// anything any more.
    async fn collect(&mut self) -> Result<Option<u64>, Error> {
        let files = &self.store.files;
        self.merger.collect().await?;
        let tables = files.tables().await?;
        for table in &tables {
            if self.holds(table).await? {
                return Ok(None);
            }
        }
        let log = files.clean_log(&self.traces).await?;
        Ok(log.map(|log| log + tables.len() as u64))
    }
}
