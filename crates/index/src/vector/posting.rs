//! Postings: which there are, as of a view, and their entries.
//!
//! A posting only ever grows: what is split or cleaned gets a new number. So the
//! entries a view may see are the first `count` of whatever was read last, and
//! one decoded posting serves every view.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use futures::future::try_join_all;
use slatedb::DbSnapshot;

use crate::Error;
use crate::place::Space;
use crate::slate::key;
use crate::slate::record;
use crate::slate::store::{self, Rows as Records};
use crate::vector::SpaceView;
use crate::vector::cache::{Cache, Entry, Kind, Reading};
use crate::vector::cluster::Rows;
use crate::vector::code::{Codes, Query};
use crate::vector::guide::Guide;
use crate::vector::rotate::Rotation;

/// Every posting of a space, as of one view.
#[derive(Debug, Clone)]
pub struct Table {
    pub rotation: Arc<Rotation>,
    /// Rotated, in the order of `postings`.
    pub centroids: Rows,
    pub postings: Vec<Posting>,
    /// Depends on the centroids alone, not on how they came: a search answers the same after a
    /// restart.
    guide: Option<Guide>,
}

/// Centroids up to this many are compared one by one.
const ONE_BY_ONE: usize = 4 * NEAR;
/// Centroids a search is given at once, or one of so many; it seldom goes on beyond. A guess
/// tells the closest of many less surely than of few, so with their number more are compared.
const NEAR: usize = 24;
const NEAR_OF: usize = 64;
/// If it does, it is given so many times as many.
const FURTHER: usize = 8;
/// Centroids among which a vector looks for its posting, or one of so many.
const NEAREST: usize = 12;
const NEAREST_OF: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    pub number: u32,
    /// Entries in it, valid or not.
    pub count: u32,
    /// Holds what was not live at the last compaction.
    pub cold: bool,
}

impl Table {
    pub fn new(dimensions: usize) -> Self {
        Self {
            rotation: Arc::new(Rotation::new(dimensions)),
            centroids: Rows::new(dimensions),
            postings: Vec::new(),
            guide: None,
        }
    }

    /// The table of a space, or `None` if it has no postings yet.
    pub async fn load(
        db: &DbSnapshot,
        space: &Space,
        dimensions: usize,
    ) -> Result<Option<Self>, Error> {
        let mut counts = HashMap::new();
        let mut rows = Records::under(db, &key::of_space(key::COUNT, space)).await?;
        while let Some((key, bytes)) = rows.next().await? {
            counts.insert(number(&key)?, record::read_u32("posting count", &bytes)?);
        }
        let mut table = Self::new(dimensions);
        let mut rows = Records::under(db, &key::of_space(key::CENTROID, space)).await?;
        while let Some((key, bytes)) = rows.next().await? {
            let number = number(&key)?;
            let (cold, centroid) = record::read_centroid(&bytes)?;
            if centroid.len() != dimensions {
                return Err(Error::corrupt("centroid", "it has the wrong length"));
            }
            let count = counts.get(&number).copied().unwrap_or(0);
            table.push(number, count, cold, &centroid);
        }
        Ok((!table.postings.is_empty()).then_some(table))
    }

    pub fn push(&mut self, number: u32, count: u32, cold: bool, centroid: &[f32]) {
        self.centroids.push(centroid);
        self.postings.push(Posting {
            number,
            count,
            cold,
        });
        match &mut self.guide {
            Some(guide) => guide.push(&self.centroids, self.postings.len() - 1),
            None => self.guide = Guide::growing(&self.centroids, ONE_BY_ONE),
        }
    }

    /// Takes out the postings at some places.
    pub fn remove(&mut self, gone: &[usize]) {
        if gone.is_empty() {
            return;
        }
        let old = std::mem::replace(self, Self::like(self));
        for (at, posting) in old.postings.iter().enumerate() {
            if gone.binary_search(&at).is_err() {
                self.centroids.push(old.centroids.row(at));
                self.postings.push(*posting);
            }
        }
        self.guide = Guide::growing(&self.centroids, ONE_BY_ONE);
    }

    fn like(other: &Self) -> Self {
        Self {
            rotation: Arc::clone(&other.rotation),
            ..Self::new(other.centroids.dimensions())
        }
    }

