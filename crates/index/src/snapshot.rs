//! A consistent view: vectors, chunk text and text index at one flush.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use model::{ChunkId, ContentHash, ModelName, TenantId, UnitName, VersionId};
use roaring::RoaringBitmap;
use slatedb::DbSnapshot;
use tantivy::Searcher;

use crate::Error;
use crate::audit::SpaceAudit;
use crate::flush::Store;
use crate::place::{Burden, Flush, Passage, Residue, Scored, Space, StoredChunk, UnitPlace};
use crate::slate::record::{ChunkRecord, State, VectorRecord, VersionRecord};
use crate::slate::store::{self, Rows};
use crate::slate::{key, seal};
use crate::text::reading::reading;
use crate::text::search::Statistics;
use crate::text::{Texts, words};
use crate::vector::bits::Bits;
use crate::vector::{SpaceView, search};
use crate::views::Views;

/// Cheap to clone. It stays as it is, whatever is written after it.
#[derive(Clone)]
pub struct Snapshot(Arc<Inner>);

struct Inner {
    store: Arc<Store>,
    flush: u64,
    db: Arc<DbSnapshot>,
    views: Mutex<Views>,
    texts: Arc<Texts>,
}

impl Snapshot {
    pub(crate) fn new(store: Arc<Store>, flush: u64, db: Arc<DbSnapshot>) -> Self {
        let texts = Arc::default();
        store.shelf.enlist(&texts);
        Self(Arc::new(Inner {
            store,
            flush,
            db,
            views: Mutex::default(),
            texts,
        }))
    }

    /// The snapshot after a flush: what it changed, and the rest as it was.
    pub(crate) async fn next(
        &self,
        flush: u64,
        db: Arc<DbSnapshot>,
        changed: Vec<Arc<SpaceView>>,
    ) -> Self {
        let store = &self.0.store;
        let next = Self::new(Arc::clone(store), flush, db);
        // Only now, as the next is already given what is opened from here on: nothing is missed.
        store.shelf.carry(&next.0.texts).await;
        let mut views = lock(&self.0.views).clone();
        for view in changed {
            views.add(view);
        }
        *lock(&next.0.views) = views;
        next
    }

    pub fn flush(&self) -> Flush {
        Flush(self.0.flush)
    }

    pub(crate) fn db(&self) -> &DbSnapshot {
        &self.0.db
    }

    /// What is held in memory of a space, loaded when first asked for.
    pub(crate) async fn view(&self, space: Space) -> Result<Arc<SpaceView>, Error> {
        if let Some(view) = lock(&self.0.views).get(&space) {
            return Ok(view);
        }
        let tag = self.0.store.tag(space);
        let loaded = SpaceView::load(&self.0.db, self.0.flush, space, tag).await;
        let view = Arc::new(self.0.store.told(loaded)?);
        lock(&self.0.views).add(Arc::clone(&view));
        Ok(view)
    }

    /// The best `top` live chunks by inner product with `query`.
    pub async fn search_vector(
        &self,
        space: Space,
        query: &[f32],
        live: &RoaringBitmap,
        top: usize,
    ) -> Result<Vec<Scored>, Error> {
        let view = self.view(space).await?;
        let store = &self.0.store;
        store.told(search::search(&self.0.db, &view, store, query, live, top).await)
    }

    /// The best `top` live chunks by the words of `query`.
    pub async fn search_text(
        &self,
        space: Space,
        query: &str,
        live: &RoaringBitmap,
        top: usize,
    ) -> Result<Vec<Scored>, Error> {
        let view = self.view(space).await?;
        let asked = words::of_query(&view.record.languages, query);
        if asked.is_empty() || top == 0 {
            return Ok(Vec::new());
        }
        let Some(searcher) = self.searcher(space).await? else {
            return Ok(Vec::new());
        };
        let statistics = statistics(&view, live);
        let live = Bits::from(live);
        let found =
            reading(move || crate::text::search::search(&searcher, &asked, &live, statistics, top));
        let mut scored = Vec::new();
        for hit in found.await? {
            let Some(vector) = self.vector(&view, hit.id).await? else {
                // One damaged chunk must not keep the others from answering.
                tracing::warn!(%space, id = hit.id, "a text entry has no chunk: run verify");
                continue;
            };
            scored.push(Scored {
                id: vector.place.clone(),
                number: hit.number,
                score: hit.score,
            });
        }
        scored.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        scored.truncate(top);
        Ok(scored)
    }

