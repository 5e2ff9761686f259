//! Opens SlateDB with the options its traps ask for, and reads ranges of it.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use object_store::ObjectStore;
use slatedb::config::{
    CompactionWorkerOptions, CompactorOptions, GarbageCollectorDirectoryOptions,
    GarbageCollectorOptions, ScanOptions, SstBlockSize,
};
use slatedb::db_cache::SplitCache;
use slatedb::db_cache::moka::{MokaCache, MokaCacheOptions};
use slatedb::{
    ByteRangeBounds, Db, DbIterator, DbSnapshot, KeyValue, MergeOperator, MergeOperatorError,
};

use crate::error::Doing;
use crate::slate::key;
use crate::slate::record::Meta;
use crate::{Error, Settings};

/// What this program writes. An older number would be migrated at open.
pub const FORMAT: u32 = 1;

/// Where each block begins is kept in memory. With the usual 4 KiB, two vectors to a block, that
/// would be more than the cache holds from some hundred thousand chunks on, and be read and
/// checked anew for nearly every record.
const BLOCK: SstBlockSize = SstBlockSize::Block16Kib;

/// The folder the store lies in.
pub const ROOT: &str = "slate";

pub async fn open(settings: &Settings, objects: Arc<dyn ObjectStore>) -> Result<Db, Error> {
    let cache = SplitCache::new()
        .with_block_cache(Some(Arc::new(cache_of(settings.block_cache_bytes))))
        .with_meta_cache(Some(Arc::new(cache_of(settings.block_cache_bytes / 4))))
        .build();
    let builder = Db::builder(ROOT, objects)
        .with_settings(options(settings))
        .with_db_cache(Arc::new(cache), 0)
        .with_sst_block_size(BLOCK)
        .with_merge_operator(Arc::new(Append));
    builder.build().await.doing("open the database")
}

pub fn cache_of(bytes: u64) -> MokaCache {
    MokaCache::new_with_opts(MokaCacheOptions {
        max_capacity: bytes,
        ..Default::default()
    })
}

/// How often the store looks for tables to merge.
const LOOK_EVERY: Duration = Duration::from_millis(500);