    /// The posting of one side closest to a rotated vector.
    pub fn nearest(&self, vector: &[f32], cold: bool, scratch: &mut Vec<f32>) -> usize {
        let of_side = |at: usize| self.postings[at].cold == cold;
        if let Some(guide) = &self.guide {
            let query = Query::new(vector);
            let count = NEAREST.max(self.postings.len() / NEAREST_OF);
            let near = guide.near(&self.centroids, (vector, &query), count, of_side);
            return near
                .first()
                .expect("a side is asked only if it has postings")
                .1;
        }
        self.centroids.closeness(vector, scratch);
        let side = (0..self.postings.len()).filter(|at| self.postings[*at].cold == cold);
        let best = side.max_by(|a, b| scratch[*a].total_cmp(&scratch[*b]));
        best.expect("a side is asked only if it has postings")
    }

    /// Postings of one side, the closest first.
    pub fn nearest_first<'a>(
        &'a self,
        rotated: &'a [f32],
        query: &'a Query,
        cold: bool,
    ) -> Nearest<'a> {
        let count = NEAR.max(self.postings.len() / NEAR_OF);
        let (order, whole) = self.near((rotated, query), cold, count);
        Nearest {
            table: self,
            rotated,
            query,
            cold,
            order,
            next: 0,
            whole,
        }
    }

    /// About the `count` closest of a side, or all; and whether there are no others.
    fn near(
        &self,
        (rotated, query): (&[f32], &Query),
        cold: bool,
        count: usize,
    ) -> (Vec<(f32, usize)>, bool) {
        let of_side = |at: usize| self.postings[at].cold == cold;
        match &self.guide {
            // Guessing pays while it spares most of the comparing.
            Some(guide) if count < self.postings.len() / 4 => {
                let near = guide.near(&self.centroids, (rotated, query), count, of_side);
                let whole = near.len() < count;
                (near, whole)
            }
            _ => (self.all(rotated, cold), true),
        }
    }

    fn all(&self, rotated: &[f32], cold: bool) -> Vec<(f32, usize)> {
        let mut closeness = Vec::new();
        self.centroids.closeness(rotated, &mut closeness);
        let side = (0..self.postings.len()).filter(|at| self.postings[*at].cold == cold);
        let mut order: Vec<_> = side.map(|at| (closeness[at], at)).collect();
        order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        order
    }
}

/// Postings in order of closeness: a few at once, more only if somebody goes on.
pub struct Nearest<'a> {
    table: &'a Table,
    rotated: &'a [f32],
    query: &'a Query,
    cold: bool,
    order: Vec<(f32, usize)>,
    next: usize,
    whole: bool,
}

impl Iterator for Nearest<'_> {
    type Item = (f32, usize);

    /// How close a posting is, and its place in the table.
    fn next(&mut self) -> Option<(f32, usize)> {
        if self.next == self.order.len() && !self.whole {
            self.go_on();
        }
        let found = self.order.get(self.next).copied();
        self.next += 1;
        found
    }
}

impl Nearest<'_> {
    /// What a guess has missed comes late rather than never.
    fn go_on(&mut self) {
        let given: BTreeSet<usize> = self.order.iter().map(|(_, at)| *at).collect();
        let count = FURTHER * self.order.len();
        let (near, whole) = self
            .table
            .near((self.rotated, self.query), self.cold, count);
        let more = near.into_iter().filter(|(_, at)| !given.contains(at));
        self.order.extend(more);
        self.whole = whole;
    }
}

fn number(key: &[u8]) -> Result<u32, Error> {
    key::read_number(key).ok_or_else(|| Error::corrupt("posting", "its key has no number"))
}

/// The entries of a posting; a view looks at its first `count` only.
pub async fn codes(
    db: &DbSnapshot,
    view: &SpaceView,
    cache: &Cache,
    posting: Posting,
) -> Result<Arc<Codes>, Error> {
    let codes = cached(view, &cache.read(), posting);
    match codes {
        Some(codes) => Ok(codes),
        None => read(db, view, cache, posting).await,
    }
}