    /// The space's text index, if it ever had text.
    pub(crate) async fn searcher(&self, space: Space) -> Result<Option<Searcher>, Error> {
        let view = self.view(space).await?;
        if view.record.text_flush == 0 {
            return Ok(None);
        }
        let known = lock(&self.0.texts).get(&space).cloned();
        if known.is_some() {
            return Ok(known);
        }
        // Opening hands its searcher to every snapshot that lacks it, this one included; while
        // the book is held, none gives it away.
        let store = &self.0.store;
        let _held = store.told(store.shelf.book(&store.db, space).await)?;
        let searcher = lock(&self.0.texts).get(&space).cloned();
        let missing = || Error::corrupt("text index", "it was opened and not handed out");
        searcher.map(Some).ok_or_else(missing)
    }

    pub(crate) fn text_folder(&self, space: Space) -> PathBuf {
        self.0.store.shelf.folder(&space)
    }

    /// Whether somebody has laid hands on the files of a space's text that nobody has opened yet.
    pub(crate) async fn text_was_spoilt(&self, space: Space) -> Result<bool, Error> {
        if lock(&self.0.texts).contains_key(&space) {
            return Ok(false);
        }
        let store = &self.0.store;
        store.shelf.was_spoilt(&store.db, space).await
    }

    /// Whether the text of a space went since, and its files with it.
    pub(crate) async fn text_has_gone(&self, space: Space) -> Result<bool, Error> {
        let store = &self.0.store;
        store.shelf.has_forgotten(&store.db, space).await
    }

    async fn get(&self, key: Vec<u8>) -> Result<Option<Bytes>, Error> {
        self.0.store.told(store::get(&self.0.db, key).await)
    }

    async fn vector(&self, view: &SpaceView, id: u32) -> Result<Option<Arc<VectorRecord>>, Error> {
        let store = &self.0.store;
        store.told(search::vector(&self.0.db, view, &store.cache, id).await)
    }

    /// A chunk by its place. How it is found is not asked: that costs what the whole space holds
    /// after every flush, and whoever asks has found it.
    pub async fn passage(&self, space: Space, id: &ChunkId) -> Result<Option<Passage>, Error> {
        let key = key::chunk(&space, id.version, &id.unit, id.ordinal);
        let Some(bytes) = self.get(key).await? else {
            return Ok(None);
        };
        Ok(Some(Passage {
            id: id.clone(),
            number: self.number(space, id.version).await?,
            chunk: ChunkRecord::read(&bytes)?.chunk,
        }))
    }

    /// Every chunk of a version, by unit and ordinal, as both stores really have it.
    pub async fn chunks_of(
        &self,
        space: Space,
        version: VersionId,
    ) -> Result<Vec<StoredChunk>, Error> {
        let prefix = key::of_version(key::CHUNK, &space, version);
        self.chunks_under(space, version, &prefix).await
    }

    /// Those of one unit, by ordinal.
    pub async fn chunks_of_unit(
        &self,
        space: Space,
        version: VersionId,
        unit: &UnitName,
    ) -> Result<Vec<StoredChunk>, Error> {
        let prefix = key::of_unit(key::CHUNK, &space, version, unit);
        self.chunks_under(space, version, &prefix).await
    }

    async fn chunks_under(
        &self,
        space: Space,
        version: VersionId,
        prefix: &[u8],
    ) -> Result<Vec<StoredChunk>, Error> {
        let number = self.number(space, version).await?;
        let texts = self.text_ids(space, version).await?;
        let mut chunks = Vec::new();
        for (unit, ordinal, record) in self.records_under(prefix).await? {
            let id = ChunkId {
                version,
                unit,
                ordinal,
            };
            chunks.push(self.stored(space, id, number, record, &texts).await?);
        }
        Ok(chunks)
    }

    /// Unit, ordinal and text hash of every chunk of a version: what its root hash is over. How
    /// they are found is not asked, which costs what the whole space holds after every flush.
    pub async fn texts_of(
        &self,
        space: Space,
        version: VersionId,
    ) -> Result<Vec<(UnitName, u32, ContentHash)>, Error> {
        let prefix = key::of_version(key::CHUNK, &space, version);
        let records = self.records_under(&prefix).await?.into_iter();
        Ok(records
            .map(|(unit, ordinal, record)| (unit, ordinal, record.chunk.text_hash()))
            .collect())
    }

