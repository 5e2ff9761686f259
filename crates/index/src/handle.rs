//! The handle everybody holds.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use coordinator::{Coordinator, Epoch, Start};
use durable::reading::guarded_future;
use model::{ContentHash, ModelName, TenantId, VersionId};
use object_store::ObjectStore;
use roaring::RoaringBitmap;
use slatedb::DbSnapshot;

use crate::delta::{Compaction, Op, Pending, UnitWrite};
use crate::erase::{self, Files};
use crate::error::Doing;
use crate::flush::{Handler, Store, owe_nothing};
use crate::guard::{Hold, SpaceGuard, VersionGuard};
use crate::place::{CompactReport, Fence, Flush, Gone, IndexedChunk, Scope, Space, UnitPlace};
use crate::receipt::Receipt;
use crate::slate::key;
use crate::slate::record::{SpaceRecord, UnitRecord, VersionRecord};
use crate::slate::store::{self, Rows};
use crate::snapshot::Snapshot;
use crate::text::Shelf;
use crate::{Error, Settings};

/// A cheap handle to an open index.
#[derive(Clone)]
pub struct Index {
    writes: Coordinator<Handler>,
    pub(crate) store: Arc<Store>,
}

impl Index {
    /// Opens the index in an object store and a folder for its text, which
    /// nobody else may have open. Text is caught up with what the store holds.
    pub async fn open(
        settings: Settings,
        objects: Arc<dyn ObjectStore>,
        text_folder: PathBuf,
    ) -> Result<Self, Error> {
        let opened = guarded_future(Self::open_here(settings, objects, text_folder)).await;
        let opened = opened.unwrap_or_else(|why| Err(Error::Damaged { why }));
        opened.map_err(Error::at_opening)
    }

    async fn open_here(
        settings: Settings,
        objects: Arc<dyn ObjectStore>,
        text_folder: PathBuf,
    ) -> Result<Self, Error> {
        let files = Files::new(Arc::clone(&objects));
        let db = store::open(&settings, objects).await?;
        let shelf = Shelf::open(text_folder, settings.open_texts, &db).await?;
        let store = Arc::new(Store::new(db, files, settings, shelf));
        let (handler, snapshot) = Handler::open(Arc::clone(&store)).await?;
        let delta = Pending::new(Arc::clone(&store.guards));
        let start = Start {
            epoch: Epoch(snapshot.flush().0),
            snapshot,
        };
        let writes = Coordinator::start(settings.writes, start, delta, handler);
        Ok(Self { writes, store })
    }

    /// Replaces all chunks of one unit.
    ///
    /// Refused, with nothing changed, when a newer fence was shown for the unit,
    /// and when the version is sealed or forgotten.
    pub async fn replace_unit(
        &self,
        place: UnitPlace,
        fence: Fence,
        model: &ModelName,
        mut chunks: Vec<IndexedChunk>,
    ) -> Result<Receipt, Error> {
        check(&place, &chunks)?;
        // Ids are given out in this order, and tell it where the text has nothing else to.
        chunks.sort_by_key(|chunk| chunk.chunk.ordinal);
        let _hold = self.hold(place.space, place.version).await?;
        let write = UnitWrite {
            fence,
            model: model.clone(),
            chunks,
        };
        let bytes = weigh(&write);
        self.write(Op::Replace {
            place,
            write,
            bytes,
        })
        .await
    }

    /// From here on `replace_unit` of this version is refused.
    pub async fn seal(&self, space: Space, version: VersionId) -> Result<Receipt, Error> {
        let _hold = self.hold(space, version).await?;
        self.write(Op::Seal(space, version)).await
    }

    /// Whether `replace_unit` of this version is refused because of its seal.
    pub async fn is_sealed(&self, space: Space, version: VersionId) -> Result<bool, Error> {
        let _hold = self.hold(space, version).await?;
        Ok(self.store.guards.is_sealed(space, version))
    }

    /// Lets a sealed or forgotten version be written again, as its run begins again with this
    /// unit. Refused, as its write would be, when a newer fence was shown for the unit.
    pub async fn reopen(&self, place: &UnitPlace, fence: Fence) -> Result<Receipt, Error> {
        let _hold = self.hold(place.space, place.version).await?;
        self.write(Op::Reopen(place.clone(), fence)).await
    }

    /// Removes all of a version; whoever still writes it is refused.
    pub async fn forget(&self, space: Space, version: VersionId) -> Result<Receipt, Error> {
        let _hold = self.hold(space, version).await?;
        self.write(Op::Forget(space, version)).await
    }

    /// Removes all of a version, trusting none of its records, so that it can be written
    /// anew; for repair.
    pub async fn scour(&self, space: Space, version: VersionId) -> Result<Receipt, Error> {
        let _hold = self.hold(space, version).await?;
        self.write(Op::Scour(space, version)).await
    }

