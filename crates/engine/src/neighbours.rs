//! What stands before and after a passage, in the order of its document.
//!
//! A passage's own unit tells its neighbours by their ordinals. At the unit's edge the catalog
//! tells which units come before and after it, once for each version.

use std::collections::HashMap;

use catalog::{Catalog, UnitRow};
use index::{Passage, Snapshot, Space};
use model::{ChunkId, UnitName, VersionId};

use crate::Error;

pub(crate) struct Neighbours<'a> {
    catalog: &'a dyn Catalog,
    snapshot: &'a Snapshot,
    space: Space,
    /// How many on either side.
    reach: usize,
    units: HashMap<VersionId, Vec<UnitRow>>,
}

impl<'a> Neighbours<'a> {
    pub fn new(catalog: &'a dyn Catalog, snapshot: &'a Snapshot, space: Space, reach: u32) -> Self {
        Self {
            catalog,
            snapshot,
            space,
            reach: reach as usize,
            units: HashMap::new(),
        }
    }

    /// The texts before a passage and those after it, both in reading order.
    pub async fn of(&mut self, passage: &Passage) -> Result<(Vec<String>, Vec<String>), Error> {
        if self.reach == 0 {
            return Ok((Vec::new(), Vec::new()));
        }
        let ChunkId { unit, ordinal, .. } = &passage.id;
        let own = |ordinal: u32| (unit.clone(), ordinal);
        let earlier = (0..*ordinal).rev().map(own);
        let later = (ordinal.saturating_add(1)..).map(own);
        let mut before = self.texts(passage, earlier).await?;
        let mut after = self.texts(passage, later).await?;
        if before.len().min(after.len()) < self.reach {
            let reach = self.reach;
            let units = self.units(passage.id.version).await?;
            let [earlier, later] = around(units, &passage.id, reach);
            before = self.texts(passage, earlier.into_iter()).await?;
            after = self.texts(passage, later.into_iter()).await?;
        }
        before.reverse();
        Ok((before, after))
    }

    /// As many texts as are asked for, up to the first that is not there.
    async fn texts(
        &self,
        passage: &Passage,
        places: impl Iterator<Item = (UnitName, u32)>,
    ) -> Result<Vec<String>, Error> {
        let mut texts = Vec::new();
        for (unit, ordinal) in places.take(self.reach) {
            let version = passage.id.version;
            let id = ChunkId {
                version,
                unit,
                ordinal,
            };
            let near = match self.snapshot.passage(self.space, &id).await {
                Ok(Some(near)) => near,
                // A damaged one ends what can be shown, as one that is not there does.
                Ok(None) | Err(index::Error::Corrupt { .. }) => break,
                Err(error) => return Err(error.into()),
            };
            texts.push(near.chunk.text);
        }
        Ok(texts)
    }

    async fn units(&mut self, version: VersionId) -> Result<&[UnitRow], Error> {
        if !self.units.contains_key(&version) {
            let units = self.catalog.units(self.space.tenant, version).await?;
            self.units.insert(version, units);
        }
        Ok(&self.units[&version])
    }
}

/// The nearest places before a chunk, the nearest first, and those after it.
fn around(units: &[UnitRow], id: &ChunkId, reach: usize) -> [Vec<(UnitName, u32)>; 2] {
    let Some(at) = units.iter().position(|row| row.name == id.unit) else {
        return [Vec::new(), Vec::new()];
    };
    let named = |row: &UnitRow, ordinal: u32| (row.name.clone(), ordinal);
    let count = |row: &UnitRow| u32::try_from(row.chunks).unwrap_or(u32::MAX);
    let own_earlier = (0..id.ordinal).rev().map(|n| named(&units[at], n));
    let earlier = units[..at]
        .iter()
        .rev()
        .flat_map(|row| (0..count(row)).rev().map(|n| named(row, n)));
    let own_later = id.ordinal.saturating_add(1)..count(&units[at]);
    let own_later = own_later.map(|n| named(&units[at], n));
    let later = units[at + 1..]
        .iter()
        .flat_map(|row| (0..count(row)).map(|n| named(row, n)));
    [
        own_earlier.chain(earlier).take(reach).collect(),
        own_later.chain(later).take(reach).collect(),
    ]
}

#[cfg(test)]
mod tests {
    use catalog::UnitState;

    use super::*;

    #[test]
    fn beyond_a_unit_come_those_that_stand_next_to_it_and_hold_something() {
        let unit = |(name, chunks): (&str, u64)| UnitRow {
            name: UnitName::new(name).unwrap(),
            index: 0,
            state: UnitState::Done,
            chunks,
            tokens: 0,
            reused: 0,
            reason: None,
        };
        // In reading order, which is not the order of their names.
        let units = [
            ("z", 2),
            ("gap", 0),
            ("m", 1),
            ("own", 3),
            ("none", 0),
            ("a", 3),
        ]
        .map(unit);
        let shown = |name: &str, ordinal, reach| {
            let id = ChunkId {
                version: VersionId::from_uuid(uuid::Uuid::nil()),
                unit: UnitName::new(name).unwrap(),
                ordinal,
            };
            around(&units, &id, reach).map(|places| {
                let shown = |(name, ordinal): (UnitName, u32)| format!("{name}{ordinal}");
                places.into_iter().map(shown).collect::<Vec<_>>().join(" ")
            })
        };
        assert_eq!(shown("own", 1, 1), ["own0", "own2"]);
        assert_eq!(shown("own", 1, 9), ["own0 m0 z1 z0", "own2 a0 a1 a2"]);
        assert_eq!(shown("a", 2, 4), ["a1 a0 own2 own1", ""]);
        assert_eq!(shown("stranger", 0, 9), ["", ""]);
    }
}
