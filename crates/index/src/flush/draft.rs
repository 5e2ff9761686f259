//! One flush in the making: a batch for SlateDB, and the work it leaves for text.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{ChunkId, UnitName, VersionId};
use roaring::RoaringBitmap;
use slatedb::{DbSnapshot, WriteBatch};

use crate::Error;
use crate::delta::{Compaction, Pending, UnitWrite, VersionChanges};
use crate::error::Doing;
use crate::flush::Store;
use crate::flush::texts::{TextWork, Tokens, tokenize};
use crate::place::{IndexedChunk, Scope, Space};
use crate::slate::record::{
    Changed, ChunkRecord, Meta, SpaceRecord, Stand, UnitRecord, VectorRecord, VersionRecord,
};
use crate::slate::store::{self, FORMAT, Rows};
use crate::slate::{key, seal};
use crate::snapshot::Snapshot;
use crate::text::rebuild::words_of;
use crate::text::{Doc, words};
use crate::vector::SpaceView;
use crate::vector::edit::SpaceEdit;

pub struct Draft<'a> {
    store: &'a Store,
    base: &'a Snapshot,
    flush: u64,
    batch: WriteBatch,
    edits: BTreeMap<Space, SpaceEdit>,
    text: TextWork,
    compactions: BTreeMap<Space, Compaction>,
    /// About what the deletions in the batch weigh.
    taken_out: usize,
}

/// What a deletion takes beside its key.
const DELETION: usize = 100;

/// Chunks that were removed.
struct Erased {
    ids: Vec<u32>,
    /// `false` where a record cannot be read, and so does not say what else is to go.
    named: bool,
}

/// A unit's place while it is written.
#[derive(Clone, Copy)]
struct At<'a> {
    space: &'a Space,
    version: VersionId,
    number: u32,
    unit: &'a UnitName,
}

/// What a vector says it is of.
struct Said {
    place: ChunkId,
    whole: bool,
}

impl<'a> Draft<'a> {
    pub fn new(store: &'a Store, base: &'a Snapshot, flush: u64) -> Self {
        Self {
            store,
            base,
            flush,
            batch: WriteBatch::new(),
            edits: BTreeMap::new(),
            text: TextWork::default(),
            compactions: BTreeMap::new(),
            taken_out: 0,
        }
    }