fn options(settings: &Settings) -> slatedb::Settings {
    // Endless retries, the default, would leave a flush on a dead store hanging for ever.
    let retries = Some(settings.store_retries);
    let collect = GarbageCollectorDirectoryOptions {
        interval: Some(settings.collect_every),
        min_age: settings.collect_every * 5,
        ..Default::default()
    };
    slatedb::Settings {
        // Every flush of ours ends in one of its own; its ticker has nothing to add.
        flush_interval: None,
        max_unflushed_bytes: settings.unflushed_bytes,
        l0_sst_size_bytes: settings.unflushed_bytes / 4,
        object_store_max_retries: retries,
        compactor_options: Some(CompactorOptions {
            object_store_max_retries: retries,
            // For so long a scan under way may read what a compaction has replaced.
            checkpoint_lifetime: settings.collect_every * 15,
            // Whoever purges waits for a merge, and looking into a folder costs little.
            poll_interval: LOOK_EVERY,
            commit_compacted_interval: LOOK_EVERY,
            worker: Some(CompactionWorkerOptions {
                compactions_poll_interval: LOOK_EVERY,
                ..Default::default()
            }),
            ..Default::default()
        }),
        garbage_collector_options: Some(GarbageCollectorOptions {
            manifest_options: Some(collect),
            wal_options: Some(collect),
            compacted_options: Some(collect),
            compactions_options: Some(collect),
            // A local folder cannot overwrite conditionally; with boundary files nothing
            // there would ever be collected. One process owns the folder, so none are needed.
            boundary_files_enabled: false,
            object_store_max_retries: retries,
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// Postings grow by appending whole blocks.
struct Append;

impl MergeOperator for Append {
    fn merge(
        &self,
        _key: &Bytes,
        existing: Option<Bytes>,
        block: Bytes,
    ) -> Result<Bytes, MergeOperatorError> {
        Ok(existing.map_or(block.clone(), |old| [old, block].concat().into()))
    }

    fn merge_batch(
        &self,
        _key: &Bytes,
        existing: Option<Bytes>,
        blocks: &[Bytes],
    ) -> Result<Bytes, MergeOperatorError> {
        let all: Vec<&[u8]> = existing.iter().chain(blocks).map(|b| &b[..]).collect();
        Ok(all.concat().into())
    }
}

/// The store's head, or that of an empty one.
pub async fn head(view: &DbSnapshot) -> Result<Meta, Error> {
    let Some(bytes) = get(view, key::META).await? else {
        return Ok(Meta {
            format: FORMAT,
            flush: 0,
        });
    };
    let meta = Meta::read(&bytes)?;
    if meta.format != FORMAT {
        return Err(Error::Format {
            found: meta.format,
            known: FORMAT,
        });
    }
    Ok(meta)
}

/// Whether a table was collected while it was read. What it held lies elsewhere, and a
/// snapshot that is asked again finds it there.
pub fn is_collected(error: &slatedb::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        let missing = |of: &object_store::Error| matches!(of, object_store::Error::NotFound { .. });
        let shared = error.downcast_ref::<Arc<object_store::Error>>();
        if error.downcast_ref().is_some_and(missing) || shared.is_some_and(|of| missing(of)) {
            return true;
        }
        source = error.source();
    }
    false
}

/// How often something is read again whose table was collected.
const AGAIN: usize = 3;

pub async fn get(view: &DbSnapshot, key: impl AsRef<[u8]> + Send) -> Result<Option<Bytes>, Error> {
    let key = key.as_ref();
    for _ in 0..AGAIN {
        match view.get(key).await {
            Err(error) if is_collected(&error) => {}
            read => return read.doing("read a record"),
        }
    }
    view.get(key).await.doing("read a record")
}

/// Everything under a prefix, in order, a row at a time.
pub struct Rows<'a> {
    view: &'a DbSnapshot,
    prefix: Vec<u8>,
    rest: (Bound<Bytes>, Bound<Bytes>),
    keep: bool,
    rows: DbIterator,
}

impl<'a> Rows<'a> {
    pub async fn under(view: &'a DbSnapshot, prefix: &[u8]) -> Result<Self, Error> {
        Self::within(view, prefix, ..).await
    }

    /// The same for who passes by all of them: they take no place in memory from those that
    /// are asked for again.
    pub async fn passing(view: &'a DbSnapshot, prefix: &[u8]) -> Result<Self, Error> {
        let all = (Bound::Unbounded, Bound::Unbounded);
        Self::begin(view, prefix, all, false).await
    }

    /// Rows whose key goes on, behind the prefix, within `rest`.
    pub async fn within(
        view: &'a DbSnapshot,
        prefix: &[u8],
        rest: impl ByteRangeBounds + Send,
    ) -> Result<Self, Error> {
        let owned = |bound: Bound<&[u8]>| bound.map(Bytes::copy_from_slice);
        let rest = (owned(rest.start_bound()), owned(rest.end_bound()));
        Self::begin(view, prefix, rest, true).await
    }

    async fn begin(
        view: &'a DbSnapshot,
        prefix: &[u8],
        rest: (Bound<Bytes>, Bound<Bytes>),
        keep: bool,
    ) -> Result<Self, Error> {
        let rows = scan(view, prefix, &rest, keep).await?;
        Ok(Self {
            view,
            prefix: prefix.to_vec(),
            rest,
            keep,
            rows,
        })
    }

    pub async fn next(&mut self) -> Result<Option<(Bytes, Bytes)>, Error> {
        for _ in 0..AGAIN {
            match self.rows.next().await {
                Err(error) if is_collected(&error) => {
                    self.rows = scan(self.view, &self.prefix, &self.rest, self.keep).await?;
                }
                row => return self.went_on(row),
            }
        }
        let row = self.rows.next().await;
        self.went_on(row)
    }

    fn went_on(
        &mut self,
        row: Result<Option<KeyValue>, slatedb::Error>,
    ) -> Result<Option<(Bytes, Bytes)>, Error> {
        let row = row.doing("scan")?;
        if let Some(row) = &row {
            self.rest.0 = Bound::Excluded(row.key.slice(self.prefix.len()..));
        }
        Ok(row.map(|row| (row.key, row.value)))
    }
}

async fn scan(
    view: &DbSnapshot,
    prefix: &[u8],
    rest: &(Bound<Bytes>, Bound<Bytes>),
    keep: bool,
) -> Result<DbIterator, Error> {
    let options = ScanOptions {
        read_ahead_bytes: 1 << 20,
        max_fetch_tasks: 2,
        cache_blocks: keep,
        ..Default::default()
    };
    for _ in 0..AGAIN {
        match view
            .scan_prefix_with_options(prefix, rest.clone(), &options)
            .await
        {
            Err(error) if is_collected(&error) => {}
            rows => return rows.doing("scan"),
        }
    }
    let rows = view.scan_prefix_with_options(prefix, rest.clone(), &options);
    rows.await.doing("scan")
}
