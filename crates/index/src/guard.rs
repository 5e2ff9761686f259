//! Who may still write what.
//!
//! A lower fence, a sealed or a forgotten version must be refused when the write
//! is accepted, not when it is flushed, so what the stores say of a version is
//! brought here before a write is offered, and accepted writes are noted here at
//! once. An entry stays while anybody holds it or any flush still owes it to the
//! store; beyond that it can be read again.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use model::{UnitName, VersionId};

use crate::place::{Fence, Scope, Space};
use crate::slate::record::State;
use crate::{Error, UnitPlace};

/// Entries beyond which those nobody needs are dropped.
const KEPT: usize = 4096;

/// Why a write is not accepted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refusal {
    #[error("lease {shown} is older than {held}")]
    Fenced {
        version: VersionId,
        unit: UnitName,
        shown: u64,
        held: u64,
    },
    #[error("sealed")]
    Sealed(VersionId),
    #[error("forgotten")]
    Forgotten(VersionId),
    #[error("forgotten space")]
    ForgottenSpace,
    #[error("{got} dimensions instead of {expected}")]
    Dimensions { expected: usize, got: usize },
    #[error("number {number} is not this version's")]
    Number { number: u32 },
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Fenced {
                version,
                unit,
                shown,
                held,
            } => Self::Fenced {
                version,
                unit,
                shown,
                held,
            },
            Refusal::Sealed(version) => Self::Sealed(version),
            Refusal::Forgotten(version) => Self::Forgotten(version),
            Refusal::ForgottenSpace => Self::ForgottenSpace,
            Refusal::Dimensions { expected, got } => Self::Dimensions { expected, got },
            Refusal::Number { number } => Self::Number { number },
        }
    }
}

/// What is known of a space.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpaceGuard {
    pub forgotten: bool,
    /// Zero until its first vector.
    pub dimensions: usize,
}

/// What is known of a version.
#[derive(Debug, Clone, Default)]
pub struct VersionGuard {
    pub number: Option<u32>,
    pub state: State,
    pub fences: HashMap<UnitName, Fence>,
    /// Writers between reading it here and offering their write.
    holders: usize,
    /// Deltas, not yet flushed, that changed it.
    owed: usize,
}

impl VersionGuard {
    fn admit(&self, place: &UnitPlace, fence: Fence) -> Result<(), Refusal> {
        match self.fences.get(&place.unit) {
            Some(held) if *held > fence => Err(Refusal::Fenced {
                version: place.version,
                unit: place.unit.clone(),
                shown: fence.0,
                held: held.0,
            }),
            _ => Ok(()),
        }
    }
}

#[derive(Default)]
pub struct Guards(Mutex<Known>);

#[derive(Default)]
struct Known {
    spaces: HashMap<Space, SpaceGuard>,
    versions: HashMap<(Space, VersionId), VersionGuard>,
    /// Forgotten since the start; the store knows of earlier ones.
    forgotten: HashSet<Scope>,
    /// Moves on when entries are dropped: what was read before may be outdated.
    round: u64,
}

/// Keeps a version's entry in place until its write has been offered.
pub struct Hold {
    guards: Arc<Guards>,
    key: (Space, VersionId),
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(guard) = self.guards.lock().versions.get_mut(&self.key) {
            guard.holders -= 1;
        }
    }
}

