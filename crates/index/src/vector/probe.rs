//! Search through postings: guess by codes near the query, then compare exactly.
//!
//! How far it looks depends on what it finds. Postings are taken nearest first,
//! until what was live in several in a row could not be among the best; a guess
//! says how far off it may be. A posting counts by what is live in it, so among
//! few live a search goes the further. Of the candidates only those are compared
//! exactly that may still beat the last of the best.

use std::cmp::Ordering;

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
use crate::vector::grow::LONGEST;
use crate::vector::posting::{self, Table};
use crate::vector::{Cache, SpaceView, search, simd};

/// Live entries by which a posting counts in full.
const WHOLE: usize = 32;
/// Postings looked up at once.
const TOGETHER: usize = 8;
/// Candidates looked up at once: what they come to spares some of the next.
const HANDFUL: usize = 32;
/// Vectors on their way while one is compared.
const AHEAD: usize = 12;

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
        let mut order = table.nearest_first(&rotated, &query, cold);
        let mut patience = Patience::new(settings);
        while !patience.ended {
            let near: Vec<(f32, usize)> = order.by_ref().take(TOGETHER).collect();
            if near.is_empty() {
                break;
            }
            let postings: Vec<_> = near.iter().map(|(_, at)| table.postings[*at]).collect();
            let codes = posting::codes_of(db, view, &store.cache, &postings).await?;
            for (place, (closeness, at)) in near.into_iter().enumerate() {
                if let Some(next) = postings.get(place + 1) {
                    codes[place + 1].ahead(next.count as usize);
                }
                let under = Under {
                    base: closeness + table.centroids.half(at),
                    distance: (length - 2.0 * closeness).max(0.0).sqrt(),
                    doubt: settings.doubt,
                };
                let count = postings[place].count as usize;
                let looked = guesses.look(&codes[place], count, &query, under);
                patience.note(looked, guesses.enough());
                if patience.ended {
                    break;
                }
            }
        }
    }
    rerank(db, view, store, guesses.best(), wanted).await
}

/// How long a search goes on: the longer, the more postings had something, for what lies
/// scattered over several lies in more of them, and further apart.
struct Patience {
    settings: Probe,
    seen: usize,
    barren: usize,
    fruitful: usize,
    ended: bool,
}

impl Patience {
    fn new(settings: Probe) -> Self {
        Self {
            settings,
            seen: 0,
            barren: 0,
            fruitful: 0,
            ended: false,
        }
    }

    fn note(&mut self, looked: Looked, enough: bool) {
        self.seen += looked.live;
        if looked.candidates {
            self.fruitful += 1;
            self.barren = 0;
        } else {
            self.barren += looked.live;
        }
        let limit = self.settings.barren * WHOLE * (1 + self.fruitful) / 2;
        let barren = self.barren >= limit && enough;
        self.ended = barren || self.seen >= self.settings.postings * WHOLE;
    }
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
            // The first posting leaves all it has.
            found: Vec::with_capacity(LONGEST),
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
            live: self.live_among(codes, count),
            candidates: self.found.len() > before,
        }
    }

    /// Live entries among the first `count`, up to `WHOLE`. A block at a time and without asking
    /// of each whether to go on, which among few live is guessed wrong at every one.
    fn live_among(&self, codes: &Codes, count: usize) -> usize {
        let (numbers, ids) = (&codes.numbers[..count], &codes.ids[..count]);
        let mut live = 0;
        for (numbers, ids) in numbers.chunks(WHOLE).zip(ids.chunks(WHOLE)) {
            let of_block = numbers.iter().zip(ids).map(|(number, id)| {
                let deleted = self.view.deleted_bits.contains(*id);
                usize::from(self.live.contains(*number) & !deleted)
            });
            live += of_block.sum::<usize>();
            if live >= WHOLE {
                return WHOLE;
            }
        }
        live
    }

    /// Whether there are guesses to measure others by.
    fn enough(&self) -> bool {
        self.measure.floor() > f32::NEG_INFINITY
    }

    /// Those that may be among the best.
    fn best(mut self) -> Vec<Guess> {
        let floor = self.measure.settle();
        self.found.retain(|found| found.most >= floor);
        self.found
    }
}

