//! Decoded vectors and postings, kept up to a number of bytes.
//!
//! One budget for all spaces. What was not asked for since the hand last came by
//! goes first (CLOCK). Keys carry a tag instead of the space, to hash less.
//!
//! Reading takes one lock for as many entries as are looked at, and they are
//! looked at in place: a lock and a count for each would make their misses of
//! memory wait for one another, which is most of what a warm search costs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard};

use crate::slate::record::VectorRecord;
use crate::vector::code::Codes;
use crate::vector::flat::Page;
use crate::vector::places::Places;
use crate::vector::simd;

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
    /// The vector itself beside its record, which a comparison need not go by.
    Vector(Arc<[f32]>, Arc<VectorRecord>),
}

impl From<Arc<VectorRecord>> for Entry {
    fn from(record: Arc<VectorRecord>) -> Self {
        Self::Vector(Arc::clone(&record.vector), record)
    }
}

impl Entry {
    fn bytes(&self) -> usize {
        let own = match self {
            Self::Page(page) => page.bytes(),
            Self::Posting(codes) => codes.bytes(),
            Self::Vector(vector, record) => {
                vector.len() * 4 + record.place.unit.as_str().len() + 112
            }
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
    places: Places,
    slots: Vec<Slot>,
    hand: usize,
    bytes: usize,
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
        let slot = &self.0.slots[self.0.find(key)?];
        // Written only once, so that the others' copies of it stay good.
        if !slot.asked.load(Ordering::Relaxed) {
            slot.asked.store(true, Ordering::Relaxed);
        }
        Some(&slot.entry)
    }

    /// As [`get`](Self::get) for many. Where an entry lies is told by memory that may be far
    /// itself, so each step of the way is gone for all of them before the next.
    pub fn get_all(&self, keys: &[Key]) -> Vec<Option<&Entry>> {
        let Held { places, slots, .. } = &*self.0;
        keys.iter().for_each(|key| places.ahead(key));
        let near = |key: &Key| places.first(key).and_then(|slot| slots.get(slot));
        keys.iter().filter_map(near).for_each(simd::ahead_of);
        keys.iter().map(|key| self.get(key)).collect()
    }
}

impl Held {
    fn find(&self, key: &Key) -> Option<usize> {
        self.places.find(key, |slot| &self.slots[slot].key)
    }

    fn put(&mut self, key: Key, entry: Entry) {
        self.bytes += entry.bytes();
        if let Some(at) = self.find(&key) {
            let old = std::mem::replace(&mut self.slots[at].entry, entry);
            self.bytes -= old.bytes();
        } else {
            let asked = AtomicBool::new(false);
            self.slots.push(Slot { key, entry, asked });
            let slots = &self.slots;
            self.places.push(slots.len(), |slot| &slots[slot].key);
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
        let slots = &self.slots;
        self.places
            .swap_remove(at, slots.len(), |slot| &slots[slot].key);
        let slot = self.slots.swap_remove(at);
        self.bytes -= slot.entry.bytes();
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
        Entry::from(Arc::new(VectorRecord {
            number: 0,
            place,
            vector: vec![0.0; dimensions].into(),
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
        let reading = cache.read();
        let bytes = reading.0.bytes;
        let keys: Vec<Key> = (0..10_001)
            .map(|number| (1, Kind::Vector, number))
            .collect();
        let found = reading.get_all(&keys).into_iter().flatten().count();
        assert_eq!(found, reading.0.slots.len());
        assert!(((1 << 19)..=(1 << 20)).contains(&bytes), "{bytes}");
    }
}
