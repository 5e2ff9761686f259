//! Where the entries of the cache lie, by their keys.
//!
//! An open table of the numbers of slots, no more than half full, searched on from
//! the place a key's hash names. Unlike a map of the library's it says where it is
//! going to look, so that many can be looked for at once.

use crate::vector::cache::Key;
use crate::vector::simd;

const EMPTY: u32 = u32::MAX;

#[derive(Default)]
pub struct Places {
    /// A power of two of them.
    cells: Vec<u32>,
}

impl Places {
    /// The cell at which the search for a key begins.
    fn home(&self, key: &Key) -> usize {
        let (tag, kind, number) = *key;
        let all = u64::from(tag) << 34 ^ (kind as u64) << 32 ^ u64::from(number);
        // Keys are numbers of our own making, so nobody chooses them to collide.
        let hash = all.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & self.cells.len().wrapping_sub(1)
    }

    fn next(&self, cell: usize) -> usize {
        (cell + 1) & (self.cells.len() - 1)
    }

    /// Has the cell of a key fetched while something else is done.
    pub fn ahead(&self, key: &Key) {
        if let Some(cell) = self.cells.get(self.home(key)) {
            simd::ahead_of(cell);
        }
    }

    /// The slot that is first looked at for a key, whosever it is.
    pub fn first(&self, key: &Key) -> Option<usize> {
        let slot = self.cells.get(self.home(key)).copied();
        slot.filter(|slot| *slot != EMPTY).map(|slot| slot as usize)
    }

    pub fn find<'a>(&self, key: &Key, key_of: impl Fn(usize) -> &'a Key) -> Option<usize> {
        self.cell_of(key, key_of)
            .map(|cell| self.cells[cell] as usize)
    }

    fn cell_of<'a>(&self, key: &Key, key_of: impl Fn(usize) -> &'a Key) -> Option<usize> {
        if self.cells.is_empty() {
            return None;
        }
        let mut cell = self.home(key);
        loop {
            match self.cells[cell] {
                EMPTY => return None,
                slot if key_of(slot as usize) == key => return Some(cell),
                _ => cell = self.next(cell),
            }
        }
    }

    /// Takes the last of `count` slots in, whose key is in none before it.
    pub fn push<'a>(&mut self, count: usize, key_of: impl Fn(usize) -> &'a Key) {
        if 2 * count > self.cells.len() {
            self.cells = vec![EMPTY; (4 * count).next_power_of_two()];
            (0..count).for_each(|slot| self.place(slot, key_of(slot)));
        } else {
            self.place(count - 1, key_of(count - 1));
        }
    }

    fn place(&mut self, slot: usize, key: &Key) {
        let mut cell = self.home(key);
        while self.cells[cell] != EMPTY {
            cell = self.next(cell);
        }
        self.cells[cell] = u32::try_from(slot).expect("memory for fewer than 2^32 entries");
    }

    /// Takes a slot out that the last of `count` is about to stand in for.
    pub fn swap_remove<'a>(&mut self, at: usize, count: usize, key_of: impl Fn(usize) -> &'a Key) {
        let gone = self.cell_of(key_of(at), &key_of);
        self.close(gone.expect("every slot has its cell"), &key_of);
        if at != count - 1 {
            let last = self.cell_of(key_of(count - 1), &key_of);
            self.cells[last.expect("every slot has its cell")] = at as u32;
        }
    }

    /// Empties a cell, and moves up what is only where it is because the cell was taken.
    fn close<'a>(&mut self, mut gap: usize, key_of: impl Fn(usize) -> &'a Key) {
        let mut cell = self.next(gap);
        while self.cells[cell] != EMPTY {
            let home = self.home(key_of(self.cells[cell] as usize));
            if self.from(home, cell) >= self.from(gap, cell) {
                self.cells[gap] = self.cells[cell];
                gap = cell;
            }
            cell = self.next(cell);
        }
        self.cells[gap] = EMPTY;
    }

    /// Steps from one cell on to another.
    fn from(&self, start: usize, end: usize) -> usize {
        end.wrapping_sub(start) & (self.cells.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::cache::Kind;
    use crate::vector::rotate::split_mix;

    #[test]
    fn every_key_is_found_where_it_is_and_none_that_left() {
        let (mut places, mut keys, mut state) = (Places::default(), Vec::<Key>::new(), 7);
        for _ in 0..20_000 {
            let random = split_mix(&mut state);
            let kind = [Kind::Page, Kind::Posting, Kind::Vector][(random >> 8) as usize % 3];
            let key = ((random >> 16) as u32 % 3, kind, (random >> 32) as u32 % 300);
            match places.find(&key, |slot| &keys[slot]) {
                Some(slot) => {
                    assert_eq!(keys[slot], key);
                    places.swap_remove(slot, keys.len(), |slot| &keys[slot]);
                    keys.swap_remove(slot);
                }
                None => {
                    assert!(!keys.contains(&key));
                    keys.push(key);
                    places.push(keys.len(), |slot| &keys[slot]);
                }
            }
        }
        for (slot, key) in keys.iter().enumerate() {
            assert_eq!(places.find(key, |slot| &keys[slot]), Some(slot));
        }
    }
}
