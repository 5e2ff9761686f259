//! Brings a text index to where SlateDB is.
//!
//! A record that was changed is left out, and everything else is found by its words: the audit
//! names it, and its repair brings it here. Were it to end the work, nothing of the space could
//! be searched or written, its repair included.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{UnitName, VersionId};
use slatedb::DbSnapshot;

use crate::Error;
use crate::place::Space;
use crate::slate::record::{Changed, ChunkRecord, VersionRecord};
use crate::slate::store::{self, Rows};
use crate::slate::{key, seal};
use crate::text::shelf::blocking;
use crate::text::{Book, Doc, words};

/// Chunks handed over at a time.
const SLICE: usize = 1000;

/// The words a chunk is found by: its own and those of its headings.
pub fn words_of(chunk: &model::Chunk, language: Option<&str>) -> Vec<String> {
    let headings = chunk.heading_path.iter().map(String::as_str);
    let texts = headings.chain(std::iter::once(chunk.text.as_str()));
    words::of_text(words::rules_of(language), texts)
}

/// Everything of a space, anew. It ends early once it is no longer wanted.
pub async fn all(
    view: &DbSnapshot,
    space: Space,
    book: &Arc<Book>,
    flush: u64,
    wanted: impl Fn() -> bool,
) -> Result<(), Error> {
    let cleared = Arc::clone(book);
    blocking(move || cleared.clear()).await?;
    let mut rows = Rows::under(view, &key::of_space(key::CHUNK, &space)).await?;
    let mut numbers = Numbers::new(view, space);
    let mut docs = Vec::new();
    while let Some((key, bytes)) = rows.next().await? {
        docs.extend(doc(&key, &bytes, &mut numbers).await?);
        if !wanted() {
            return Err(Error::Stopped);
        }
        if docs.len() == SLICE {
            add(book, std::mem::take(&mut docs)).await?;
        }
    }
    let last = Arc::clone(book);
    blocking(move || last.commit(flush, &[], &docs)).await?;
    Ok(())
}

async fn add(book: &Arc<Book>, docs: Vec<Doc>) -> Result<(), Error> {
    let book = Arc::clone(book);
    blocking(move || book.add(&docs)).await
}

/// Only what changed: each unit or version is taken out and put in as SlateDB has it.
pub async fn changed(
    view: &DbSnapshot,
    space: Space,
    book: &Arc<Book>,
    flush: u64,
    changed: &[Changed],
) -> Result<(), Error> {
    let mut gone = Vec::new();
    let mut docs = Vec::new();
    let mut numbers = Numbers::new(view, space);
    for one in changed {
        gone.push((one.version, one.unit.clone()));
        let prefix = prefix_of(one);
        let mut rows = Rows::under(view, &prefix).await?;
        while let Some((key, bytes)) = rows.next().await? {
            docs.extend(doc(&key, &bytes, &mut numbers).await?);
        }
    }
    // A version and a unit of it may both be named: each chunk goes in once.
    docs.sort_by_key(|doc: &Doc| doc.id);
    docs.dedup_by_key(|doc| doc.id);
    let book = Arc::clone(book);
    blocking(move || book.commit(flush, &gone, &docs)).await?;
    Ok(())
}

fn prefix_of(changed: &Changed) -> Vec<u8> {
    let Changed { space, version, .. } = changed;
    match &changed.unit {
        Some(unit) => key::of_unit(key::CHUNK, space, *version, unit),
        None => key::of_version(key::CHUNK, space, *version),
    }
}

/// `None` of a record that was changed, or is of a version that cannot say its number.
async fn doc(key: &[u8], bytes: &[u8], numbers: &mut Numbers<'_>) -> Result<Option<Doc>, Error> {
    let (version, unit, record) = match read(key, bytes) {
        Ok(read) => read,
        Err(error) => {
            tracing::warn!(space = %numbers.space, %error, "a chunk gets no text: run verify");
            return Ok(None);
        }
    };
    let number = numbers.of(version).await?;
    Ok(number.map(|number| Doc {
        id: record.id,
        number,
        version,
        unit,
        words: words_of(&record.chunk, record.language.as_deref()),
    }))
}

/// One that was written over is not believed: its id may be that of another.
fn read(key: &[u8], bytes: &[u8]) -> Result<(VersionId, UnitName, ChunkRecord), Error> {
    let place = key::read_version(key).zip(key::read_unit(key));
    let ((_, version), unit) =
        place.ok_or_else(|| Error::corrupt("chunk", "its key has no place"))?;
    if !seal::is_whole(bytes) {
        let why = format!("that of {unit} in version {version} was changed");
        return Err(Error::corrupt("chunk", why));
    }
    Ok((version, unit, ChunkRecord::read(bytes)?))
}

/// The numbers of versions, each read once; `None` of one that cannot say it.
struct Numbers<'a> {
    view: &'a DbSnapshot,
    space: Space,
    known: BTreeMap<VersionId, Option<u32>>,
}

impl<'a> Numbers<'a> {
    fn new(view: &'a DbSnapshot, space: Space) -> Self {
        let known = BTreeMap::new();
        Self { view, space, known }
    }

    async fn of(&mut self, version: VersionId) -> Result<Option<u32>, Error> {
        if let Some(number) = self.known.get(&version) {
            return Ok(*number);
        }
        let key = key::of_version(key::VERSION, &self.space, version);
        let bytes = store::get(self.view, key).await?;
        let record = bytes.and_then(|bytes| VersionRecord::read(&bytes).ok());
        let number = record.and_then(|record| record.number);
        if number.is_none() {
            let space = self.space;
            tracing::warn!(%space, %version, "a version without a number gets no text: run verify");
        }
        self.known.insert(version, number);
        Ok(number)
    }
}
