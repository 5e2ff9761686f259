//! Which of many chunks with the same score come first, told by the text index alone.
//!
//! Equals stand in the order of their places. A score depends on how often a word occurs and on
//! how long the chunk is, so with a common word most of a space may tie, and to read the record of
//! each for its place would be to read most of the space. The names of units, each after its
//! version, are words of the text index and lie there in that order; within a unit the ids of
//! chunks follow their ordinals, as they are given out.

use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, Searcher, SegmentReader, TERMINATED};

use crate::Error;
use crate::error::Doing;
use crate::text::book::FIELDS;
use crate::text::search::Hit;

/// A hit and the name its unit has in the text index.
type Named = (Vec<u8>, Hit);

/// Equals beyond those there is room for whose records are read rather than the names of units.
const FEW: usize = 64;

/// The first `room` of these by their places, in no order, and perhaps a few that come after.
pub fn first(searcher: &Searcher, mut tied: Vec<Hit>, room: usize) -> Result<Vec<Hit>, Error> {
    if tied.len() <= room + FEW {
        return Ok(tied);
    }
    tied.sort_unstable_by_key(|hit| (hit.segment, hit.doc));
    let mut first: Vec<Named> = Vec::new();
    for of_segment in tied.chunk_by(|a, b| a.segment == b.segment) {
        let segment = searcher.segment_reader(of_segment[0].segment);
        first_of_segment(segment, of_segment, room, &mut first)?;
        first.sort_unstable_by(|(a, one), (b, other)| a.cmp(b).then(one.id.cmp(&other.id)));
        first.truncate(room);
    }
    Ok(first.into_iter().map(|(_, hit)| hit).collect())
}

/// Goes through the units of a segment until there are enough, or what comes after is after
/// those that are known already.
fn first_of_segment(
    segment: &SegmentReader,
    tied: &[Hit],
    room: usize,
    first: &mut Vec<Named>,
) -> Result<(), Error> {
    let last = first.get(room - 1).map(|(name, _)| name.clone());
    let units = segment.inverted_index(FIELDS.unit).doing("search")?;
    let mut names = units.terms().stream().doing("search")?;
    let mut found = 0;
    while found < room.min(tied.len()) && names.advance() {
        let name = names.key();
        if last.as_ref().is_some_and(|last| name > &last[..]) {
            return Ok(());
        }
        let read = units.read_postings_from_terminfo(names.value(), IndexRecordOption::Basic);
        let mut of_unit = among(tied, read.doing("search")?);
        of_unit.sort_unstable_by_key(|hit| hit.id);
        of_unit.truncate(room);
        found += of_unit.len();
        first.extend(of_unit.into_iter().map(|hit| (name.to_vec(), hit)));
    }
    Ok(())
}

/// Those of the hits, which are in the order of their documents, that are among these.
fn among(hits: &[Hit], mut documents: impl Postings) -> Vec<Hit> {
    let mut found = Vec::new();
    while documents.doc() != TERMINATED {
        let doc: DocId = documents.doc();
        let at = hits.binary_search_by_key(&doc, |hit| hit.doc);
        found.extend(at.ok().map(|at| hits[at]));
        documents.advance();
    }
    found
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::kit::{chunk, open, space, write};
    use crate::vector::cache::Kind;
    use crate::{Flush, Scored, Settings, Snapshot};

    const UNITS: u32 = 40;
    const CHUNKS: u32 = 3;

    async fn grain(snapshot: &Snapshot, top: usize) -> Vec<Scored> {
        let live = [0].into_iter().collect();
        let found = snapshot.search_text(space(1), "grain", &live, top).await;
        found.unwrap()
    }

    #[tokio::test]
    async fn of_equals_the_first_by_place_are_found_and_no_others_are_read() {
        let (objects, folder) = (Arc::default(), tempfile::tempdir().unwrap());
        let index = open(Settings::default(), &objects, folder.path()).await;
        // Neither as they are written nor by segment do they stand in the order of their places.
        for n in 0..UNITS {
            let unit = format!("u{:02}", n * 7 % UNITS);
            let chunks = (0..CHUNKS).rev().map(|n| chunk(n, vec![1.0])).collect();
            let written = write(&index, space(1), &unit, chunks).await;
            if n % 9 == 8 {
                written.durable().await.unwrap();
            }
        }
        let mut twice = chunk(0, vec![1.0]);
        twice.chunk.text = "grain grain".to_owned();
        let written = write(&index, space(1), "z", vec![twice]).await;
        written.durable().await.unwrap();
        let snapshot = index.snapshot(Flush(0)).await.unwrap();
        let all = grain(&snapshot, usize::MAX).await;
        assert_eq!(all.len() as u32, UNITS * CHUNKS + 1);
        assert_eq!(all[0].id.unit.as_str(), "z");
        assert!(all[1..].is_sorted_by(|a, b| a.score == b.score && a.id < b.id));
        for top in 1..all.len() {
            assert_eq!(grain(&snapshot, top).await, all[..top], "the first {top}");
        }
        index.close().await.unwrap();

        let index = open(Settings::default(), &objects, folder.path()).await;
        let snapshot = index.snapshot(Flush(0)).await.unwrap();
        let view = snapshot.view(space(1)).await.unwrap();
        assert_eq!(grain(&snapshot, 5).await, all[..5]);
        let cache = &index.store.cache;
        let read = |id: &u32| cache.get(&(view.tag, Kind::Vector, *id)).is_some();
        assert_eq!((0..view.record.next_id).filter(read).count(), 5);
        index.close().await.unwrap();
    }
}
