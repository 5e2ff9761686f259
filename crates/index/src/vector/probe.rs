//! Search through postings: guess by codes near the query, then compare exactly.
//!
//! How far it looks depends on what it finds. Postings are taken nearest first,
//! until several in a row held something live and nothing of it could be among
//! the best; a guess says how far off it may be. Of the candidates only those are
//! compared exactly that may still beat the last of the best.

use std::sync::Arc;

use futures::future::try_join_all;
use slatedb::DbSnapshot;

use crate::Error;
use crate::flush::Store;
use crate::settings::Probe;
use crate::slate::record::VectorRecord;
use crate::vector::best::Best;
use crate::vector::bits::Bits;
use crate::vector::code::{Codes, Query, Under};
use crate::vector::flat::{Candidate, keep_best};
use crate::vector::posting::{self, Table};
use crate::vector::{SpaceView, search, simd};

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
            match guesses.look(&codes, posting.count as usize, &query, under) {
                // It says nothing about the postings beyond.
                Looked::NoneLive => continue,
                Looked::Candidates => barren = 0,
                Looked::NoCandidate => barren += 1,
            }
            seen += 1;
            if (barren >= settings.barren && guesses.enough()) || seen >= settings.postings {
                break;
            }
        }
    }
    rerank(db, view, store, guesses.best(), wanted).await
}

/// What a posting held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looked {
    NoneLive,
    NoCandidate,
    Candidates,
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
        match self.found.len() > before {
            true => Looked::Candidates,
            false if (0..count).any(is_live) => Looked::NoCandidate,
            false => Looked::NoneLive,
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
    let mut best = Best::new(wanted.top);
    let mut exact: Vec<(f32, Arc<VectorRecord>)> = Vec::with_capacity(guesses.len());
    // A few at a time: what the first of them come to spares most of the others.
    for some in guesses.chunks(wanted.top.max(8)) {
        let floor = best.settle();
        let hopeful = some.iter().filter(|guess| guess.most >= floor);
        let ids: Vec<u32> = hopeful.map(|guess| guess.id).collect();
        for vector in vectors(db, view, store, &ids).await? {
            let score = simd::dot(&vector.vector, wanted.query);
            best.push(score, ());
            exact.push((score, vector));
        }
    }
    keep_best(&mut exact, wanted.top, |entry| entry.0);
    let candidate = |(score, vector): (f32, Arc<VectorRecord>)| Candidate {
        score,
        number: vector.number,
        place: vector.place.clone(),
    };
    Ok(exact.into_iter().map(candidate).collect())
}

/// From memory where they are there; the others are read side by side.
async fn vectors(
    db: &DbSnapshot,
    view: &SpaceView,
    store: &Store,
    ids: &[u32],
) -> Result<Vec<Arc<VectorRecord>>, Error> {
    let mut found = Vec::with_capacity(ids.len());
    let mut missing = Vec::new();
    for id in ids {
        match search::cached(view, &store.cache, *id) {
            Some(vector) => found.push(vector),
            None => missing.push(*id),
        }
    }
    if !missing.is_empty() {
        let read = |id| search::vector(db, view, &store.cache, id);
        let read = try_join_all(missing.into_iter().map(read)).await?;
        found.extend(read.into_iter().flatten());
    }
    Ok(found)
}
