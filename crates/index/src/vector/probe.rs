//! Search through postings: guess by codes near the query, then compare exactly.

use futures::future::try_join_all;
use slatedb::DbSnapshot;

use crate::Error;
use crate::flush::Store;
use crate::vector::bits::Bits;
use crate::vector::code::{Codes, Query};
use crate::vector::flat::{Candidate, keep_best};
use crate::vector::posting::{self, Table};
use crate::vector::{SpaceView, search, simd};

/// Live entries per posting looked into below which a search goes on to further
/// postings: where most versions are inactive, the near ones hold too few.
const LIVE_PER_POSTING: usize = 32;

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
    let query = table.rotation.apply(wanted.query);
    let least = store.settings.probe.postings;
    let [hot, cold] = table.by_closeness(&query);
    let mut guesses = Guesses::new(view, wanted);
    for side in [hot, if wanted.cold { cold } else { Vec::new() }] {
        let mut order = Nearest::new(side, least);
        let enough = guesses.seen + least * LIVE_PER_POSTING;
        while let Some(at) = order.next(guesses.seen < enough) {
            let posting = table.postings[at];
            let codes = posting::codes(db, view, &store.cache, posting).await?;
            let query = || Query::new(&query, table.centroids.row(at));
            guesses.look(&codes, posting.count, query);
        }
    }
    let ids = guesses.best(wanted.top * store.settings.probe.rerank);
    rerank(db, view, store, ids, wanted).await
}

/// Postings in order of closeness: the first are sorted out at once, the rest
/// only if somebody goes on.
struct Nearest {
    postings: Vec<(f32, usize)>,
    next: usize,
    least: usize,
}

impl Nearest {
    fn new(mut postings: Vec<(f32, usize)>, least: usize) -> Self {
        let least = least.min(postings.len());
        if least < postings.len() {
            postings.select_nth_unstable_by(least, |a, b| b.0.total_cmp(&a.0));
        }
        postings[..least].sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        Self {
            postings,
            next: 0,
            least,
        }
    }

    fn next(&mut self, go_on: bool) -> Option<usize> {
        if self.next == self.least {
            if !go_on {
                return None;
            }
            self.postings[self.least..].sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        } else if self.next > self.least && !go_on {
            return None;
        }
        let (_, at) = self.postings.get(self.next)?;
        self.next += 1;
        Some(*at)
    }
}

struct Guesses<'a> {
    view: &'a SpaceView,
    live: &'a Bits,
    seen: usize,
    picked: Vec<u32>,
    found: Vec<(f32, u32)>,
}

impl<'a> Guesses<'a> {
    fn new(view: &'a SpaceView, wanted: &Wanted<'a>) -> Self {
        Self {
            view,
            live: wanted.live,
            seen: 0,
            picked: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Guesses at the live entries of a posting; the query is prepared only if there are any.
    fn look(&mut self, codes: &Codes, count: u32, query: impl FnOnce() -> Query) {
        let numbers = &codes.numbers[..count as usize];
        let is_live = |at: u32| {
            let (number, id) = (numbers[at as usize], codes.ids[at as usize]);
            self.live.contains(number) && !self.view.deleted_bits.contains(id)
        };
        self.picked.clear();
        self.picked.extend((0..count).filter(|at| is_live(*at)));
        if !self.picked.is_empty() {
            self.seen += self.picked.len();
            let found = &mut self.found;
            codes.guess(&query(), &self.picked, |at, guess| {
                found.push((guess, codes.ids[at as usize]));
            });
        }
    }

    /// The ids with the highest guesses, each once.
    fn best(mut self, count: usize) -> Vec<u32> {
        keep_best(&mut self.found, count, |found| found.0);
        let mut ids: Vec<u32> = self.found.into_iter().map(|(_, id)| id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

async fn rerank(
    db: &DbSnapshot,
    view: &SpaceView,
    store: &Store,
    ids: Vec<u32>,
    wanted: &Wanted<'_>,
) -> Result<Vec<Candidate>, Error> {
    let vectors = ids
        .into_iter()
        .map(|id| search::vector(db, view, &store.cache, id));
    let mut exact = Vec::new();
    for vector in try_join_all(vectors).await?.into_iter().flatten() {
        exact.push((simd::dot(&vector.vector, wanted.query), vector));
    }
    keep_best(&mut exact, wanted.top, |entry| entry.0);
    let candidate = |(score, vector): (f32, std::sync::Arc<_>)| {
        let vector: &crate::slate::record::VectorRecord = &vector;
        Candidate {
            score,
            number: vector.number,
            place: vector.place.clone(),
        }
    };
    Ok(exact.into_iter().map(candidate).collect())
}