    /// Makes the text index of a space anew from the store. Refused if the space is forgotten.
    pub async fn rebuild_text(&self, space: Space) -> Result<Receipt, Error> {
        self.write(Op::RebuildText(space)).await
    }

    /// Removes a knowledge base or one generation of it, and refuses what is still written there.
    pub async fn forget_space(&self, scope: Scope) -> Result<Receipt, Error> {
        self.write(Op::ForgetAll(scope)).await
    }

    /// Whether all of a generation was removed.
    pub async fn has_forgotten(&self, space: Space) -> Result<bool, Error> {
        let Store { shelf, db, .. } = &*self.store;
        self.store.told(shelf.has_forgotten(db, space).await)
    }

    /// Embeddings to reuse, keyed by tenant, model and exact input.
    pub async fn embeddings(
        &self,
        tenant: TenantId,
        model: &ModelName,
        inputs: &[ContentHash],
    ) -> Result<Vec<Option<Vec<f32>>>, Error> {
        let snapshot = self.writes.snapshot().view;
        let mut found = Vec::with_capacity(inputs.len());
        for input in inputs {
            let one = snapshot.embedding(tenant, model, input).await;
            found.push(self.store.told(one)?);
        }
        Ok(found)
    }

    /// For each chunk of a unit whether its vector was known before the unit came, if it has been
    /// written with exactly these inputs: somebody brings it again who did not learn of that.
    pub async fn reused(
        &self,
        place: &UnitPlace,
        model: &ModelName,
        inputs: &[ContentHash],
    ) -> Result<Option<Vec<bool>>, Error> {
        let snapshot = self.writes.snapshot().view;
        self.store.told(snapshot.reused(place, model, inputs).await)
    }

    /// A view at least as new as a flush. Every flush that is known of was told by a receipt of
    /// this index, so one that nothing was accepted for yet is of another, or of this one before
    /// it was set back: waiting for it would be waiting for others to write.
    pub async fn snapshot(&self, at_least: Flush) -> Result<Snapshot, Error> {
        let accepted = self.writes.watermarks().accepted.0;
        if at_least.0 > accepted {
            return Err(Error::Behind {
                wanted: at_least.0,
                at: accepted,
            });
        }
        let snapshot = self.writes.snapshot_at_least(Epoch(at_least.0)).await?;
        Ok(snapshot.view)
    }

    /// Moves what is not live off the hot path and reclaims what is forgotten.
    pub async fn compact(
        &self,
        space: Space,
        live: &RoaringBitmap,
    ) -> Result<CompactReport, Error> {
        let report = Arc::new(OnceLock::new());
        let compaction = Compaction {
            live: Arc::new(live.clone()),
            reports: vec![Arc::clone(&report)],
        };
        self.prepare(space).await?;
        match self.write(Op::Compact(space, compaction)).await {
            Ok(receipt) => receipt.durable().await.map(drop)?,
            // Nothing of it is left once what has forgotten it is durable.
            Err(Error::ForgottenSpace) => self.writes.sync().await.map(drop)?,
            Err(error) => return Err(error),
        }
        self.reclaim_text(space).await?;
        Ok(report.get().copied().unwrap_or_default())
    }

    /// Returns when no file holds anything of these versions, which were forgotten before their
    /// spaces were last compacted:
    /// neither the store's tables nor its log, nor the text index. Says how many files the store
    /// has, each of which was read.
    pub async fn erase(&self, gone: &[Gone]) -> Result<u64, Error> {
        let since = self.writes.snapshot().view.db().seq();
        for space in gone.iter().map(|one| one.space).collect::<BTreeSet<_>>() {
            self.reclaim_text(space).await?;
        }
        self.store
            .told(erase::erase(&self.store, gone, since).await)
    }

    /// Gives back the disk that forgotten versions take, if they were many beside what is kept,
    /// and says whether they were. Nothing needs it to be gone: see [`Index::erase`].
    pub async fn shed(&self) -> Result<bool, Error> {
        let since = self.writes.snapshot().view.db().seq();
        self.store.told(erase::shed(&self.store, since).await)
    }

    async fn reclaim_text(&self, space: Space) -> Result<(), Error> {
        let view = self.writes.snapshot().view.view(space).await?;
        if view.record.text_flush == 0 {
            return Ok(());
        }
        let Store { shelf, db, .. } = &*self.store;
        match self.store.told(shelf.reclaim(db, space).await) {
            // Made again from the store it has nothing in it that was forgotten. A flush does that:
            // it alone knows that nobody writes there.
            Err(error) if error.is_of_spoilt_text() => {
                tracing::warn!(%space, %error, "a text index is made again");
                match self.rebuild_text(space).await {
                    // It went while it was looked at.
                    Err(Error::ForgottenSpace) => Ok(()),
                    asked => asked?.durable().await.map(drop),
                }
            }
            reclaimed => reclaimed,
        }
    }

    /// How writes and flushes fare.
    pub fn metrics(&self) -> coordinator::Metrics {
        self.writes.metrics()
    }

