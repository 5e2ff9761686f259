//! The text entries of a space, turned back from words to chunks.
//!
//! The index knows which chunks a word is in; the audit needs which words a chunk has. One
//! walk over all words adds, for each entry, a number made of word and count: the sum is the
//! same whatever the order, and it is that of the chunk's own words if nothing was changed.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use model::{ChunkId, UnitName, VersionId};
use tantivy::index::{SegmentComponent, SegmentMeta};
use tantivy::postings::Postings as _;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Directory as _, DocSet as _, Index, Searcher, SegmentReader, TERMINATED};

use super::{Fault, What};
use crate::Error;
use crate::error::Doing;
use crate::place::Space;
use crate::snapshot::Snapshot;
use crate::text::book::{FIELDS, open_index, unit_term};
use crate::text::reading::reading;

pub struct Texts {
    searcher: Option<Searcher>,
    found: HashMap<u32, Note>,
    files_changed: bool,
}

#[derive(Clone, Copy)]
struct Note {
    sum: u64,
    entries: u32,
}

impl Texts {
    pub async fn read(snapshot: &Snapshot, space: Space) -> Result<Self, Error> {
        let unread = |files_changed| Self {
            searcher: None,
            found: HashMap::new(),
            files_changed,
        };
        // Asked before it is opened, which would make it again.
        if snapshot.text_was_spoilt(space).await? {
            return Ok(unread(true));
        }
        let Some(searcher) = snapshot.searcher(space).await? else {
            return Ok(unread(false));
        };
        let (walked, folder) = (searcher.clone(), snapshot.text_folder(space));
        let (found, files_changed) = match reading(move || walk(&walked, &folder)).await {
            Err(error) if error.is_of_spoilt_text() => (HashMap::new(), true),
            walked => walked?,
        };
        if files_changed && snapshot.text_has_gone(space).await? {
            return Err(Error::ForgottenSpace);
        }
        Ok(Self {
            searcher: Some(searcher),
            found,
            files_changed,
        })
    }

    /// What is wrong with the entry of a chunk, which has it from here on.
    pub fn take(
        &mut self,
        id: u32,
        chunk: &ChunkId,
        number: u32,
        words: &[String],
    ) -> Option<What> {
        if self.files_changed {
            // Nothing read from there can be believed; said once, for the whole.
            self.found.remove(&id);
            return None;
        }
        let Some(note) = self.found.remove(&id) else {
            return Some(What::NoText);
        };
        let whole = note.entries == 1 && note.sum == expected(chunk, number, words);
        (!whole).then_some(What::TextChanged)
    }

    pub fn take_orphan(&mut self, id: u32) {
        self.found.remove(&id);
    }

    /// Entries nobody asked for, with what they say they are of.
    pub async fn strays(self) -> Result<Vec<Fault>, Error> {
        let changed = vec![Fault {
            version: None,
            unit: None,
            ordinal: None,
            what: What::TextFiles,
        }];
        if self.files_changed {
            return Ok(changed);
        }
        let Some(searcher) = self.searcher.filter(|_| !self.found.is_empty()) else {
            return Ok(Vec::new());
        };
        let found = self.found;
        match reading(move || places(&searcher, &found)).await {
            Err(error) if error.is_of_spoilt_text() => Ok(changed),
            found => found,
        }
    }
}

fn walk(searcher: &Searcher, folder: &Path) -> Result<(HashMap<u32, Note>, bool), Error> {
    let mut found = HashMap::new();
    if !is_whole(folder)? {
        return Ok((found, true));
    }
    for segment in searcher.segment_readers() {
        let sums = sums(segment)?;
        let ids = segment.fast_fields().u64("id").doing("read")?;
        let numbers = segment.fast_fields().u64("number").doing("read")?;
        for doc in segment.doc_ids_alive() {
            let id = ids.first(doc).and_then(|id| u32::try_from(id).ok());
            let number = numbers.first(doc).unwrap_or(u64::MAX);
            let entry = found
                .entry(id.unwrap_or(u32::MAX))
                .or_insert(Note { sum: 0, entries: 0 });
            entry.entries += 1;
            entry.sum = sums[doc as usize].wrapping_add(term(3, &number.to_be_bytes(), 1));
        }
    }
    Ok((found, false))
}

/// How often files are looked at again that were merged meanwhile.
const LOOKS: usize = 8;

/// Whether the files of an index are those that were written. Merging replaces some at any time:
/// what is missing counts while it is still named by the head.
fn is_whole(folder: &Path) -> Result<bool, Error> {
    for _ in 0..LOOKS {
        let before = match files(folder) {
            Ok((index, files)) if is_as_written(&index, &files)? => return Ok(true),
            Ok((_, files)) => Some(files),
            Err(error) if error.is_of_spoilt_text() => None,
            Err(error) => return Err(error),
        };
        if before == files(folder).ok().map(|(_, files)| files) {
            return Ok(false);
        }
    }
    Ok(true)
}

