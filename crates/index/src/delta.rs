//! What writes add up to between two flushes.
//!
//! Of each unit only the last replacement is kept, of each version what is left
//! of it: a version forgotten leaves nothing but the fact.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use coordinator::Delta;
use model::{ModelName, UnitName, VersionId};
use roaring::RoaringBitmap;

use crate::guard::{Guards, Refusal};
use crate::place::{CompactReport, Fence, IndexedChunk, Scope, Space, UnitPlace};
use crate::slate::record::State;

/// One call of a writer.
#[derive(Debug)]
pub enum Op {
    Replace {
        place: UnitPlace,
        write: UnitWrite,
        bytes: usize,
    },
    Seal(Space, VersionId),
    Reopen(UnitPlace, Fence),
    Forget(Space, VersionId),
    /// Everything of the version goes, however damaged, and it may be written anew.
    Scour(Space, VersionId),
    ForgetAll(Scope),
    Compact(Space, Compaction),
    RebuildText(Space),
}

#[derive(Debug, Clone)]
pub struct UnitWrite {
    pub fence: Fence,
    pub model: ModelName,
    pub chunks: Vec<IndexedChunk>,
}

impl UnitWrite {
    fn dimensions(&self) -> Option<usize> {
        self.chunks.first().map(|chunk| chunk.vector.len())
    }
}

/// Which versions are live, and where to report what compacting to them did: to each who asked.
#[derive(Debug, Clone)]
pub struct Compaction {
    pub live: Arc<RoaringBitmap>,
    pub reports: Vec<Arc<OnceLock<CompactReport>>>,
}

/// What happens to one version in one flush: erased first if so, then written.
#[derive(Debug, Default)]
pub struct VersionChanges {
    pub erase: bool,
    /// Erase by looking at every record, trusting none.
    pub scour: bool,
    pub state: Option<State>,
    pub number: Option<u32>,
    pub units: BTreeMap<UnitName, UnitWrite>,
}

pub struct Pending {
    guards: Arc<Guards>,
    pub forgotten: BTreeSet<Scope>,
    pub spaces: BTreeMap<Space, BTreeMap<VersionId, VersionChanges>>,
    pub compactions: BTreeMap<Space, Compaction>,
    /// Spaces whose text is made anew.
    pub rebuilds: BTreeSet<Space>,
}

impl Pending {
    pub fn new(guards: Arc<Guards>) -> Self {
        Self {
            guards,
            forgotten: BTreeSet::new(),
            spaces: BTreeMap::new(),
            compactions: BTreeMap::new(),
            rebuilds: BTreeSet::new(),
        }
    }

    pub fn versions(&self) -> impl Iterator<Item = (Space, VersionId)> + '_ {
        let of_space = |(space, versions): (&Space, &BTreeMap<VersionId, _>)| {
            let space = *space;
            versions
                .keys()
                .map(move |version| (space, *version))
                .collect::<Vec<_>>()
        };
        self.spaces.iter().flat_map(of_space)
    }

    /// Whether a space goes with this flush.
    pub fn forgets(&self, space: &Space) -> bool {
        self.forgotten.iter().any(|scope| scope.covers(space))
    }

    /// Whether anything goes with this flush: what was forgotten, or entries of it.
    pub fn takes_out(&self) -> bool {
        let erases = |versions: &BTreeMap<_, VersionChanges>| versions.values().any(|of| of.erase);
        !self.forgotten.is_empty()
            || !self.compactions.is_empty()
            || self.spaces.values().any(erases)
    }

    fn version(&mut self, space: Space, version: VersionId) -> &mut VersionChanges {
        let versions = self.spaces.entry(space).or_default();
        versions.entry(version).or_insert_with(|| {
            self.guards.note_owed(space, version);
            VersionChanges::default()
        })
    }

    fn set_state(&mut self, space: Space, version: VersionId, state: State) {
        self.guards.note_state(space, version, state);
        self.version(space, version).state = Some(state);
    }

    fn forget(&mut self, space: Space, version: VersionId) {
        self.set_state(space, version, State::Forgotten);
        let changes = self.version(space, version);
        changes.erase = true;
        changes.units.clear();
    }

    fn scour(&mut self, space: Space, version: VersionId) {
        self.set_state(space, version, State::Open);
        self.guards.note_scoured(space, version);
        let changes = self.version(space, version);
        *changes = VersionChanges {
            erase: true,
            scour: true,
            state: Some(State::Open),
            ..VersionChanges::default()
        };
    }

    /// Versions stay as empty changes: their guards are settled by the flush.
    fn forget_all(&mut self, scope: Scope) {
        self.guards.note_forgotten(scope);
        let covered = self.spaces.iter_mut().filter(|(s, _)| scope.covers(s));
        for changes in covered.flat_map(|(_, versions)| versions.values_mut()) {
            *changes = VersionChanges::default();
        }
        self.compactions.retain(|space, _| !scope.covers(space));
        self.rebuilds.retain(|space| !scope.covers(space));
        self.forgotten.insert(scope);
    }
}

impl Delta for Pending {
    type Op = Op;
    type Rejected = Refusal;

    fn weigh(op: &Op) -> usize {
        match op {
            Op::Replace { bytes, .. } => *bytes,
            _ => 256,
        }
    }

    fn check(&self, op: &Op) -> Result<(), Refusal> {
        match op {
            Op::Replace { place, write, .. } => {
                let dimensions = write.dimensions();
                self.guards.check_replace(place, write.fence, dimensions)
            }
            Op::Seal(space, version) => self.guards.check_seal(*space, *version),
            Op::Reopen(place, fence) => self.guards.check_fence(place, *fence),
            Op::Compact(space, _) | Op::RebuildText(space) => self.guards.check_space(space),
            Op::Forget(..) | Op::Scour(..) | Op::ForgetAll(_) => Ok(()),
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Replace { place, write, .. } => {
                let dimensions = write.dimensions();
                self.guards.note_replace(&place, write.fence, dimensions);
                let changes = self.version(place.space, place.version);
                changes.number = Some(place.number);
                changes.units.insert(place.unit, write);
            }
            Op::Seal(space, version) => self.set_state(space, version, State::Sealed),
            Op::Reopen(place, _) => self.set_state(place.space, place.version, State::Open),
            Op::Forget(space, version) => self.forget(space, version),
            Op::Scour(space, version) => self.scour(space, version),
            Op::ForgetAll(scope) => self.forget_all(scope),
            Op::RebuildText(space) => {
                self.rebuilds.insert(space);
            }
            Op::Compact(space, mut compaction) => {
                let before = self.compactions.remove(&space);
                compaction
                    .reports
                    .extend(before.into_iter().flat_map(|of| of.reports));
                self.compactions.insert(space, compaction);
            }
        }
    }

    fn successor(&self) -> Self {
        Self::new(Arc::clone(&self.guards))
    }
}