impl Guards {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().expect("no guard panics while it is locked")
    }

    /// Holds a version if it is known, or says in which round to read it.
    pub fn hold(self: &Arc<Self>, space: Space, version: VersionId) -> Result<Hold, u64> {
        let mut known = self.lock();
        let round = known.round;
        let key = (space, version);
        if !known.spaces.contains_key(&space) {
            return Err(round);
        }
        let guard = known.versions.get_mut(&key).ok_or(round)?;
        guard.holders += 1;
        Ok(Hold {
            guards: Arc::clone(self),
            key,
        })
    }

    /// Takes in what was read from the store in `round`, unless it may be outdated by now.
    pub fn learn(
        &self,
        round: u64,
        key: (Space, VersionId),
        (space, version): (SpaceGuard, VersionGuard),
    ) {
        let mut known = self.lock();
        if known.round == round {
            known.spaces.entry(key.0).or_insert(space);
            known.versions.entry(key).or_insert(version);
        }
    }

    pub fn check_replace(
        &self,
        place: &UnitPlace,
        fence: Fence,
        dimensions: Option<usize>,
    ) -> Result<(), Refusal> {
        let known = self.lock();
        let space = known.space(&place.space)?;
        let guard = known.open(place.space, place.version)?;
        if let Some(number) = guard.number.filter(|number| *number != place.number) {
            return Err(Refusal::Number { number });
        }
        guard.admit(place, fence)?;
        match dimensions {
            Some(got) if space.dimensions != 0 && got != space.dimensions => {
                let expected = space.dimensions;
                Err(Refusal::Dimensions { expected, got })
            }
            _ => Ok(()),
        }
    }

    /// Refuses who shows an older fence for a unit than was shown before.
    pub fn check_fence(&self, place: &UnitPlace, fence: Fence) -> Result<(), Refusal> {
        let known = self.lock();
        known.space(&place.space)?;
        known
            .version(place.space, place.version)
            .admit(place, fence)
    }

    pub fn is_sealed(&self, space: Space, version: VersionId) -> bool {
        self.lock().version(space, version).state == State::Sealed
    }

    /// Refuses what is known to be forgotten; the store may know of more.
    pub fn check_space(&self, space: &Space) -> Result<(), Refusal> {
        self.lock().space(space).map(drop)
    }

    pub fn check_seal(&self, space: Space, version: VersionId) -> Result<(), Refusal> {
        let known = self.lock();
        known.space(&space)?;
        match known.version(space, version).state {
            State::Forgotten => Err(Refusal::Forgotten(version)),
            State::Open | State::Sealed => Ok(()),
        }
    }

    pub fn note_replace(&self, place: &UnitPlace, fence: Fence, dimensions: Option<usize>) {
        let mut known = self.lock();
        if let Some(dimensions) = dimensions {
            known.spaces.entry(place.space).or_default().dimensions = dimensions;
        }
        let guard = known.entry(place.space, place.version);
        guard.number = Some(place.number);
        guard.fences.insert(place.unit.clone(), fence);
    }

    pub fn note_state(&self, space: Space, version: VersionId, state: State) {
        self.lock().entry(space, version).state = state;
    }

    /// What its records said of it counts no more.
    pub fn note_scoured(&self, space: Space, version: VersionId) {
        let mut known = self.lock();
        let guard = known.entry(space, version);
        guard.number = None;
        guard.fences.clear();
    }

    pub fn note_forgotten(&self, scope: Scope) {
        self.lock().forgotten.insert(scope);
    }

    /// A delta not yet flushed has changed this version for the first time.
    pub fn note_owed(&self, space: Space, version: VersionId) {
        self.lock().entry(space, version).owed += 1;
    }

    /// A flush has brought these to the store.
    pub fn settled(&self, versions: impl Iterator<Item = (Space, VersionId)>) {
        let mut known = self.lock();
        for key in versions {
            if let Some(guard) = known.versions.get_mut(&key) {
                guard.owed = guard.owed.saturating_sub(1);
            }
        }
        if known.versions.len() > KEPT {
            known.versions.retain(|_, g| g.holders + g.owed > 0);
            known.round += 1;
        }
    }
}

impl Known {
    fn entry(&mut self, space: Space, version: VersionId) -> &mut VersionGuard {
        self.versions.entry((space, version)).or_default()
    }

    fn version(&self, space: Space, version: VersionId) -> &VersionGuard {
        let guard = self.versions.get(&(space, version));
        guard.expect("a write holds its version's guard while it is checked")
    }

    fn space(&self, space: &Space) -> Result<SpaceGuard, Refusal> {
        let guard = self.spaces.get(space).copied().unwrap_or_default();
        let Space { tenant, kb, .. } = *space;
        let scopes = [Scope::Kb { tenant, kb }, Scope::Generation(*space)];
        if guard.forgotten || scopes.iter().any(|scope| self.forgotten.contains(scope)) {
            return Err(Refusal::ForgottenSpace);
        }
        Ok(guard)
    }

    fn open(&self, space: Space, version: VersionId) -> Result<&VersionGuard, Refusal> {
        let guard = self.version(space, version);
        match guard.state {
            State::Open => Ok(guard),
            State::Sealed => Err(Refusal::Sealed(version)),
            State::Forgotten => Err(Refusal::Forgotten(version)),
        }
    }
}
