//! A vector search in one space, as of one view.

use std::sync::Arc;

use roaring::RoaringBitmap;
use slatedb::DbSnapshot;

use crate::Error;
use crate::flush::Store;
use crate::place::Scored;
use crate::slate::record::VectorRecord;
use crate::slate::{key, store};
use crate::text::shelf::blocking;
use crate::vector::cache::{Entry, Kind};
use crate::vector::flat::{self, Candidate};
use crate::vector::probe::{Wanted, probe};
use crate::vector::{Cache, SpaceView};

pub async fn search(
    db: &DbSnapshot,
    view: &Arc<SpaceView>,
    store: &Store,
    query: &[f32],
    live: &RoaringBitmap,
    top: usize,
) -> Result<Vec<Scored>, Error> {
    if view.record.next_id == 0 || top == 0 {
        return Ok(Vec::new());
    }
    if query.len() != view.dimensions() {
        return Err(Error::Dimensions {
            expected: view.dimensions(),
            got: query.len(),
        });
    }
    let cold = !live.is_disjoint(&view.cold);
    let live = view.recent.bits(live);
    if let Some(table) = &view.table {
        let wanted = Wanted {
            query,
            live: &live,
            cold,
            top,
        };
        let found = probe(db, view, table, store, &wanted).await?;
        return Ok(ranked(found, top));
    }
    let pages = flat::pages(db, view, &store.cache).await?;
    let (view, query) = (Arc::clone(view), query.to_vec());
    let scanned = blocking(move || Ok(flat::scan(&pages, &view, &query, &live, top)));
    Ok(ranked(scanned.await?, top))
}

/// The vector with an id, unless it was deleted or cannot be read.
pub async fn vector(
    db: &DbSnapshot,
    view: &SpaceView,
    cache: &Cache,
    id: u32,
) -> Result<Option<Arc<VectorRecord>>, Error> {
    let key = (view.tag, Kind::Vector, id);
    if let Some(Entry::Vector(_, record)) = cache.get(&key) {
        return Ok(Some(record));
    }
    let Some(bytes) = store::get(db, key::numbered(key::VECTOR, &view.space, id)).await? else {
        return Ok(None);
    };
    let Some(record) = view.read_vector(id, &bytes) else {
        return Ok(None);
    };
    let record = Arc::new(record);
    cache.put(key, Entry::from(Arc::clone(&record)));
    Ok(Some(record))
}

/// Best first, equals in the order of their places.
fn ranked(mut found: Vec<Candidate>, top: usize) -> Vec<Scored> {
    found.sort_unstable_by(|a, b| {
        let by_score = b.score.total_cmp(&a.score);
        by_score.then_with(|| a.place.cmp(&b.place))
    });
    found.truncate(top);
    let scored = |candidate: Candidate| Scored {
        id: candidate.place,
        number: candidate.number,
        score: candidate.score,
    };
    found.into_iter().map(scored).collect()
}