/// Those of several, one after another.
pub async fn codes_of(
    db: &DbSnapshot,
    view: &SpaceView,
    cache: &Cache,
    postings: &[Posting],
) -> Result<Vec<Arc<Codes>>, Error> {
    let found: Vec<_> = {
        let reading = cache.read();
        let one = |posting: &Posting| cached(view, &reading, *posting);
        postings.iter().map(one).collect()
    };
    let one = async |(codes, posting): (Option<Arc<Codes>>, &Posting)| match codes {
        Some(codes) => Ok(codes),
        None => read(db, view, cache, *posting).await,
    };
    if found.iter().all(Option::is_some) {
        return Ok(found.into_iter().flatten().collect());
    }
    try_join_all(found.into_iter().zip(postings).map(one)).await
}

fn cached(view: &SpaceView, reading: &Reading<'_>, posting: Posting) -> Option<Arc<Codes>> {
    match reading.get(&(view.tag, Kind::Posting, posting.number))? {
        Entry::Posting(codes) if codes.len() >= posting.count as usize => Some(Arc::clone(codes)),
        _ => None,
    }
}

async fn read(
    db: &DbSnapshot,
    view: &SpaceView,
    cache: &Cache,
    posting: Posting,
) -> Result<Arc<Codes>, Error> {
    let record = key::numbered(key::POSTING, &view.space, posting.number);
    let bytes = store::get(db, record).await?.unwrap_or_default();
    let whole = match Codes::read(&bytes, view.dimensions()) {
        None => Err("it ends early or is of another version"),
        Some(codes) if codes.len() < posting.count as usize => Err("it lacks entries"),
        Some(codes) => Ok(Arc::new(codes)),
    };
    let spoilt = |why| Error::corrupt("posting", why).of_structure(&view.space);
    let codes = whole.map_err(spoilt)?;
    let key = (view.tag, Kind::Posting, posting.number);
    cache.put(key, Entry::Posting(Arc::clone(&codes)));
    Ok(codes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::rotate::split_mix;

    const DIMENSIONS: usize = 64;

    fn draw(state: &mut u64) -> Vec<f32> {
        let mut one = || (split_mix(state) >> 40) as f32 / (1 << 24) as f32 - 0.5;
        (0..DIMENSIONS).map(|_| one()).collect()
    }

    fn table_of(postings: u32, state: &mut u64) -> Table {
        let mut table = Table::new(DIMENSIONS);
        for number in 0..postings {
            let centroid = table.rotation.apply(&draw(state));
            table.push(number, 1, number % 3 == 0, &centroid);
        }
        table
    }

    /// As it comes from the store, which knows nothing of what was there before.
    fn loaded(table: &Table) -> Table {
        let mut loaded = Table::new(DIMENSIONS);
        for (at, posting) in table.postings.iter().enumerate() {
            let centroid = table.centroids.row(at);
            loaded.push(posting.number, posting.count, posting.cold, centroid);
        }
        loaded
    }

    #[test]
    fn postings_come_in_the_same_order_once_they_are_loaded_whatever_was_there_before() {
        let mut state = 23;
        let mut table = table_of(600, &mut state);
        for gone in [vec![], vec![0, 17, 400, 599], (90..560).collect()] {
            table.remove(&gone);
            let again = loaded(&table);
            for _ in 0..50 {
                let rotated = table.rotation.apply(&draw(&mut state));
                let query = Query::new(&rotated);
                let order = |table: &Table| -> Vec<_> {
                    table.nearest_first(&rotated, &query, false).collect()
                };
                assert!(order(&table) == order(&again), "{} gone", gone.len());
            }
        }
    }

    #[test]
    fn centroids_are_still_guessed_once_some_postings_are_gone() {
        let mut table = table_of(600, &mut 17);
        table.remove(&[0, 17, 400, 599]);
        assert!(table.guide.is_some());
        for at in (0..table.postings.len()).step_by(7) {
            let (centroid, cold) = (table.centroids.row(at), table.postings[at].cold);
            let query = Query::new(centroid);
            let order = table.nearest_first(centroid, &query, cold);
            let order: Vec<usize> = order.map(|(_, at)| at).collect();
            assert_eq!(order[0], at);
            let mut all: Vec<_> = table.all(centroid, cold);
            all.sort_unstable_by_key(|(_, at)| *at);
            let mut every = order.clone();
            every.sort_unstable();
            assert!(every.iter().eq(all.iter().map(|(_, at)| at)));
        }
    }
}
