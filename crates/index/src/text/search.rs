//! Ranks the live chunks of a space by the words of a query (BM25).
//!
//! The statistics are those of the live chunks alone: how a chunk ranks depends
//! on what can be found, never on what was replaced, forgotten or is inactive,
//! nor on how the segments happen to be merged. So the same words give the same
//! scores, every time. Which words a query comes to depends on the languages the
//! space has ever held: with a further one a word has more stems, and fewer go as
//! function words (`words`); it is not taken back when the language's last text is.

use model::VersionId;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, Searcher, SegmentOrdinal, SegmentReader, TERMINATED, Term};

use crate::Error;
use crate::error::Doing;
use crate::text::book::FIELDS;
use crate::text::ties;
use crate::text::words::Asked;
use crate::vector::bits::Bits;
use crate::vector::flat::keep_best;

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// Of what a search may find.
#[derive(Debug, Clone, Copy)]
pub struct Statistics {
    pub chunks: u64,
    pub words: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub score: f32,
    pub id: u32,
    pub number: u32,
    pub segment: SegmentOrdinal,
    pub doc: DocId,
}

/// Where a word occurs in a segment: documents in order, and how often in each.
type Occurrences = Vec<(u32, u32)>;

/// The best `top`, in no order: of those that tie with the last of them the first by place, and
/// perhaps a few of the others.
pub fn search(
    searcher: &Searcher,
    asked: &[Asked],
    live: &Bits,
    statistics: Statistics,
    top: usize,
) -> Result<Vec<Hit>, Error> {
    let mut found: Vec<Vec<Occurrences>> = Vec::new();
    for segment in searcher.segment_readers() {
        let of_word = |word: &Asked| occurrences(segment, &word.stems, live);
        found.push(asked.iter().map(of_word).collect::<Result<_, _>>()?);
    }
    let weight = |(at, word): (usize, &Asked)| {
        let chunks: usize = found.iter().map(|segment| segment[at].len()).sum();
        word.times as f32 * idf(chunks as f32, statistics.chunks as f32)
    };
    let weights: Vec<f32> = asked.iter().enumerate().map(weight).collect();
    let mut hits = Vec::new();
    for (segment, found) in (0..).zip(&found) {
        let mean = statistics.words as f32 / statistics.chunks.max(1) as f32;
        let reader = searcher.segment_reader(segment);
        score((segment, reader), (found, &weights), mean, &mut hits)?;
        keep_best(&mut hits, top, |hit| hit.score);
    }
    if hits.len() <= top {
        return Ok(hits);
    }
    let least = hits.iter().map(|hit| hit.score).fold(f32::MAX, f32::min);
    let (mut best, tied): (Vec<Hit>, Vec<Hit>) = hits.iter().partition(|hit| hit.score > least);
    let room = top - best.len();
    best.extend(ties::first(searcher, tied, room)?);
    Ok(best)
}

fn idf(with: f32, all: f32) -> f32 {
    (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln()
}

fn occurrences(
    segment: &SegmentReader,
    stems: &[String],
    live: &Bits,
) -> Result<Occurrences, Error> {
    let words = segment.inverted_index(FIELDS.body).doing("search")?;
    let numbers = segment.fast_fields().u64("number").doing("search")?;
    let mut found = Occurrences::new();
    for word in stems {
        let term = Term::from_field_text(FIELDS.body, word);
        let postings = words.read_postings(&term, IndexRecordOption::WithFreqs);
        let Some(mut postings) = postings.doing("search")? else {
            continue;
        };
        while postings.doc() != TERMINATED {
            let doc = postings.doc();
            let number = numbers.first(doc).unwrap_or(u64::MAX);
            let is_live = u32::try_from(number).is_ok_and(|number| live.contains(number));
            if is_live && !segment.is_deleted(doc) {
                found.push((doc, postings.term_freq()));
            }
            postings.advance();
        }
    }
    if stems.len() > 1 {
        found.sort_unstable();
        found.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
    }
    Ok(found)
}

fn score(
    (ordinal, segment): (SegmentOrdinal, &SegmentReader),
    (found, weights): (&[Occurrences], &[f32]),
    mean: f32,
    hits: &mut Vec<Hit>,
) -> Result<(), Error> {
    let lengths = segment.get_fieldnorms_reader(FIELDS.body).doing("search")?;
    let mut scores = vec![0.0_f32; segment.max_doc() as usize];
    for (occurrences, weight) in found.iter().zip(weights) {
        for (doc, count) in occurrences {
            let length = lengths.fieldnorm(*doc) as f32 / mean;
            let count = *count as f32;
            let part = count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length));
            scores[*doc as usize] += weight * part;
        }
    }
    let ids = segment.fast_fields().u64("id").doing("search")?;
    let numbers = segment.fast_fields().u64("number").doing("search")?;
    let read = |column: &tantivy::columnar::Column<u64>, doc: u32| {
        let value = column
            .first(doc)
            .and_then(|value| u32::try_from(value).ok());
        value.ok_or_else(|| Error::SpoiltText {
            why: "an entry has no id or number".to_owned(),
        })
    };
    let scored = scores.iter().enumerate().filter(|(_, score)| **score > 0.0);
    for (doc, score) in scored {
        hits.push(Hit {
            score: *score,
            id: read(&ids, doc as u32)?,
            number: read(&numbers, doc as u32)?,
            segment: ordinal,
            doc: doc as u32,
        });
    }
    Ok(())
}

/// The ids the text index holds of a version.
pub fn ids_of(searcher: &Searcher, version: VersionId) -> Result<Vec<u32>, Error> {
    let term = Term::from_field_text(FIELDS.version, &version.to_string());
    let mut found = Vec::new();
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(FIELDS.version).doing("look up")?;
        let ids = segment.fast_fields().u64("id").doing("look up")?;
        let postings = index.read_postings(&term, IndexRecordOption::Basic);
        let Some(mut postings) = postings.doing("look up")? else {
            continue;
        };
        while postings.doc() != TERMINATED {
            let doc = postings.doc();
            if !segment.is_deleted(doc) {
                found.extend(ids.first(doc).and_then(|id| u32::try_from(id).ok()));
            }
            postings.advance();
        }
    }
    Ok(found)
}
