//! Disk use follows what is kept.
//!
//! What was forgotten lies in the tables until those that hold it and those that say so are
//! merged. The store merges tables by their sizes alone, so in an index that has come to rest
//! that may be never. Each table tells how many records it has and how many it only says are
//! gone; once those are many beside the records, all tables are merged into one run. A merge
//! leaves none of them, so it is paid for by the forgetting since the last.

use std::sync::atomic::Ordering;

use slatedb::VersionedManifest;
use slatedb::compactor::SourceId;

use crate::Error;
use crate::erase::merger::Merger;
use crate::flush::Store;

/// Of so many records in the tables one is gone when they are merged.
const ONE_IN: u64 = 4;
/// Below this many gone, a merge would cost more than the room is worth: a few megabytes.
const LEAST_GONE: u64 = 4_000;

/// Records in tables: there, and said to be gone. One of these hides one of those at most.
#[derive(Debug, Default)]
pub struct RowCounts {
    pub there: u64,
    pub gone: u64,
}

impl RowCounts {
    fn are_worth_a_merge(&self) -> bool {
        self.gone >= LEAST_GONE && self.gone * ONE_IN > self.there
    }
}

/// Merges the tables if enough of what they hold is forgotten, and says whether it did. `since`
/// is the sequence of the newest flush: who still reads an older state keeps what is in it, and
/// then it is left to another round.
pub async fn shed(store: &Store, since: u64) -> Result<bool, Error> {
    let _turn = store.files.turn.lock().await;
    let mut merger = Merger::new(store);
    if store.forgot.swap(false, Ordering::Relaxed) {
        // What says that something is gone is small, and may lie in memory for long.
        let settled = merger.settle().await;
        settled.inspect_err(|_| store.forgot.store(true, Ordering::Relaxed))?;
    }
    let rows = store.files.count_rows(&store.db.manifest()).await?;
    if !rows.are_worth_a_merge() {
        return Ok(false);
    }
    // Also tells the store which states are still read.
    merger.settle().await?;
    let manifest = store.db.manifest();
    if manifest.recent_snapshot_min_seq() < since {
        return Ok(false);
    }
    let merged = merger.merge(everything(&manifest), &manifest).await;
    // Whatever came of it, what nobody refers to any more is of no use.
    merger.collect().await?;
    merged?;
    let left = store.files.count_rows(&store.db.manifest()).await?;
    if left.are_worth_a_merge() {
        tracing::warn!(
            ?left,
            "the index's tables could not be merged; it is tried again"
        );
        return Ok(false);
    }
    Ok(true)
}

fn everything(manifest: &VersionedManifest) -> Vec<SourceId> {
    let tables = manifest.l0().iter().map(|view| SourceId::SstView(view.id));
    let runs = manifest.compacted().iter();
    tables
        .chain(runs.map(|run| SourceId::SortedRun(run.id)))
        .collect()
}