const PARTS: [SegmentComponent; 7] = [
    SegmentComponent::Postings,
    SegmentComponent::Positions,
    SegmentComponent::Terms,
    SegmentComponent::Store,
    SegmentComponent::FastFields,
    SegmentComponent::FieldNorms,
    SegmentComponent::Delete,
];

/// Those of the segments its head names, opened for itself: what the searcher came from may have
/// been closed since, and know nothing of newer files.
fn files(folder: &Path) -> Result<(Index, BTreeSet<PathBuf>), Error> {
    let index = open_index(folder)?;
    let managed = index.directory().list_managed_files();
    let metas = index.load_metas().doing("read the head")?;
    let of = |segment: &SegmentMeta| PARTS.map(|part| segment.relative_path(part));
    let named = metas.segments.iter().flat_map(of);
    let files = named.filter(|name| managed.contains(name)).collect();
    Ok((index, files))
}

fn is_as_written(index: &Index, files: &BTreeSet<PathBuf>) -> Result<bool, Error> {
    let metas = index.load_metas().doing("read the head")?;
    let postings = |one: &SegmentMeta| one.relative_path(SegmentComponent::Postings);
    // What the list of files does not have is not looked at.
    if !metas
        .segments
        .iter()
        .all(|one| files.contains(&postings(one)))
    {
        return Ok(false);
    }
    // One that is open can be read when its name is gone.
    let there = |name: &PathBuf| index.directory().exists(name).unwrap_or(true);
    if !files.iter().all(there) {
        return Ok(false);
    }
    match index.validate_checksum().doing("check") {
        Ok(spoilt) => Ok(spoilt.is_empty()),
        Err(error) if error.is_of_spoilt_text() => Ok(false),
        Err(error) => Err(error),
    }
}

const WALKED: [(u8, Field); 3] = [(0, FIELDS.body), (1, FIELDS.version), (2, FIELDS.unit)];

fn sums(segment: &SegmentReader) -> Result<Vec<u64>, Error> {
    let mut sums = vec![0u64; segment.max_doc() as usize];
    for (tag, field) in WALKED {
        let index = segment.inverted_index(field).doing("read")?;
        let mut terms = index.terms().stream().doing("read")?;
        while terms.advance() {
            let postings = index
                .read_postings_from_terminfo(terms.value(), IndexRecordOption::WithFreqs)
                .doing("read")?;
            let mut postings = postings;
            while postings.doc() != TERMINATED {
                let count = if tag == 0 { postings.term_freq() } else { 1 };
                let sum = &mut sums[postings.doc() as usize];
                *sum = sum.wrapping_add(term(tag, terms.key(), count));
                postings.advance();
            }
        }
    }
    Ok(sums)
}

/// What [`sums`] must give for a chunk.
fn expected(chunk: &ChunkId, number: u32, words: &[String]) -> u64 {
    let mut counts: HashMap<&str, u32> = HashMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    let body = counts
        .iter()
        .map(|(word, count)| term(0, word.as_bytes(), *count));
    let version = term(1, chunk.version.to_string().as_bytes(), 1);
    let unit = term(2, unit_term(chunk.version, &chunk.unit).as_bytes(), 1);
    let number = term(3, &u64::from(number).to_be_bytes(), 1);
    body.chain([version, unit, number])
        .fold(0, u64::wrapping_add)
}

fn term(tag: u8, bytes: &[u8], count: u32) -> u64 {
    let mut hasher = DefaultHasher::new();
    (tag, bytes, count).hash(&mut hasher);
    hasher.finish()
}

/// Which version and unit some entries say they are of.
fn places(searcher: &Searcher, wanted: &HashMap<u32, Note>) -> Result<Vec<Fault>, Error> {
    let mut faults = Vec::new();
    for segment in searcher.segment_readers() {
        let ids = segment.fast_fields().u64("id").doing("read")?;
        let index = segment.inverted_index(FIELDS.unit).doing("read")?;
        let mut terms = index.terms().stream().doing("read")?;
        while terms.advance() {
            let mut postings = index
                .read_postings_from_terminfo(terms.value(), IndexRecordOption::Basic)
                .doing("read")?;
            while postings.doc() != TERMINATED {
                let doc = postings.doc();
                let id = ids.first(doc).and_then(|id| u32::try_from(id).ok());
                let stray = id.is_none_or(|id| wanted.contains_key(&id));
                if stray && !segment.is_deleted(doc) {
                    faults.push(stray_fault(terms.key()));
                }
                postings.advance();
            }
        }
    }
    faults.sort();
    faults.dedup();
    Ok(faults)
}

/// From `version:unit`.
fn stray_fault(key: &[u8]) -> Fault {
    let text = String::from_utf8_lossy(key);
    let (version, unit) = text.split_once(':').unwrap_or((&text, ""));
    Fault {
        version: version.parse::<VersionId>().ok(),
        unit: UnitName::new(unit).ok(),
        ordinal: None,
        what: What::StrayText,
    }
}
