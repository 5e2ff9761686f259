//! Opens SlateDB with the options its traps ask for, and reads ranges of it.

use std::sync::Arc;

use bytes::Bytes;
use object_store::ObjectStore;
use slatedb::config::{
    CompactorOptions, GarbageCollectorDirectoryOptions, GarbageCollectorOptions, ScanOptions,
    SstBlockSize,
};
use slatedb::db_cache::SplitCache;
use slatedb::db_cache::moka::{MokaCache, MokaCacheOptions};
use slatedb::{Db, DbIterator, DbSnapshot, MergeOperator, MergeOperatorError};

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

pub async fn open(settings: &Settings, objects: Arc<dyn ObjectStore>) -> Result<Db, Error> {
    let cache = SplitCache::new()
        .with_block_cache(Some(Arc::new(cache_of(settings.block_cache_bytes))))
        .with_meta_cache(Some(Arc::new(cache_of(settings.block_cache_bytes / 4))))
        .build();
    let builder = Db::builder("slate", objects)
        .with_settings(options(settings))
        .with_db_cache(Arc::new(cache), 0)
        .with_sst_block_size(BLOCK)
        .with_merge_operator(Arc::new(Append));
    builder.build().await.doing("open the database")
}

fn cache_of(bytes: u64) -> MokaCache {
    MokaCache::new_with_opts(MokaCacheOptions {
        max_capacity: bytes,
        ..Default::default()
    })
}

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

pub async fn get(view: &DbSnapshot, key: impl AsRef<[u8]> + Send) -> Result<Option<Bytes>, Error> {
    view.get(key).await.doing("read a record")
}

/// Everything under a prefix, in order, a row at a time.
pub struct Rows(DbIterator);

impl Rows {
    pub async fn under(view: &DbSnapshot, prefix: &[u8]) -> Result<Self, Error> {
        Self::within(view, prefix, ..).await
    }

    /// Rows whose key goes on, behind the prefix, within `rest`.
    pub async fn within(
        view: &DbSnapshot,
        prefix: &[u8],
        rest: impl slatedb::ByteRangeBounds + Send,
    ) -> Result<Self, Error> {
        let options = ScanOptions {
            read_ahead_bytes: 1 << 20,
            max_fetch_tasks: 2,
            cache_blocks: true,
            ..Default::default()
        };
        let rows = view.scan_prefix_with_options(prefix, rest, &options).await;
        Ok(Self(rows.doing("scan")?))
    }

    pub async fn next(&mut self) -> Result<Option<(Bytes, Bytes)>, Error> {
        let row = self.0.next().await.doing("scan")?;
        Ok(row.map(|row| (row.key, row.value)))
    }
}