    async fn records_under(
        &self,
        prefix: &[u8],
    ) -> Result<Vec<(UnitName, u32, ChunkRecord)>, Error> {
        let store = &self.0.store;
        let mut rows = store.told(Rows::under(&self.0.db, prefix).await)?;
        let mut records = Vec::new();
        while let Some((key, bytes)) = store.told(rows.next().await)? {
            let place = key::read_unit(&key).zip(key::read_number(&key));
            let (unit, ordinal) =
                place.ok_or_else(|| Error::corrupt("chunk", "its key has no place"))?;
            records.push((unit, ordinal, ChunkRecord::read(&bytes)?));
        }
        Ok(records)
    }

    async fn stored(
        &self,
        space: Space,
        id: ChunkId,
        number: u32,
        record: ChunkRecord,
        texts: &BTreeSet<u32>,
    ) -> Result<StoredChunk, Error> {
        let view = self.view(space).await?;
        let vector = self.vector(&view, record.id).await?;
        let found = vector.is_some_and(|v| v.place == id && v.number == number);
        Ok(StoredChunk {
            has_vector: found
                && view
                    .finds(&self.0.db, &self.0.store.cache, record.id)
                    .await?,
            has_text: texts.contains(&record.id),
            id,
            number,
            chunk: record.chunk,
        })
    }

    async fn number(&self, space: Space, version: VersionId) -> Result<u32, Error> {
        let number = self.number_of(space, version).await?;
        Ok(number.unwrap_or(u32::MAX))
    }

    /// The number a version has in the index, if it says one.
    pub async fn number_of(&self, space: Space, version: VersionId) -> Result<Option<u32>, Error> {
        let key = key::of_version(key::VERSION, &space, version);
        let bytes = self.get(key).await?;
        let record = bytes.and_then(|bytes| VersionRecord::read(&bytes).ok());
        Ok(record.and_then(|record| record.number))
    }

    async fn text_ids(&self, space: Space, version: VersionId) -> Result<BTreeSet<u32>, Error> {
        let Some(searcher) = self.searcher(space).await? else {
            return Ok(BTreeSet::new());
        };
        let ids = reading(move || crate::text::search::ids_of(&searcher, version));
        Ok(ids.await?.into_iter().collect())
    }

    /// Every version something is held of, with its number (`u32::MAX` if it was
    /// sealed without a unit).
    pub async fn versions(&self) -> Result<Vec<(Space, VersionId, u32)>, Error> {
        let store = &self.0.store;
        let mut versions = Vec::new();
        let mut rows = store.told(Rows::under(&self.0.db, &[key::VERSION]).await)?;
        while let Some((key, bytes)) = store.told(rows.next().await)? {
            // What cannot be read is for the audit to name.
            let (Ok(record), Some((space, version))) =
                (VersionRecord::read(&bytes), key::read_version(&key))
            else {
                continue;
            };
            if record.state != State::Forgotten {
                versions.push((space, version, record.number.unwrap_or(u32::MAX)));
            }
        }
        Ok(versions)
    }

    /// Spaces that have postings, which a compaction can relieve.
    pub async fn posted_spaces(&self) -> Result<BTreeSet<Space>, Error> {
        let mut spaces = BTreeSet::new();
        let found = self.spaces_under(key::COUNT, &mut spaces).await;
        self.0.store.told(found).map(|()| spaces)
    }

    /// What searches among these versions come upon.
    pub async fn burden(&self, space: Space, live: &RoaringBitmap) -> Result<Burden, Error> {
        let view = self.view(space).await?;
        let mut burden = Burden::default();
        let mut kept = 0;
        for (number, totals) in view.totals.iter() {
            kept += u64::from(totals.chunks);
            if live.contains(number) {
                burden.live += u64::from(totals.chunks);
            } else if !view.cold.contains(number) {
                burden.idle += u64::from(totals.chunks);
            }
        }
        let postings = view.table.iter().flat_map(|table| &table.postings);
        let entries: u64 = postings.map(|posting| u64::from(posting.count)).sum();
        burden.idle += entries.saturating_sub(kept);
        Ok(burden)
    }

    /// Every space anything is held of.
    pub async fn spaces(&self) -> Result<BTreeSet<Space>, Error> {
        let mut spaces = BTreeSet::new();
        for kind in [key::SPACE, key::VERSION, key::CHUNK, key::VECTOR] {
            let found = self.spaces_under(kind, &mut spaces).await;
            self.0.store.told(found)?;
        }
        Ok(spaces)
    }