    fn db(&self) -> &'a DbSnapshot {
        self.base.db()
    }

    pub async fn take(&mut self, delta: &Arc<Pending>) -> Result<(), Error> {
        let mut tokens = tokenize(Arc::clone(delta)).await?;
        // First: of these the batch may be written ahead, and of nothing else.
        for scope in &delta.forgotten {
            self.forget_scope(scope).await?;
        }
        for space in delta.spaces.keys() {
            self.go_on_forgetting(delta, space).await?;
        }
        for (space, compaction) in &delta.compactions {
            if !self.is_forgotten(delta, space).await? {
                self.edit(space).await?;
                self.compactions.insert(*space, compaction.clone());
            }
        }
        for space in &delta.rebuilds {
            if !self.is_forgotten(delta, space).await? {
                let flush = self.flush;
                self.edit(space).await?.view.record.text_flush = flush;
                self.text.rebuild.insert(*space);
            }
        }
        for (space, versions) in &delta.spaces {
            if self.is_forgotten(delta, space).await? {
                continue;
            }
            for (version, changes) in versions {
                let mine = tokens.remove(&(*space, *version)).unwrap_or_default();
                self.change_version(space, *version, changes, mine).await?;
            }
        }
        Ok(())
    }

    /// What is forgotten is not edited: the space would be written down again over the fact, as
    /// it was before this flush.
    async fn is_forgotten(&self, delta: &Pending, space: &Space) -> Result<bool, Error> {
        Ok(delta.forgets(space) || self.base.view(*space).await?.record.is_gone())
    }

    async fn edit(&mut self, space: &Space) -> Result<&mut SpaceEdit, Error> {
        if !self.edits.contains_key(space) {
            let view = self.base.view(*space).await?;
            self.edits.insert(*space, SpaceEdit::new(&view));
        }
        Ok(self.edits.get_mut(space).expect("just put there"))
    }

    async fn change_version(
        &mut self,
        space: &Space,
        version: VersionId,
        changes: &VersionChanges,
        mut tokens: BTreeMap<UnitName, Tokens>,
    ) -> Result<(), Error> {
        let key = key::of_version(key::VERSION, space, version);
        let stored = store::get(self.db(), &key).await?;
        // One that cannot be read is written anew.
        let stored = stored.and_then(|bytes| VersionRecord::read(&bytes).ok());
        let mut record = stored.unwrap_or_default();
        if changes.scour {
            let none = VersionRecord {
                number: record.number.take(),
                ..VersionRecord::default()
            };
            self.edit(space).await?.note_version(&none);
        }
        record.number = changes.number.or(record.number);
        record.state = changes.state.unwrap_or(record.state);
        if changes.erase {
            self.erase_version(space, version, changes.scour).await?;
            (record.chunks, record.words) = (0, 0);
        }
        for (unit, write) in &changes.units {
            let number = record
                .number
                .expect("a unit comes with its version's number");
            let at = At {
                space,
                version,
                number,
                unit,
            };
            if !changes.erase {
                self.erase_unit(at, &mut record).await?;
            }
            let tokens = tokens.remove(unit).unwrap_or_default();
            self.put_unit(at, write, tokens, &mut record).await?;
        }
        // Scoured it counts as nothing, though it comes back as it was.
        if changes.scour || stored != Some(record) {
            self.batch.put(key, record.write());
            self.edit(space).await?.note_version(&record);
        }
        Ok(())
    }

    async fn erase_unit(&mut self, at: At<'_>, totals: &mut VersionRecord) -> Result<(), Error> {
        let key = key::of_unit(key::UNIT, at.space, at.version, at.unit);
        let Some(bytes) = store::get(self.db(), key).await? else {
            return Ok(());
        };
        let chunks = key::of_unit(key::CHUNK, at.space, at.version, at.unit);
        let unit = UnitRecord::read(&bytes).ok();
        let (count, words) = match &unit {
            Some(unit) => (unit.chunks, unit.words),
            None => self.count(&chunks).await?,
        };
        totals.chunks = totals.chunks.saturating_sub(count);
        totals.words = totals.words.saturating_sub(words);
        let erased = self.erase_chunks(at.space, &chunks, unit.as_ref()).await?;
        if !self.delete_ids(at.space, erased).await? {
            let ours = |place: &ChunkId| place.version == at.version && place.unit == *at.unit;
            self.scour_vectors(at.space, |said| said.is_some_and(|said| ours(&said.place)))
                .await?;
        }
        self.note_text(at.space, at.version, Some(at.unit)).await
    }

    /// The chunks under a prefix and their words, where their unit does not say.
    async fn count(&self, prefix: &[u8]) -> Result<(u32, u64), Error> {
        let (mut chunks, mut words) = (0, 0);
        let mut rows = Rows::under(self.db(), prefix).await?;
        while let Some((_, bytes)) = rows.next().await? {
            chunks += 1;
            if let Ok(record) = ChunkRecord::read(&bytes) {
                words += words_of(&record.chunk, record.language.as_deref()).len() as u64;
            }
        }
        Ok((chunks, words))
    }

    async fn erase_version(
        &mut self,
        space: &Space,
        version: VersionId,
        scour: bool,
    ) -> Result<(), Error> {
        let prefix = key::of_version(key::UNIT, space, version);
        let mut units = Rows::under(self.db(), &prefix).await?;
        let mut named = !scour;
        while let Some((key, bytes)) = units.next().await? {
            if !scour {
                let mut chunks = key.to_vec();
                chunks[0] = key::CHUNK;
                let unit = UnitRecord::read(&bytes).ok();
                let erased = self.erase_chunks(space, &chunks, unit.as_ref()).await?;
                named &= self.delete_ids(space, erased).await?;
            }
            self.batch.delete(key);
        }
        if !named {
            self.scour(space, version).await?;
        }
        self.note_text(space, version, None).await
    }

    /// Removes the chunks under a prefix with their vectors.
    async fn erase_chunks(
        &mut self,
        space: &Space,
        prefix: &[u8],
        unit: Option<&UnitRecord>,
    ) -> Result<Erased, Error> {
        let mut erased = Erased {
            ids: Vec::new(),
            named: unit.is_some(),
        };
        let mut rows = Rows::under(self.db(), prefix).await?;
        while let Some((key, bytes)) = rows.next().await? {
            self.take_out(key);
            // What was changed may name another's vector.
            let read = seal::is_whole(&bytes).then(|| ChunkRecord::read_input(&bytes));
            let Some(Ok((id, input))) = read else {
                erased.named = false;
                continue;
            };
            self.take_out(key::numbered(key::VECTOR, space, id));
            if let Some(unit) = unit {
                let reuse = key::reuse(space, &unit.model, &input, id);
                self.take_out(reuse);
            }
            erased.ids.push(id);
        }
        Ok(erased)
    }

    /// The ids of what was erased are never valid again. Says whether that was all.
    async fn delete_ids(&mut self, space: &Space, erased: Erased) -> Result<bool, Error> {
        let edit = self.edit(space).await?;
        for id in erased.ids {
            edit.delete(id);
        }
        Ok(erased.named)
    }

    /// Removes every chunk of the version, every vector that says it is of it, and those that
    /// cannot say. No id in a chunk is believed: it may be that of another's vector.
    async fn scour(&mut self, space: &Space, version: VersionId) -> Result<(), Error> {
        let chunks = key::of_version(key::CHUNK, space, version);
        let mut rows = Rows::under(self.db(), &chunks).await?;
        while let Some((key, _)) = rows.next().await? {
            self.batch.delete(key);
        }
        // One that was changed may say anything.
        let ours = |said: &Said| !said.whole || said.place.version == version;
        self.scour_vectors(space, |said| said.is_none_or(ours))
            .await
    }

    /// Removes vectors by the place they name, if they do, and what would reuse them. Whoever has
    /// lost count of the ids given out has it again after this.
    async fn scour_vectors(
        &mut self,
        space: &Space,
        ours: impl Fn(Option<&Said>) -> bool,
    ) -> Result<(), Error> {
        tracing::warn!(%space, "every vector is looked at for those to erase");
        let mut others = RoaringBitmap::new();
        let mut rows = Rows::under(self.db(), &key::of_space(key::VECTOR, space)).await?;
        while let Some((key, bytes)) = rows.next().await? {
            let Some(id) = key::read_number(&key) else {
                continue;
            };
            let said = VectorRecord::read(&bytes).ok().map(|record| Said {
                place: record.place,
                whole: seal::is_whole(&bytes),
            });
            let next_id = &mut self.edit(space).await?.view.record.next_id;
            *next_id = id.saturating_add(1).max(*next_id);
            if ours(said.as_ref()) {
                self.batch.delete(key);
                self.edit(space).await?.delete(id);
            } else {
                others.insert(id);
            }
        }
        self.sweep_reuse(space, &others).await
    }

    /// Removes what points at any other vector of the space than these.
    async fn sweep_reuse(&mut self, space: &Space, kept: &RoaringBitmap) -> Result<(), Error> {
        let mut rows = Rows::under(self.db(), &key::reuse_in(space.tenant)).await?;
        while let Some((key, _)) = rows.next().await? {
            let points = key::read_reuse(&key);
            if points.is_some_and(|(of, id)| of == *space && !kept.contains(id)) {
                self.batch.delete(key);
            }
        }
        Ok(())
    }

    async fn put_unit(
        &mut self,
        at: At<'_>,
        write: &UnitWrite,
        tokens: Tokens,
        totals: &mut VersionRecord,
    ) -> Result<(), Error> {
        let count = u32::try_from(write.chunks.len()).expect("checked when it was accepted");
        let edit = self.edit(at.space).await?;
        let first_id = edit.allocate(count)?;
        let words: u64 = tokens.iter().map(|words| words.len() as u64).sum();
        let record = UnitRecord {
            fence: write.fence.0,
            first_id,
            chunks: count,
            words,
            model: write.model.clone(),
        };
        totals.chunks += count;
        totals.words += words;
        let key = key::of_unit(key::UNIT, at.space, at.version, at.unit);
        self.batch.put(key, record.write());
        for ((chunk, words), id) in write.chunks.iter().zip(tokens).zip(first_id..) {
            self.put_chunk(at, write, chunk, id).await?;
            self.text.docs(at.space).push(Doc {
                id,
                number: at.number,
                version: at.version,
                unit: at.unit.clone(),
                words,
            });
        }
        self.note_text(at.space, at.version, Some(at.unit)).await
    }

    async fn put_chunk(
        &mut self,
        at: At<'_>,
        write: &UnitWrite,
        chunk: &IndexedChunk,
        id: u32,
    ) -> Result<(), Error> {
        let ordinal = chunk.chunk.ordinal;
        let record = ChunkRecord {
            id,
            input_hash: chunk.input_hash,
            language: chunk.language.clone(),
            chunk: chunk.chunk.clone(),
        };
        let place = ChunkId {
            version: at.version,
            unit: at.unit.clone(),
            ordinal,
        };
        let key = key::chunk(at.space, at.version, at.unit, ordinal);
        self.batch.put(key, record.write());
        let vector = VectorRecord::write(at.number, &place, &chunk.vector);
        self.batch
            .put(key::numbered(key::VECTOR, at.space, id), vector);
        let reuse = key::reuse(at.space, &write.model, &chunk.input_hash, id);
        self.batch.put(reuse, key::reused(chunk.reused));
        let edit = self.edit(at.space).await?;
        edit.add(id, at.number, &chunk.vector);
        edit.note_language(words::rules_of(chunk.language.as_deref()));
        Ok(())
    }

    async fn note_text(
        &mut self,
        space: &Space,
        version: VersionId,
        unit: Option<&UnitName>,
    ) -> Result<(), Error> {
        let since = self.base.view(*space).await?.record.text_flush;
        let flush = self.flush;
        self.edit(space).await?.view.record.text_flush = flush;
        self.text.redo.changed.push(Changed {
            space: *space,
            since,
            version,
            unit: unit.cloned(),
        });
        Ok(())
    }

    async fn forget_scope(&mut self, scope: &Scope) -> Result<(), Error> {
        let mut spaces = Rows::under(self.db(), &key::of_scope(key::SPACE, scope)).await?;
        let mut found = Vec::new();
        while let Some((key, _)) = spaces.next().await? {
            found.extend(key::read_space(&key[1..]));
        }
        if let Scope::Generation(space) = scope
            && !found.contains(space)
        {
            found.push(*space);
        }
        for space in found {
            self.forget_space(&space).await?;
        }
        Ok(())
    }

    /// Whoever removes anything from a space whose forgetting was cut off is told that it is gone
    /// once all of it is.
    async fn go_on_forgetting(&mut self, delta: &Pending, space: &Space) -> Result<(), Error> {
        if delta.forgets(space) || !self.is_being_forgotten(space).await? {
            return Ok(());
        }
        self.forget_space(space).await
    }

    /// Asks for nothing else of the space: whatever cannot be read there, it can be forgotten.
    async fn is_being_forgotten(&self, space: &Space) -> Result<bool, Error> {
        let bytes = store::get(self.db(), key::of_space(key::SPACE, space)).await?;
        let record = bytes.and_then(|bytes| SpaceRecord::read(&bytes).ok());
        Ok(record.is_some_and(|record| record.stand == Stand::BeingForgotten))
    }

    async fn forget_space(&mut self, space: &Space) -> Result<(), Error> {
        // With the first part, so that nobody takes what the others leave for all there was.
        self.put_stand(space, Stand::BeingForgotten);
        let mut units = Rows::under(self.db(), &key::of_space(key::UNIT, space)).await?;
        // What was taken away before a cut may have been a chunk that did not say all.
        let mut named = !self.is_being_forgotten(space).await?;
        while let Some((key, bytes)) = units.next().await? {
            let mut chunks = key.to_vec();
            chunks[0] = key::CHUNK;
            let unit = UnitRecord::read(&bytes).ok();
            // What else is known of their ids goes too.
            named &= self
                .erase_chunks(space, &chunks, unit.as_ref())
                .await?
                .named;
            self.write_ahead().await?;
        }
        if !named {
            self.forget_reuse(space).await?;
        }
        self.edits.remove(space);
        for kind in key::OF_SPACE {
            let mut rows = Rows::under(self.db(), &key::of_space(kind, space)).await?;
            while let Some((key, _)) = rows.next().await? {
                self.take_out(key);
                self.write_ahead().await?;
            }
        }
        self.text.redo.removed.push(*space);
        Ok(())
    }

    /// Removes what points at any vector of the space.
    async fn forget_reuse(&mut self, space: &Space) -> Result<(), Error> {
        let mut rows = Rows::under(self.db(), &key::reuse_in(space.tenant)).await?;
        while let Some((key, _)) = rows.next().await? {
            if key::read_reuse(&key).is_some_and(|(of, _)| of == *space) {
                self.take_out(key);
                self.write_ahead().await?;
            }
        }
        Ok(())
    }

    fn put_stand(&mut self, space: &Space, stand: Stand) {
        let record = SpaceRecord::of_gone(stand).write();
        self.batch.put(key::of_space(key::SPACE, space), record);
    }

    fn take_out(&mut self, key: impl AsRef<[u8]>) {
        self.taken_out += key.as_ref().len() + DELETION;
        self.batch.delete(key);
    }

    /// Brings what was gathered to the store once it is much: all that a space holds may be more
    /// than fits into memory. Each part says that the space is being forgotten, and only the flush
    /// itself that it is, so whoever is cut off in between is told to forget it again.
    async fn write_ahead(&mut self) -> Result<(), Error> {
        if self.taken_out < self.store.settings.unflushed_bytes / 4 {
            return Ok(());
        }
        self.taken_out = 0;
        let batch = std::mem::take(&mut self.batch);
        let db = &self.store.db;
        #[expect(clippy::disallowed_methods, reason = "this is a part of the flush")]
        let written = durable::effect("index.forget", async {
            db.write(batch).await?;
            db.flush().await
        });
        written.await.doing("forget a space")
    }

    /// Closes the batch: spaces, head, redo record; `done` redo records go.
    pub async fn finish(
        mut self,
        done: &[u64],
    ) -> Result<(WriteBatch, Vec<Arc<SpaceView>>, TextWork), Error> {
        let mut views = Vec::new();
        for (space, edit) in std::mem::take(&mut self.edits) {
            let reading = (self.base.db(), self.store);
            let compaction = self.compactions.get(&space);
            let view = edit.finish(self.flush, reading, compaction, &mut self.batch);
            views.push(Arc::new(view.await?));
        }
        for space in self.text.redo.removed.clone() {
            self.put_stand(&space, Stand::Forgotten);
            let tag = self.store.tag(space);
            views.push(Arc::new(SpaceView::forgotten(space, tag, self.flush)));
        }
        let meta = Meta {
            format: FORMAT,
            flush: self.flush,
        };
        self.batch.put(key::META, meta.write());
        self.text.redo.changed.sort();
        self.text.redo.changed.dedup();
        if !self.text.redo.is_empty() {
            self.batch
                .put(key::redo(self.flush), self.text.redo.write());
        }
        for flush in done {
            self.batch.delete(key::redo(*flush));
        }
        Ok((self.batch, views, self.text))
    }
}
