//! Decoded vectors and postings, kept up to a number of bytes.
//!
//! One budget for all spaces. What was not asked for since the hand last came by
//! goes first (CLOCK). Keys carry a tag instead of the space, to hash less.
//!
//! Reading takes one lock for as many entries as are looked at, and they are
//! looked at in place: a lock and a count for each would make their misses of
//! memory wait for one another, which is most of what a warm search costs.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard};

use crate::slate::record::VectorRecord;
use crate::vector::code::Codes;
use crate::vector::flat::Page;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Page,
    Posting,
    Vector,
}

/// Which space (by its tag), what, and its number there.
pub type Key = (u32, Kind, u32);

#[derive(Debug, Clone)]
pub enum Entry {
    Page(Arc<Page>),
    Posting(Arc<Codes>),
    Vector(Arc<VectorRecord>),
}

impl Entry {
    fn bytes(&self) -> usize {
        let own = match self {
            Self::Page(page) => page.bytes(),
            Self::Posting(codes) => codes.bytes(),
            Self::Vector(record) => record.vector.len() * 4 + record.place.unit.as_str().len() + 96,
        };
        own + 64
    }
}

pub struct Cache {
    held: RwLock<Held>,
    budget: usize,
}

/// The cache while nothing in it changes.
pub struct Reading<'a>(RwLockReadGuard<'a, Held>);

#[derive(Default)]
struct Held {
    at: HashMap<Key, usize, BuildHasherDefault<Quick>>,
    slots: Vec<Slot>,
    hand: usize,
    bytes: usize,
}

/// Keys are numbers of our own making, so nobody chooses them to collide.
#[derive(Default)]
struct Quick(u64);

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

struct Slot {
    key: Key,
    entry: Entry,
    asked: AtomicBool,
}

impl Cache {
    pub fn new(budget: usize) -> Self {
        Self {
            held: RwLock::default(),
            budget,
        }
    }

    /// For a moment: whoever puts something in waits for it to end.
    pub fn read(&self) -> Reading<'_> {
        let held = self.held.read();
        Reading(held.expect("no cache panics while it is locked"))
    }

    pub fn get(&self, key: &Key) -> Option<Entry> {
        self.read().get(key).cloned()
    }

    pub fn put(&self, key: Key, entry: Entry) {
        if entry.bytes() <= self.budget {
            let held = self.held.write();
            let mut held = held.expect("no cache panics while it is locked");
            held.put(key, entry);
            held.shrink_to(self.budget);
        }
    }
}

impl Reading<'_> {
    pub fn get(&self, key: &Key) -> Option<&Entry> {
        let slot = &self.0.slots[*self.0.at.get(key)?];
        // Written only once, so that the others' copies of it stay good.
        if !slot.asked.load(Ordering::Relaxed) {
            slot.asked.store(true, Ordering::Relaxed);
        }
        Some(&slot.entry)
    }
}

impl Held {
    fn put(&mut self, key: Key, entry: Entry) {
        self.bytes += entry.bytes();
        if let Some(&at) = self.at.get(&key) {
            let old = std::mem::replace(&mut self.slots[at].entry, entry);
            self.bytes -= old.bytes();
        } else {
            self.at.insert(key, self.slots.len());
            let asked = AtomicBool::new(false);
            self.slots.push(Slot { key, entry, asked });
        }
    }

    fn shrink_to(&mut self, budget: usize) {
        while self.bytes > budget && !self.slots.is_empty() {
            self.hand %= self.slots.len();
            let slot = &mut self.slots[self.hand];
            if std::mem::take(slot.asked.get_mut()) {
                self.hand += 1;
            } else {
                self.drop_at(self.hand);
            }
        }
    }

    fn drop_at(&mut self, at: usize) {
        let slot = self.slots.swap_remove(at);
        self.bytes -= slot.entry.bytes();
        self.at.remove(&slot.key);
        if let Some(moved) = self.slots.get(at) {
            self.at.insert(moved.key, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ChunkId, UnitName, VersionId};

    fn vector(dimensions: usize) -> Entry {
        let place = ChunkId {
            version: VersionId::from_uuid(uuid::Uuid::nil()),
            unit: UnitName::new("u").unwrap(),
            ordinal: 0,
        };
        Entry::Vector(Arc::new(VectorRecord {
            number: 0,
            place,
            vector: vec![0.0; dimensions],
        }))
    }

    #[test]
    fn the_budget_holds_and_what_is_asked_for_stays() {
        let cache = Cache::new(1 << 20);
        let hot = (1, Kind::Vector, 0);
        cache.put(hot, vector(384));
        for number in 1..10_000 {
            assert!(cache.get(&hot).is_some());
            cache.put((1, Kind::Vector, number), vector(384));
        }
        let bytes = cache.read().0.bytes;
        assert!(((1 << 19)..=(1 << 20)).contains(&bytes), "{bytes}");
    }
}
