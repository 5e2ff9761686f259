//! Search through postings: guess by codes near the query, then compare exactly.
//!
//! How far it looks depends on what it finds. Postings are taken nearest first,
//! until what was live in several in a row could not be among the best; a guess
//! says how far off it may be. A posting counts by what is live in it, so among
//! few live a search goes the further. Of the candidates only those are compared
//! exactly that may still beat the last of the best.

use std::sync::Arc;

use futures::future::try_join_all;
use slatedb::DbSnapshot;

use crate::Error;
use crate::flush::Store;
use crate::settings::Probe;
use crate::slate::record::VectorRecord;
use crate::vector::best::Best;
use crate::vector::bits::Bits;
use crate::vector::cache::{Entry, Kind};
use crate::vector::code::{Codes, Query, Under};
use crate::vector::flat::{Candidate, keep_best};
use crate::vector::posting::{self, Table};
use crate::vector::{Cache, SpaceView, search, simd};

/// Live entries by which a posting counts in full.
const WHOLE: usize = 32;

/// What a search looks for.
pub struct Wanted<'a> {
    pub query: &'a [f32],
    pub live: &'a Bits,
    /// Whether anything live may lie in cold postings.
    pub cold: bool,
    pub top: usize,
}

/// The best, and all that tie with the last of them, as far as near postings tell.
pub async fn probe(
    db: &DbSnapshot,
    view: &SpaceView,
    table: &Table,
    store: &Store,
    wanted: &Wanted<'_>,
) -> Result<Vec<Candidate>, Error> {
    let rotated = table.rotation.apply(wanted.query);
    let query = Query::new(&rotated);
    let length = simd::dot(&rotated, &rotated);
    let settings = store.settings.probe;
    let mut guesses = Guesses::new(view, wanted, settings);
    for cold in [false, true] {
        if cold && !wanted.cold {
            continue;
        }
        let (mut seen, mut barren) = (0, 0);
        for (closeness, at) in table.nearest_first(&rotated, &query, cold) {
            let posting = table.postings[at];
            let codes = posting::codes(db, view, &store.cache, posting).await?;
            let under = Under {
                base: closeness + table.centroids.half(at),
                distance: (length - 2.0 * closeness).max(0.0).sqrt(),
                doubt: settings.doubt,
            };
            let looked = guesses.look(&codes, posting.count as usize, &query, under);
            seen += looked.live;
            barren = match looked.candidates {
                true => 0,
                false => barren + looked.live,
            };
            if (barren >= settings.barren * WHOLE && guesses.enough())
                || seen >= settings.postings * WHOLE
            {
                break;
            }
        }
    }
    rerank(db, view, store, guesses.best(), wanted).await
}

/// What a posting held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Looked {
    /// Entries, up to `WHOLE`.
    live: usize,
    candidates: bool,
}

struct Guesses<'a> {
    view: &'a SpaceView,
    live: &'a Bits,
    /// Of the guesses themselves: what others are measured by.
    measure: Best<()>,
    found: Vec<Guess>,
}

#[derive(Debug, Clone, Copy)]
struct Guess {
    guess: f32,
    most: f32,
    id: u32,
}

impl<'a> Guesses<'a> {
    fn new(view: &'a SpaceView, wanted: &Wanted<'a>, settings: Probe) -> Self {
        Self {
            view,
            live: wanted.live,
            measure: Best::new(wanted.top * settings.measure),
            found: Vec::new(),
        }
    }

    /// Guesses at the live entries of a posting.
    fn look(&mut self, codes: &Codes, count: usize, query: &Query, under: Under) -> Looked {
        let before = self.found.len();
        let (live, deleted) = (self.live, &self.view.deleted_bits);
        let is_live =
            |at: usize| live.contains(codes.numbers[at]) && !deleted.contains(codes.ids[at]);
        let (measure, found) = (&mut self.measure, &mut self.found);
        codes.guess(query, under, count, measure.floor(), |at, guess, most| {
            if is_live(at) {
                measure.push(guess, ());
                let id = codes.ids[at];
                found.push(Guess { guess, most, id });
            }
            measure.floor()
        });
        self.measure.settle();
        Looked {
            live: (0..count).filter(|at| is_live(*at)).take(WHOLE).count(),
            candidates: self.found.len() > before,
        }
    }

    /// Whether there are guesses to measure others by.
    fn enough(&self) -> bool {
        self.measure.floor() > f32::NEG_INFINITY
    }

    /// Those that may be among the best, the most promising first.
    fn best(mut self) -> Vec<Guess> {
        let floor = self.measure.settle();
        self.found.retain(|found| found.most >= floor);
        self.found
            .sort_unstable_by(|a, b| b.guess.total_cmp(&a.guess).then(a.id.cmp(&b.id)));
        self.found
    }
}

async fn rerank(
    db: &DbSnapshot,
    view: &SpaceView,
    store: &Store,
    guesses: Vec<Guess>,
    wanted: &Wanted<'_>,
) -> Result<Vec<Candidate>, Error> {
    let mut exact = Exact::new(wanted);
    // A few at a time: what the first of them come to spares most of the others.
    for some in guesses.chunks(wanted.top.max(8)) {
        let floor = exact.best.settle();
        let hopeful = some.iter().filter(|guess| guess.most >= floor);
        let missing = exact.compare_cached(view, &store.cache, hopeful.map(|guess| guess.id));
        let read = |id| search::vector(db, view, &store.cache, id);
        for vector in try_join_all(missing.into_iter().map(read)).await? {
            vector.iter().for_each(|vector| exact.compare(vector));
        }
    }
    Ok(exact.candidates())
}

/// Vectors compared exactly.
struct Exact<'a> {
    query: &'a [f32],
    top: usize,
    best: Best<()>,
    found: Vec<(f32, Arc<VectorRecord>)>,
}

impl<'a> Exact<'a> {
    fn new(wanted: &Wanted<'a>) -> Self {
        Self {
            query: wanted.query,
            top: wanted.top,
            best: Best::new(wanted.top),
            found: Vec::with_capacity(4 * wanted.top),
        }
    }

    /// Compares what is in memory; the others are given back.
    fn compare_cached(
        &mut self,
        view: &SpaceView,
        cache: &Cache,
        ids: impl Iterator<Item = u32>,
    ) -> Vec<u32> {
        let reading = cache.read();
        let (mut here, mut missing) = (Vec::with_capacity(self.top.max(8)), Vec::new());
        for id in ids {
            if let Some(Entry::Vector(vector)) = reading.get(&(view.tag, Kind::Vector, id)) {
                // All are on their way before the first is needed.
                simd::ahead(&vector.vector);
                here.push(vector);
            } else {
                missing.push(id);
            }
        }
        here.into_iter().for_each(|vector| self.compare(vector));
        missing
    }

    fn compare(&mut self, vector: &Arc<VectorRecord>) {
        let score = simd::dot(&vector.vector, self.query);
        if score >= self.best.floor() {
            self.best.push(score, ());
            self.found.push((score, Arc::clone(vector)));
        }
    }

    /// The best, and all that tie with the last of them.
    fn candidates(mut self) -> Vec<Candidate> {
        keep_best(&mut self.found, self.top, |entry| entry.0);
        let candidate = |(score, vector): (f32, Arc<VectorRecord>)| Candidate {
            score,
            number: vector.number,
            place: vector.place.clone(),
        };
        self.found.into_iter().map(candidate).collect()
    }
}
