//! How much there is of each version, by its number: what the text search's statistics sum.
//!
//! Kept in blocks, so that a flush copies the few it touches, and a number that damage has
//! made huge costs one block.

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use crate::slate::record::{State, VersionRecord};

const BLOCK: u32 = 256;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub chunks: u32,
    pub words: u64,
}

#[derive(Debug, Clone, Default)]
pub struct TotalsByVersion {
    blocks: BTreeMap<u32, Arc<[Totals; BLOCK as usize]>>,
}

impl TotalsByVersion {
    pub fn note(&mut self, version: &VersionRecord) {
        let Some(number) = version.number else { return };
        let empty = || Arc::new([Totals::default(); BLOCK as usize]);
        let block = self.blocks.entry(number / BLOCK).or_insert_with(empty);
        Arc::make_mut(block)[(number % BLOCK) as usize] = match version.state {
            State::Forgotten => Totals::default(),
            State::Open | State::Sealed => Totals {
                chunks: version.chunks,
                words: version.words,
            },
        };
    }

    /// Of the versions in a set.
    pub fn among<'a>(&'a self, numbers: &'a RoaringBitmap) -> impl Iterator<Item = Totals> + 'a {
        self.blocks.iter().flat_map(move |(block, totals)| {
            let first = block * BLOCK;
            let here = numbers.range(first..=first + (BLOCK - 1));
            here.map(|number| totals[(number % BLOCK) as usize])
        })
    }

    /// With their numbers, ascending; those of nothing among them.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Totals)> {
        self.blocks.iter().flat_map(|(block, totals)| {
            let first = block * BLOCK;
            (first..=first + (BLOCK - 1)).zip(totals.iter().copied())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(number: u32, state: State) -> VersionRecord {
        VersionRecord {
            number: Some(number),
            state,
            chunks: 3,
            words: 40,
        }
    }

    #[test]
    fn a_number_out_of_all_proportion_costs_a_block() {
        let mut totals = TotalsByVersion::default();
        totals.note(&version(7, State::Sealed));
        totals.note(&version(u32::MAX - 1, State::Open));
        assert_eq!(totals.blocks.len(), 2);
        let some: Vec<_> = totals.iter().filter(|(_, t)| t.chunks > 0).collect();
        assert_eq!(
            some.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
            [7, u32::MAX - 1]
        );
        let asked = RoaringBitmap::from([7, 8]);
        assert_eq!(totals.among(&asked).map(|t| t.words).sum::<u64>(), 40);
        totals.note(&version(7, State::Forgotten));
        assert_eq!(totals.among(&asked).map(|t| t.words).sum::<u64>(), 0);
    }
}