    async fn spaces_under(&self, kind: u8, spaces: &mut BTreeSet<Space>) -> Result<(), Error> {
        let mut from: Vec<u8> = Vec::new();
        loop {
            let mut rows = Rows::within(&self.0.db, &[kind], from.clone()..).await?;
            let Some((key, _)) = rows.next().await? else {
                return Ok(());
            };
            let space = key::read_space(&key[1..])
                .ok_or_else(|| Error::corrupt("space", "its key has no id"))?;
            spaces.insert(space);
            // Everything of this space sorts before its id with one byte more than any has.
            from = [&key::of_space(kind, &space)[1..], &[0xff; 300]].concat();
        }
    }

    /// Reads a space record by record, to find what is wrong with it. Refused if the space was
    /// forgotten since: its text is read from files, and they went with it. So it is of one that
    /// is being forgotten.
    pub async fn audit(&self, space: Space) -> Result<SpaceAudit, Error> {
        SpaceAudit::begin(self.clone(), space).await
    }

    /// What is left of a version, found by scanning.
    pub async fn residue(&self, space: Space, version: VersionId) -> Result<Residue, Error> {
        let mut residue = Residue {
            vectors: crate::audit::vectors_of(self, space, version).await?,
            text_entries: self.text_ids(space, version).await?.len() as u64,
            ..Residue::default()
        };
        for kind in [key::UNIT, key::CHUNK] {
            let prefix = key::of_version(kind, &space, version);
            let mut rows = Rows::under(&self.0.db, &prefix).await?;
            while rows.next().await?.is_some() {
                residue.records += 1;
            }
        }
        Ok(residue)
    }

    /// A view read from the store itself, whatever is kept in memory.
    pub(crate) async fn fresh_view(&self, space: Space) -> Result<SpaceView, Error> {
        let tag = self.0.store.tag(space);
        SpaceView::load(&self.0.db, self.0.flush, space, tag).await
    }

    /// Whether a search could come upon an id.
    pub(crate) async fn finds(&self, view: &SpaceView, id: u32) -> Result<bool, Error> {
        view.finds(&self.0.db, &self.0.store.cache, id).await
    }

    /// Which chunks of a unit had vectors that were known before it came, if it has been written
    /// with exactly these inputs.
    pub(crate) async fn reused(
        &self,
        place: &UnitPlace,
        model: &ModelName,
        inputs: &[model::ContentHash],
    ) -> Result<Option<Vec<bool>>, Error> {
        let (space, db) = (&place.space, &self.0.db);
        let prefix = key::of_unit(key::CHUNK, space, place.version, &place.unit);
        let mut rows = Rows::under(db, &prefix).await?;
        let mut reused = Vec::with_capacity(inputs.len());
        while let Some((_, bytes)) = rows.next().await? {
            let stored = ChunkRecord::read_input(&bytes).ok();
            let expected = inputs.get(reused.len());
            let Some((id, input)) = stored.filter(|(_, input)| Some(input) == expected) else {
                return Ok(None);
            };
            let value = store::get(db, key::reuse(space, model, &input, id)).await?;
            reused.push(value.is_some_and(|value| *value == *key::reused(true)));
        }
        Ok((reused.len() == inputs.len()).then_some(reused))
    }

    /// A vector made earlier from the same input, in any space of the tenant.
    pub(crate) async fn embedding(
        &self,
        tenant: TenantId,
        model: &ModelName,
        input: &model::ContentHash,
    ) -> Result<Option<Vec<f32>>, Error> {
        let prefix = key::reuse_of(tenant, model, input);
        let mut rows = Rows::under(&self.0.db, &prefix).await?;
        while let Some((key, _)) = rows.next().await? {
            let (space, id) = key::read_reuse(&key)
                .ok_or_else(|| Error::corrupt("reuse entry", "its key has no vector"))?;
            let bytes = store::get(&self.0.db, key::numbered(key::VECTOR, &space, id)).await?;
            // Damage must not spread: only a whole vector is used again.
            if let Some(bytes) = bytes.filter(|bytes| seal::is_whole(bytes))
                && let Ok(record) = VectorRecord::read(&bytes)
            {
                return Ok(Some(record.vector.to_vec()));
            }
        }
        Ok(None)
    }
}

fn statistics(view: &SpaceView, live: &RoaringBitmap) -> Statistics {
    let none = Statistics {
        chunks: 0,
        words: 0,
    };
    view.totals
        .among(live)
        .fold(none, |sum, totals| Statistics {
            chunks: sum.chunks + u64::from(totals.chunks),
            words: sum.words + totals.words,
        })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics while it is locked")
}

#[cfg(test)]
impl Snapshot {
    /// Structures and text indexes of spaces.
    pub(crate) fn held(&self) -> (usize, usize) {
        (lock(&self.0.views).len(), lock(&self.0.texts).len())
    }
}
