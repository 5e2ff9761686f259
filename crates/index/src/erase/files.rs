//! What the store's files hold, read from the files themselves.
//!
//! A table is asked only for the blocks something could lie in. What a tombstone or a newer
//! record hides from every reader is found here all the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::TryStreamExt as _;
use model::VersionId;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};
use slatedb::admin::Admin;
use slatedb::db_cache::SplitCache;
use slatedb::{Db, RowEntry, SstFile, SstReader, ValueDeletable, VersionedManifest, WalReader};

use crate::Error;
use crate::erase::shed::RowCounts;
use crate::error::Doing;
use crate::place::{Gone, Space};
use crate::slate::key;
use crate::slate::record::{SpaceRecord, VectorRecord};
use crate::slate::store::{self, ROOT, cache_of};
use crate::vector::code::Codes;

/// The store's files, beside the database that works with them.
pub struct Files {
    objects: Arc<dyn ObjectStore>,
    pub admin: Admin,
    tables: SstReader,
    log: WalReader,
    /// Whoever erases.
    pub turn: tokio::sync::Mutex<()>,
}

/// Enough for the indexes of a few tables while their blocks are read.
const INDEX_BYTES: u64 = 16 << 20;

impl Files {
    pub fn new(objects: Arc<dyn ObjectStore>) -> Self {
        let cache = SplitCache::new()
            .with_block_cache(None)
            .with_meta_cache(Some(Arc::new(cache_of(INDEX_BYTES))))
            .build();
        Self {
            admin: Admin::builder(ROOT, Arc::clone(&objects)).build(),
            tables: SstReader::new(ROOT, Arc::clone(&objects), Some(Arc::new(cache)), None),
            log: WalReader::new(ROOT, Arc::clone(&objects)),
            objects,
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// Every table there is, referred to or not.
    pub async fn tables(&self) -> Result<Vec<String>, Error> {
        let folder = Path::from_iter([ROOT, "compacted"]);
        let listed: Result<Vec<ObjectMeta>, _> =
            self.objects.list(Some(&folder)).try_collect().await;
        let listed = listed.map_err(|error| {
            slatedb::Error::unavailable(error.to_string()).with_source(Box::new(error))
        });
        let name =
            |meta: ObjectMeta| Some(meta.location.filename()?.strip_suffix(".sst")?.to_owned());
        Ok(listed
            .doing("list tables")?
            .into_iter()
            .filter_map(name)
            .collect())
    }

    /// How many records the tables have, by what each tells of itself.
    pub async fn count_rows(&self, manifest: &VersionedManifest) -> Result<RowCounts, Error> {
        let mut rows = RowCounts::default();
        for view in manifest.all_sst_views() {
            let file = self.tables.open_with_handle(view.sst.clone());
            let told = async { file?.stats().await };
            match told.await {
                Err(error) if store::is_collected(&error) => {}
                told => {
                    let told = told.doing("read a table")?.unwrap_or_default();
                    rows.there += told.num_puts + told.num_merges;
                    rows.gone += told.num_deletes;
                }
            }
        }
        Ok(rows)
    }

    /// One that was taken away meanwhile holds nothing.
    pub async fn table_holds(&self, table: &str, traces: &Traces) -> Result<bool, Error> {
        let Ok(id) = table.parse() else {
            return Err(Error::corrupt("table", format!("it is called {table}")));
        };
        let found = async {
            let file = self.tables.open(id).await?;
            for prefix in &traces.prefixes {
                if find(&file, prefix, traces).await? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        match found.await {
            Err(error) if store::is_collected(&error) => Ok(false),
            found => found.doing("read a table"),
        }
    }

    /// How many files the log has, if none of them holds anything.
    pub async fn clean_log(&self, traces: &Traces) -> Result<Option<u64>, Error> {
        let mut files = 0;
        for file in self.log.list(..).await.doing("list the log")? {
            let found = async {
                let mut rows = file.iterator().await?;
                while let Some(row) = rows.next().await? {
                    if traces.are_in(&row) {
                        return Ok(true);
                    }
                }
                Ok(false)
            };
            match found.await {
                Err(error) if store::is_collected(&error) => {}
                found => {
                    if found.doing("read the log")? {
                        return Ok(None);
                    }
                    files += 1;
                }
            }
        }
        Ok(Some(files))
    }
}

/// Whether any row under a prefix is a trace.
async fn find(file: &SstFile, prefix: &[u8], traces: &Traces) -> Result<bool, slatedb::Error> {
    let index = file.index().await?;
    // The block before may end in the first of them.
    let first = index.partition_point(|key| key < prefix).saturating_sub(1);
    let end = index.partition_point(|key| key < prefix || key.starts_with(prefix));
    for block in first..end {
        if file
            .read_block(block)
            .await?
            .iter()
            .any(|row| traces.are_in(row))
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How what is to be gone is known where it is not.
#[derive(Default)]
pub struct Traces {
    versions: BTreeSet<(Space, VersionId)>,
    /// By their spaces, with the length of vectors there.
    numbers: BTreeMap<Space, (usize, BTreeSet<u32>)>,
    /// Spaces of which all has to go.
    forgotten: BTreeSet<Space>,
    /// Where it could lie.
    prefixes: Vec<Vec<u8>>,
}

impl Traces {
    pub async fn of(db: &Db, gone: &[Gone]) -> Result<Self, Error> {
        let view = db.snapshot().doing("take a snapshot")?;
        let mut traces = Self::default();
        for one in gone {
            if traces.forgotten.contains(&one.space) {
                continue;
            }
            if !traces.numbers.contains_key(&one.space) {
                let record = store::get(&view, key::of_space(key::SPACE, &one.space)).await?;
                // Of one that cannot be read nobody can say what is left.
                let record = record.map(|bytes| SpaceRecord::read(&bytes)).transpose()?;
                traces.add_space(one.space, &record.unwrap_or_default());
            }
            traces.add(one);
        }
        Ok(traces)
    }

    /// What a space was is not known any more once it is forgotten, nor does it matter.
    fn add_space(&mut self, space: Space, record: &SpaceRecord) {
        if record.is_gone() {
            let prefixes = key::OF_SPACE.map(|kind| key::of_space(kind, &space));
            self.prefixes.extend(prefixes);
            self.forgotten.insert(space);
            return;
        }
        let prefixes = [key::VECTOR, key::POSTING].map(|kind| key::of_space(kind, &space));
        self.prefixes.extend(prefixes);
        let dimensions = record.dimensions as usize;
        self.numbers.insert(space, (dimensions, BTreeSet::new()));
    }

    fn add(&mut self, one: &Gone) {
        let Some((_, numbers)) = self.numbers.get_mut(&one.space) else {
            return;
        };
        numbers.extend(one.number);
        self.versions.insert((one.space, one.version));
        let of_version = |kind| key::of_version(kind, &one.space, one.version);
        self.prefixes
            .extend([key::UNIT, key::CHUNK].map(of_version));
    }

    fn are_in(&self, row: &RowEntry) -> bool {
        let (ValueDeletable::Value(value) | ValueDeletable::Merge(value)) = &row.value else {
            return false;
        };
        match row.key.first() {
            Some(kind) if key::OF_SPACE.contains(kind) && self.is_of_forgotten(&row.key) => true,
            Some(&(key::UNIT | key::CHUNK)) => {
                key::read_version(&row.key).is_some_and(|of| self.versions.contains(&of))
            }
            Some(&key::VECTOR) => self.are_in_vector(&row.key, value),
            Some(&key::POSTING) => self.are_in_posting(&row.key, value),
            _ => false,
        }
    }

    fn is_of_forgotten(&self, key: &[u8]) -> bool {
        key::read_space(&key[1..]).is_some_and(|space| self.forgotten.contains(&space))
    }

    fn are_in_vector(&self, key: &[u8], value: &[u8]) -> bool {
        let of = key::read_space(&key[1..]).zip(VectorRecord::read(value).ok());
        of.is_some_and(|(space, record)| self.versions.contains(&(space, record.place.version)))
    }

    /// Each entry names the version of its vector by number.
    fn are_in_posting(&self, key: &[u8], value: &[u8]) -> bool {
        let space = key::read_space(&key[1..]);
        let Some((dimensions, gone)) = space.and_then(|space| self.numbers.get(&space)) else {
            return false;
        };
        if *dimensions == 0 {
            // Where no vector is known of nothing tells whose they are, and none belongs there.
            return true;
        }
        let codes = Codes::read(value, *dimensions).unwrap_or_default();
        codes.numbers.iter().any(|number| gone.contains(number))
    }
}
