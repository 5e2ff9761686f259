//! The vectors of a space, each with the place it claims to be of.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use model::{ChunkId, VersionId};

use super::{Fault, What};
use crate::Error;
use crate::place::Space;
use crate::slate::record::{Stand, VectorRecord};
use crate::slate::store::{self, Rows};
use crate::slate::{key, seal};
use crate::snapshot::Snapshot;
use crate::vector::SpaceView;

pub struct Vectors {
    view: SpaceView,
    found: HashMap<u32, Note>,
}

/// What is kept of a vector: little, for there are many.
struct Note {
    /// Of the place and number it has; `None` when it cannot be read.
    place: Option<u64>,
    whole: bool,
}

impl Vectors {
    pub async fn read(snapshot: &Snapshot, space: Space) -> Result<Self, Error> {
        let view = snapshot.fresh_view(space).await?;
        let mut found = HashMap::new();
        let mut rows = Rows::under(snapshot.db(), &key::of_space(key::VECTOR, &space)).await?;
        while let Some((key, bytes)) = rows.next().await? {
            let Some(id) = key::read_number(&key) else {
                continue;
            };
            let read = VectorRecord::read(&bytes).ok();
            let fits = |record: &VectorRecord| record.vector.len() == view.dimensions();
            let note = Note {
                whole: seal::is_whole(&bytes) && read.as_ref().is_some_and(fits),
                place: read.map(|record| hash(&record.place, record.number)),
            };
            found.insert(id, note);
        }
        Ok(Self { view, found })
    }

    /// What is wrong with the vector of a chunk, which has it from here on.
    pub async fn take(
        &mut self,
        snapshot: &Snapshot,
        id: u32,
        chunk: &ChunkId,
        number: u32,
    ) -> Result<Option<What>, Error> {
        let Some(note) = self.found.remove(&id) else {
            return Ok(Some(What::NoVector));
        };
        if !note.whole {
            return Ok(Some(What::VectorChanged));
        }
        if note.place != Some(hash(chunk, number)) {
            return Ok(Some(What::VectorElsewhere));
        }
        if id >= self.next_id() {
            return Ok(Some(What::IdNotGiven));
        }
        let finds = snapshot.finds(&self.view, id).await?;
        Ok((!finds).then_some(What::VectorUnfindable))
    }

    /// Whether the rows of the space are not all there any more, and nothing wrong with that.
    pub fn are_being_forgotten(&self) -> bool {
        self.view.record.stand == Stand::BeingForgotten
    }

    /// Ids given out so far are below this.
    pub fn next_id(&self) -> u32 {
        self.view.record.next_id
    }

    /// Takes a vector whose chunk cannot be read, if it is that chunk's.
    pub fn take_orphan(&mut self, id: u32, chunk: &ChunkId, number: u32) -> bool {
        let place = Some(hash(chunk, number));
        let is_it = self.found.get(&id).is_some_and(|note| note.place == place);
        is_it && self.found.remove(&id).is_some()
    }

    pub async fn strays(self, snapshot: &Snapshot, space: Space) -> Result<Vec<Fault>, Error> {
        let mut faults = Vec::new();
        for id in self.found.into_keys() {
            let bytes = store::get(snapshot.db(), key::numbered(key::VECTOR, &space, id)).await?;
            let record = bytes.and_then(|bytes| VectorRecord::read(&bytes).ok());
            let place = record.map(|record| record.place);
            faults.push(Fault {
                version: place.as_ref().map(|place| place.version),
                ordinal: place.as_ref().map(|place| place.ordinal),
                unit: place.map(|place| place.unit),
                what: What::StrayVector,
            });
        }
        Ok(faults)
    }
}

fn hash(place: &ChunkId, number: u32) -> u64 {
    let mut hasher = DefaultHasher::new();
    (place.version, &place.unit, place.ordinal, number).hash(&mut hasher);
    hasher.finish()
}

/// How many vectors say they are of a version.
pub async fn of_version(
    snapshot: &Snapshot,
    space: Space,
    version: VersionId,
) -> Result<u64, Error> {
    let mut count = 0;
    let mut rows = Rows::under(snapshot.db(), &key::of_space(key::VECTOR, &space)).await?;
    while let Some((_, bytes)) = rows.next().await? {
        let mine = VectorRecord::read(&bytes).is_ok_and(|r| r.place.version == version);
        count += u64::from(mine);
    }
    Ok(count)
}
