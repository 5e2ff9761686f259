//! Small spaces: all vectors, a page of ids at a time, compared exactly.

use std::sync::Arc;

use model::ChunkId;
use slatedb::DbSnapshot;

use crate::Error;
use crate::slate::key;
use crate::slate::record::VectorRecord;
use crate::slate::store::Rows;
use crate::vector::bits::Bits;
use crate::vector::cache::{Cache, Entry, Kind};
use crate::vector::{SpaceView, simd};

/// Ids to a page.
pub const PAGE: u32 = 1024;

/// The vectors of a range of ids, side by side.
#[derive(Debug, Default)]
pub struct Page {
    /// Read at this flush: what was deleted before it is missing.
    flush: u64,
    /// Ids below this were read, if they were there.
    up_to: u32,
    ids: Vec<u32>,
    numbers: Vec<u32>,
    places: Vec<ChunkId>,
    vectors: Vec<f32>,
}

/// A vector that may be among the best.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub score: f32,
    pub number: u32,
    pub place: ChunkId,
}

impl Page {
    pub fn bytes(&self) -> usize {
        self.vectors.len() * 4 + self.ids.len() * 128
    }

    async fn load(db: &DbSnapshot, view: &SpaceView, page: u32) -> Result<Self, Error> {
        let first = page * PAGE;
        let up_to = view.record.next_id.min(first.saturating_add(PAGE));
        let mut loaded = Self {
            flush: view.flush,
            up_to,
            ..Self::default()
        };
        let prefix = key::of_space(key::VECTOR, &view.space);
        let ids = first.to_be_bytes()..up_to.to_be_bytes();
        let mut rows = Rows::within(db, &prefix, ids).await?;
        while let Some((key, bytes)) = rows.next().await? {
            let id = key::read_number(&key)
                .ok_or_else(|| Error::corrupt("vector", "its key has no id"))?;
            if let Some(record) = view.read_vector(id, &bytes) {
                loaded.push(id, record);
            }
        }
        Ok(loaded)
    }

    fn push(&mut self, id: u32, record: VectorRecord) {
        self.ids.push(id);
        self.numbers.push(record.number);
        self.places.push(record.place);
        self.vectors.extend_from_slice(&record.vector);
    }

    /// Whether a view may use this page: not older than the page, nor beyond its end.
    fn serves(&self, view: &SpaceView, page: u32) -> bool {
        let end = view.record.next_id.min((page * PAGE).saturating_add(PAGE));
        self.flush <= view.flush && self.up_to >= end
    }
}

/// A page as of a view, from the cache if it may be.
async fn page(
    db: &DbSnapshot,
    view: &SpaceView,
    cache: &Cache,
    page: u32,
) -> Result<Arc<Page>, Error> {
    let key = (view.tag, Kind::Page, page);
    if let Some(Entry::Page(cached)) = cache.get(&key)
        && cached.serves(view, page)
    {
        return Ok(cached);
    }
    let loaded = Arc::new(Page::load(db, view, page).await?);
    cache.put(key, Entry::Page(Arc::clone(&loaded)));
    Ok(loaded)
}

/// Every page of a view.
pub async fn pages(
    db: &DbSnapshot,
    view: &SpaceView,
    cache: &Cache,
) -> Result<Vec<Arc<Page>>, Error> {
    let mut pages = Vec::new();
    for number in 0..view.record.next_id.div_ceil(PAGE) {
        pages.push(page(db, view, cache, number).await?);
    }
    Ok(pages)
}

/// The best `top` of the live vectors, and all that tie with the last of them.
pub fn scan(
    pages: &[Arc<Page>],
    view: &SpaceView,
    query: &[f32],
    live: &Bits,
    top: usize,
) -> Vec<Candidate> {
    let mut best: Vec<(f32, usize, usize)> = Vec::new();
    for (at, page) in pages.iter().enumerate() {
        let vectors = page.vectors.chunks_exact(query.len());
        for (entry, vector) in vectors.enumerate() {
            let id = page.ids[entry];
            let valid = id < view.record.next_id && !view.deleted_bits.contains(id);
            if valid && live.contains(page.numbers[entry]) {
                best.push((simd::dot(vector, query), at, entry));
            }
        }
    }
    keep_best(&mut best, top, |entry| entry.0);
    let candidate = |(score, page, entry): (f32, usize, usize)| Candidate {
        score,
        number: pages[page].numbers[entry],
        place: pages[page].places[entry].clone(),
    };
    best.into_iter().map(candidate).collect()
}

/// Keeps the `top` highest and those equal to the last of them.
pub fn keep_best<T>(entries: &mut Vec<T>, top: usize, score: impl Fn(&T) -> f32) {
    if top == 0 {
        entries.clear();
    } else if entries.len() > top {
        let (_, last, _) =
            entries.select_nth_unstable_by(top - 1, |a, b| score(b).total_cmp(&score(a)));
        let least = score(last);
        entries.retain(|entry| score(entry) >= least);
    }
}