impl Guess {
    /// The most promising first.
    fn by_promise(&self, other: &Self) -> Ordering {
        let by_guess = other.guess.total_cmp(&self.guess);
        by_guess.then(self.id.cmp(&other.id))
    }
}

async fn rerank(
    db: &DbSnapshot,
    view: &SpaceView,
    store: &Store,
    mut guesses: Vec<Guess>,
    wanted: &Wanted<'_>,
) -> Result<Vec<Candidate>, Error> {
    let mut exact = Exact::new(wanted);
    let read = |id: u32| search::vector(db, view, &store.cache, id);
    while !guesses.is_empty() {
        let some = most_promising(&mut guesses);
        let missing = exact.compare_cached(view, &store.cache, &some);
        let records = try_join_all(missing.iter().map(|id| read(*id))).await?;
        for (id, record) in missing.into_iter().zip(records) {
            record.iter().for_each(|r| exact.compare(id, &r.vector));
        }
        // Decided once for all of them: what is in memory must not decide what is found.
        let floor = exact.best.settle();
        guesses.retain(|guess| guess.most >= floor);
    }
    let found = exact.found();
    let (mut candidates, missing) = cached_candidates(view, &store.cache, &found);
    for (score, id) in missing {
        let record = read(id).await?;
        candidates.extend(record.map(|record| candidate(score, &record)));
    }
    Ok(candidates)
}

/// Takes a handful out.
fn most_promising(guesses: &mut Vec<Guess>) -> Vec<u32> {
    let rest = guesses.len().saturating_sub(HANDFUL);
    if rest > 0 {
        guesses.select_nth_unstable_by(rest, |a, b| b.by_promise(a));
    }
    guesses.drain(rest..).map(|guess| guess.id).collect()
}

/// What is in memory of those found; the others are given back.
fn cached_candidates(
    view: &SpaceView,
    cache: &Cache,
    found: &[(f32, u32)],
) -> (Vec<Candidate>, Vec<(f32, u32)>) {
    let (mut candidates, mut missing) = (Vec::with_capacity(found.len()), Vec::new());
    let reading = cache.read();
    for (score, id) in found {
        match reading.get(&(view.tag, Kind::Vector, *id)) {
            Some(Entry::Vector(_, record)) => candidates.push(candidate(*score, record)),
            _ => missing.push((*score, *id)),
        }
    }
    (candidates, missing)
}

fn candidate(score: f32, record: &VectorRecord) -> Candidate {
    Candidate {
        score,
        number: record.number,
        place: record.place.clone(),
    }
}

/// Vectors compared exactly.
struct Exact<'a> {
    query: &'a [f32],
    top: usize,
    best: Best<()>,
    found: Vec<(f32, u32)>,
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
    fn compare_cached(&mut self, view: &SpaceView, cache: &Cache, ids: &[u32]) -> Vec<u32> {
        let keys: Vec<_> = ids.iter().map(|id| (view.tag, Kind::Vector, *id)).collect();
        let reading = cache.read();
        let (mut here, mut missing) = (Vec::with_capacity(keys.len()), Vec::new());
        for (id, entry) in ids.iter().zip(reading.get_all(&keys)) {
            match entry {
                Some(Entry::Vector(vector, _)) => here.push((*id, &**vector)),
                _ => missing.push(*id),
            }
        }
        for (_, vector) in here.iter().take(AHEAD) {
            simd::ahead(vector);
        }
        for (place, (id, vector)) in here.iter().enumerate() {
            if let Some((_, next)) = here.get(place + AHEAD) {
                simd::ahead(next);
            }
            self.compare(*id, vector);
        }
        missing
    }

    fn compare(&mut self, id: u32, vector: &[f32]) {
        let score = simd::dot(vector, self.query);
        if score >= self.best.floor() {
            self.best.push(score, ());
            self.found.push((score, id));
        }
    }

    /// The best, and all that tie with the last of them.
    fn found(mut self) -> Vec<(f32, u32)> {
        keep_best(&mut self.found, self.top, |entry| entry.0);
        self.found
    }
}