    /// Whether a flush has failed for good: nothing is written until it is opened anew.
    pub fn has_stopped(&self) -> bool {
        self.writes.metrics().state == coordinator::State::Failed
    }

    /// Brings everything accepted to both stores, then closes them.
    pub async fn close(self) -> Result<(), Error> {
        let mut drained = self.writes.shutdown().await.map_err(Error::from);
        self.store.shelf.close_all().await;
        if drained.is_ok() {
            drained = owe_nothing(&self.store.db, &self.store.shelf).await;
        }
        let closed = self.store.db.close().await.doing("close the database");
        drained?;
        closed
    }

    async fn write(&self, op: Op) -> Result<Receipt, Error> {
        Ok(Receipt::new(self.writes.write(op).await?))
    }

    /// What a flush would fail of, or wait for, and with it whatever else is written, is met here:
    /// a structure that cannot be read, and a text that has to be made again.
    async fn prepare(&self, space: Space) -> Result<(), Error> {
        let view = self.writes.snapshot().view.view(space).await?;
        if view.record.text_flush == 0 {
            return Ok(());
        }
        let Store { shelf, db, .. } = &*self.store;
        self.store.told(shelf.prepare(db, space).await)
    }

    /// Makes known what the store says of a version, and keeps it known.
    async fn hold(&self, space: Space, version: VersionId) -> Result<Hold, Error> {
        loop {
            let round = match self.store.guards.hold(space, version) {
                Ok(hold) => return Ok(hold),
                Err(round) => round,
            };
            let read = async {
                self.prepare(space).await?;
                let view = self.store.db.snapshot().doing("take a snapshot")?;
                let space_guard = read_space(&view, space).await?;
                Ok((space_guard, read_version(&view, space, version).await?))
            };
            let read = self.store.told(read.await)?;
            self.store.guards.learn(round, (space, version), read);
        }
    }
}

async fn read_space(view: &DbSnapshot, space: Space) -> Result<SpaceGuard, Error> {
    let bytes = store::get(view, key::of_space(key::SPACE, &space)).await?;
    let record = bytes.map(|bytes| SpaceRecord::read(&bytes)).transpose();
    let record = record.map_err(|error| error.of_structure(&space))?;
    Ok(record.map_or(SpaceGuard::default(), |record| SpaceGuard {
        forgotten: record.is_gone(),
        dimensions: record.dimensions as usize,
    }))
}

async fn read_version(
    view: &DbSnapshot,
    space: Space,
    version: VersionId,
) -> Result<VersionGuard, Error> {
    let mut guard = VersionGuard::default();
    let key = key::of_version(key::VERSION, &space, version);
    if let Some(bytes) = store::get(view, key).await? {
        // One that cannot be read is repaired by being written anew.
        let record = VersionRecord::read(&bytes).unwrap_or_default();
        (guard.number, guard.state) = (record.number, record.state);
    }
    let prefix = key::of_version(key::UNIT, &space, version);
    let mut rows = Rows::under(view, &prefix).await?;
    while let Some((key, bytes)) = rows.next().await? {
        let unit =
            key::read_unit(&key).ok_or_else(|| Error::corrupt("unit", "its key has no name"))?;
        if let Ok(record) = UnitRecord::read(&bytes) {
            guard.fences.insert(unit, Fence(record.fence));
        }
    }
    Ok(guard)
}

/// What can be told of a write without knowing what was written before.
fn check(place: &UnitPlace, chunks: &[IndexedChunk]) -> Result<(), Error> {
    if place.number == u32::MAX {
        return Err(Error::Number {
            number: place.number,
        });
    }
    let dimensions = chunks.first().map_or(0, |chunk| chunk.vector.len());
    let mut ordinals = std::collections::BTreeSet::new();
    for chunk in chunks {
        let ordinal = chunk.chunk.ordinal;
        let bad = |why| Err(Error::BadChunk { ordinal, why });
        if chunk.vector.is_empty() {
            return bad("it has no vector");
        }
        if chunk.vector.len() != dimensions {
            return bad("its vector differs in length from the others");
        }
        if !chunk.vector.iter().all(|x| x.is_finite()) {
            return bad("its vector holds a value that is not finite");
        }
        if !chunk.vector.iter().map(|x| x * x).sum::<f32>().is_finite() {
            return bad("its vector is too long to be compared");
        }
        if chunk.language.as_ref().is_some_and(|l| l.len() > 35) {
            return bad("its language is no language tag");
        }
        if !ordinals.insert(ordinal) {
            return bad("its ordinal is taken");
        }
    }
    Ok(())
}

/// About what a write holds in memory.
fn weigh(write: &UnitWrite) -> usize {
    let of = |chunk: &IndexedChunk| {
        let headings: usize = chunk.chunk.heading_path.iter().map(String::len).sum();
        chunk.chunk.text.len() + headings + chunk.vector.len() * 4 + 256
    };
    512 + write.chunks.iter().map(of).sum::<usize>()
}
