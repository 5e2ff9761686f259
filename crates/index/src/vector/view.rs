//! What is held in memory of a space, as of one flush.

use std::sync::Arc;

use roaring::RoaringBitmap;
use slatedb::DbSnapshot;
use tokio::sync::OnceCell;

use crate::Error;
use crate::place::Space;
use crate::slate::key;
use crate::slate::record::{self, SpaceRecord, Stand, VectorRecord, VersionRecord};
use crate::slate::store::{self, Rows};
use crate::vector::Cache;
use crate::vector::bits::{Bits, Recent};
use crate::vector::posting::{self, Table};
use crate::vector::totals::TotalsByVersion;

/// Cheap to clone; a flush makes the next one from it.
#[derive(Debug, Clone)]
pub struct SpaceView {
    pub space: Space,
    /// Stands for the space in cache keys.
    pub tag: u32,
    /// The flush it was read or made at.
    pub flush: u64,
    pub record: SpaceRecord,
    pub deleted: Arc<RoaringBitmap>,
    pub deleted_bits: Arc<Bits>,
    /// Postings, once the space is too large to scan.
    pub table: Option<Arc<Table>>,
    /// Numbers of versions that have entries in cold postings.
    pub cold: Arc<RoaringBitmap>,
    /// Ids the postings hold, read when first asked for.
    indexed: Arc<OnceCell<Bits>>,
    /// The last live versions that were searched among.
    pub recent: Recent,
    pub totals: Arc<TotalsByVersion>,
}

impl SpaceView {
    pub async fn load(
        view: &DbSnapshot,
        flush: u64,
        space: Space,
        tag: u32,
    ) -> Result<Self, Error> {
        let read = Self::read(view, flush, space, tag).await;
        read.map_err(|error| error.of_structure(&space))
    }

    async fn read(view: &DbSnapshot, flush: u64, space: Space, tag: u32) -> Result<Self, Error> {
        let record = match store::get(view, key::of_space(key::SPACE, &space)).await? {
            Some(bytes) => SpaceRecord::read(&bytes)?,
            None => SpaceRecord::default(),
        };
        if record.is_gone() {
            // Of one that is being forgotten some rows are there, and without the others no sense.
            let gone = Self::forgotten(space, tag, flush);
            return Ok(Self { record, ..gone });
        }
        let deleted = bitmap(view, key::of_space(key::DELETED, &space)).await?;
        let cold = bitmap(view, key::of_space(key::COLD, &space)).await?;
        let table = Table::load(view, &space, record.dimensions as usize).await?;
        Ok(Self {
            space,
            tag,
            flush,
            record,
            deleted_bits: Arc::new(Bits::from(&deleted)),
            deleted: Arc::new(deleted),
            table: table.map(Arc::new),
            cold: Arc::new(cold),
            indexed: Arc::default(),
            recent: Recent::default(),
            totals: Arc::new(load_totals(view, &space).await?),
        })
    }

    /// A space of which nothing is left.
    pub fn forgotten(space: Space, tag: u32, flush: u64) -> Self {
        Self {
            space,
            tag,
            flush,
            record: SpaceRecord::of_gone(Stand::Forgotten),
            deleted: Arc::default(),
            deleted_bits: Arc::default(),
            table: None,
            cold: Arc::default(),
            indexed: Arc::default(),
            recent: Recent::default(),
            totals: Arc::default(),
        }
    }

    /// Whether a search could come upon an id.
    pub async fn finds(&self, db: &DbSnapshot, cache: &Cache, id: u32) -> Result<bool, Error> {
        let Some(table) = &self.table else {
            return Ok(!self.deleted_bits.contains(id));
        };
        let indexed = self.indexed.get_or_try_init(|| async {
            let mut ids = RoaringBitmap::new();
            for posting in &table.postings {
                let codes = posting::codes(db, self, cache, *posting).await?;
                ids.extend(codes.ids.iter().take(posting.count as usize));
            }
            Ok::<_, Error>(Bits::from(&ids))
        });
        Ok(indexed.await?.contains(id) && !self.deleted_bits.contains(id))
    }

    /// A view with the changes of a flush, to be made.
    pub fn successor(&self) -> Self {
        Self {
            indexed: Arc::default(),
            ..self.clone()
        }
    }

    pub fn dimensions(&self) -> usize {
        self.record.dimensions as usize
    }

    /// One damaged vector must not keep the others from answering, nor from being taken in.
    pub fn read_vector(&self, id: u32, bytes: &[u8]) -> Option<VectorRecord> {
        let fits = |record: VectorRecord| match record.vector.len() == self.dimensions() {
            true => Ok(record),
            false => Err(Error::corrupt("vector", "it has the wrong length")),
        };
        let read = VectorRecord::read(bytes).and_then(fits);
        let told = |error: &Error| tracing::warn!(id, %error, "a vector is left out: run verify");
        read.inspect_err(told).ok()
    }
}

async fn bitmap(view: &DbSnapshot, key: Vec<u8>) -> Result<RoaringBitmap, Error> {
    let bytes = store::get(view, key).await?;
    let read = bytes.map(|bytes| record::read_bitmap("bitmap", &bytes));
    Ok(read.transpose()?.unwrap_or_default())
}

/// What cannot be read counts for nothing: naming it is the audit's part, and the rest answers.
async fn load_totals(view: &DbSnapshot, space: &Space) -> Result<TotalsByVersion, Error> {
    let mut totals = TotalsByVersion::default();
    let mut rows = Rows::under(view, &key::of_space(key::VERSION, space)).await?;
    while let Some((_, bytes)) = rows.next().await? {
        if let Ok(version) = VersionRecord::read(&bytes) {
            totals.note(&version);
        }
    }
    Ok(totals)
}
