//! The text index of one space.
//!
//! A commit carries the number of the flush it completes, so after a crash it
//! can be told how far the text has come. Everything here blocks.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use model::{UnitName, VersionId};
use tantivy::directory::MmapDirectory;
use tantivy::index::{SegmentComponent, SegmentId};
use tantivy::merge_policy::LogMergePolicy;
use tantivy::query::{EnableScoring, Query as _, TermQuery};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{
    Directory as _, Index, IndexMeta, IndexReader, IndexWriter, ReloadPolicy, Searcher,
    SegmentReader, TantivyDocument, TantivyError, Term,
};

use crate::Error;
use crate::error::Doing;
use crate::text::joined::{self, Joined};
use crate::text::reading::read;

/// What a writer may gather in memory before it starts another segment.
const WRITER_BYTES: usize = 32 << 20;

/// A chunk as the text index sees it.
#[derive(Debug, Clone)]
pub struct Doc {
    pub id: u32,
    pub number: u32,
    pub version: VersionId,
    pub unit: UnitName,
    pub words: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
pub struct Fields {
    pub body: Field,
    pub id: Field,
    pub number: Field,
    pub version: Field,
    pub unit: Field,
}

pub struct Book {
    folder: PathBuf,
    directory: MmapDirectory,
    index: Index,
    reader: IndexReader,
    /// What is handed out. Beside it the reader looks at what is on the disk by now.
    searcher: Mutex<Searcher>,
    writer: Mutex<Option<IndexWriter>>,
    /// Segments that lay here when it was opened: anybody may have changed them since they were
    /// written.
    found: Mutex<HashSet<SegmentId>>,
}

/// In the order the schema adds them.
pub const FIELDS: Fields = Fields {
    body: Field::from_field_id(0),
    id: Field::from_field_id(1),
    number: Field::from_field_id(2),
    version: Field::from_field_id(3),
    unit: Field::from_field_id(4),
};

fn schema() -> Schema {
    let mut schema = Schema::builder();
    let counted = TextFieldIndexing::default()
        .set_tokenizer(joined::NAME)
        .set_index_option(IndexRecordOption::WithFreqs);
    let body = TextOptions::default().set_indexing_options(counted);
    schema.add_text_field("body", body);
    schema.add_u64_field("id", FAST | INDEXED);
    schema.add_u64_field("number", FAST);
    schema.add_text_field("version", STRING);
    schema.add_text_field("unit", STRING);
    schema.build()
}

/// Segments below this are merged eight at a time, whatever their sizes; above it only with
/// their like. A segment on its way there is written again with every few small ones that come,
/// so with many small flushes this size decides what merging costs.
const SMALL_SEGMENT: u32 = 500;

/// A segment of which so much is taken out is written again, so that disk use follows what is
/// kept.
const SPOILT_FROM: f32 = 0.25;

/// How often reclaiming looks again when segments were merged beneath it.
const RECLAIM_TRIES: usize = 8;

impl Book {
    /// Opens what lies in `folder`, or an empty index.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(folder).doing("create the folder")?;
        let directory = MmapDirectory::open(folder)
            .map_err(TantivyError::from)
            .doing("open the folder")?;
        let index = Index::open_or_create(directory.clone(), schema()).doing("open")?;
        index.tokenizers().register(joined::NAME, Joined::default());
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()
            .doing("open")?;
        let searcher = reader.searcher();
        let found = searcher.segment_readers().iter();
        Ok(Self {
            folder: folder.to_owned(),
            directory,
            index,
            found: Mutex::new(found.map(SegmentReader::segment_id).collect()),
            searcher: Mutex::new(searcher),
            reader,
            writer: Mutex::new(None),
        })
    }

    /// How far the text in a folder has come, with nothing made there that is not there: `None`
    /// where there is no folder, or nothing in it.
    pub fn look(folder: &Path) -> Result<Option<u64>, Error> {
        let mut there = match std::fs::read_dir(folder) {
            Ok(there) => there,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).doing("list the folder"),
        };
        if there.next().is_none() {
            return Ok(None);
        }
        let index = open_index(folder)?;
        let reader: IndexReader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()
            .doing("open")?;
        drop(reader);
        let metas = index.load_metas().doing("read the head")?;
        Ok(Some(flush_of(&metas).unwrap_or(0)))
    }

    /// Nothing writes here any more, and what was written outlasts a power cut, names of files
    /// included.
    pub fn close(&self) -> Result<(), Error> {
        self.settle()?;
        self.directory.sync_directory().doing("sync the folder")
    }

    /// As [`flush`](Self::flush), with nothing older to be searched: it may have come about since
    /// this was opened.
    pub fn catch_up(&self) -> Result<Option<u64>, Error> {
        let flush = self.flush()?;
        self.reload()?;
        Ok(flush)
    }

    fn reload(&self) -> Result<(), Error> {
        self.reader.reload().doing("reload")?;
        self.hand_out_from_now(self.reader.searcher());
        Ok(())
    }

    /// Answers with what was handed out until now.
    fn hand_out_from_now(&self, searcher: Searcher) -> Searcher {
        let mut handed_out = self.searcher.lock().expect("nothing panics with it");
        std::mem::replace(&mut handed_out, searcher)
    }

    /// The flush whose text is complete here; `None` before the first.
    pub fn flush(&self) -> Result<Option<u64>, Error> {
        let metas = self.index.load_metas().doing("read the head")?;
        Ok(flush_of(&metas))
    }

    pub fn searcher(&self) -> Searcher {
        let handed_out = self.searcher.lock().expect("nothing panics with it");
        handed_out.clone()
    }

    /// Takes out versions and units, puts in chunks, and commits under a flush number.
    pub fn commit(
        &self,
        flush: u64,
        gone: &[(VersionId, Option<UnitName>)],
        docs: &[Doc],
    ) -> Result<Searcher, Error> {
        self.rehearse(gone)?;
        self.with_writer(|writer| {
            for (version, unit) in gone {
                writer.delete_term(term(*version, unit.as_ref()));
            }
            add(writer, docs)?;
            #[expect(clippy::disallowed_methods, reason = "this is the flush")]
            let committed = durable::effect_blocking("index.text", || {
                let mut commit = writer.prepare_commit()?;
                commit.set_payload(&flush.to_string());
                commit.commit()
            });
            committed.doing("commit")?;
            self.reload()
        })?;
        self.forget_files();
        Ok(self.searcher())
    }

    /// Looks up what is to be taken out in what was found here, just as the commit will. It does
    /// so on a thread of the library's own, where a panic over spoilt files ends the process; and
    /// as the store has the flush by then, every process after it.
    fn rehearse(&self, gone: &[(VersionId, Option<UnitName>)]) -> Result<(), Error> {
        let found = self.found.lock().expect("nothing panics with it");
        if found.is_empty() {
            return Ok(());
        }
        let schema = self.index.schema();
        let scoring = EnableScoring::disabled_from_schema(&schema);
        let terms = gone
            .iter()
            .map(|(version, unit)| term(*version, unit.as_ref()));
        let looked_up = terms.chain([no_unit()]).map(|term| {
            TermQuery::new(term, IndexRecordOption::Basic)
                .weight(scoring)
                .doing("look up")
        });
        let looked_up = looked_up.collect::<Result<Vec<_>, _>>()?;
        read(|| {
            for segment in self.index.searchable_segments().doing("read the head")? {
                if !found.contains(&segment.id()) {
                    continue;
                }
                let segment = SegmentReader::open(&segment).doing("open a segment")?;
                for term in &looked_up {
                    term.for_each_no_score(&segment, &mut |_| {})
                        .doing("look up")?;
                }
            }
            Ok(())
        })
    }

    /// The directory remembers every file it ever mapped, gone or not, until somebody asks it
    /// what it remembers.
    fn forget_files(&self) {
        let _ = self.directory.get_cache_info();
    }

    /// Empties the index, for a rebuild; the next commit makes it so.
    pub fn clear(&self) -> Result<(), Error> {
        self.with_writer(|writer| writer.delete_all_documents().doing("clear").map(drop))?;
        self.found.lock().expect("nothing panics with it").clear();
        Ok(())
    }

    /// Adds chunks without committing.
    pub fn add(&self, docs: &[Doc]) -> Result<(), Error> {
        self.with_writer(|writer| add(writer, docs))
    }

    /// Rewrites segments that hold deleted chunks and removes files nobody needs: what was taken
    /// out is in none of them afterwards. Answers with the searcher handed out until now, which
    /// holds the old files, and with that of the new. Where a segment cannot be read, what was taken
    /// out of it stays until the text is made again.
    pub fn reclaim(&self) -> Result<(Searcher, Searcher), Error> {
        self.settle()?;
        // What lies there was never read whole, and anybody may have changed it.
        self.with_writer(|writer| read(|| self.rewrite(writer)))
    }

    fn rewrite(&self, writer: &mut IndexWriter) -> Result<(Searcher, Searcher), Error> {
        let deleting = |segment: &&SegmentReader| segment.num_deleted_docs() > 0;
        for _ in 0..RECLAIM_TRIES {
            self.reader.reload().doing("reload")?;
            let searcher = self.reader.searcher();
            let segments = searcher.segment_readers().iter().filter(deleting);
            let spoilt: Vec<_> = segments.map(SegmentReader::segment_id).collect();
            if spoilt.is_empty() {
                let collected = writer.garbage_collect_files().wait();
                collected.doing("collect garbage")?;
                return Ok((self.hand_out_from_now(searcher.clone()), searcher));
            }
            match writer.merge(&spoilt).wait() {
                // Tantivy's own merging rewrote some of them meanwhile: look again.
                Ok(_) | Err(TantivyError::InvalidArgument(_)) => {}
                Err(error) => return Err(Error::of_merge(error)),
            }
        }
        Err(Error::NotErased)
    }

    /// Waits for merges under way: they write what they read when they began.
    pub fn settle(&self) -> Result<(), Error> {
        let mut slot = self.writer.lock().expect("a commit does not panic");
        let waited = slot.take().map(IndexWriter::wait_merging_threads);
        waited.transpose().doing("merge").map(drop)
    }

    /// A writer that failed is not used again: what it had gathered is unknown.
    fn with_writer<T>(
        &self,
        work: impl FnOnce(&mut IndexWriter) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut slot = self.writer.lock().expect("a commit does not panic");
        let mut writer = match slot.take() {
            Some(writer) => writer,
            None => self.open_writer()?,
        };
        let done = work(&mut writer)?;
        *slot = Some(writer);
        Ok(done)
    }

    fn open_writer(&self) -> Result<IndexWriter, Error> {
        self.clear_unfinished()?;
        let writer = self.index.writer_with_num_threads(1, WRITER_BYTES);
        let writer = writer.doing("open for writing")?;
        let mut merging = LogMergePolicy::default();
        merging.set_min_layer_size(SMALL_SEGMENT);
        merging.set_del_docs_ratio_before_merge(SPOILT_FROM);
        writer.set_merge_policy(Box::new(merging));
        // A writer counts on from the last commit's own number, and a merge beside the next
        // commit takes what bears that number for done with. So nothing of ours may bear it.
        writer.delete_term(no_unit());
        Ok(writer)
    }

    /// A commit that was cut off may have left lists of deleted documents. They are named by
    /// a count that goes on from the last commit, so the next one would meet their names.
    fn clear_unfinished(&self) -> Result<(), Error> {
        let metas = self.index.load_metas().doing("read the head")?;
        let known = metas.segments.iter();
        let known: HashSet<_> = known
            .map(|segment| segment.relative_path(SegmentComponent::Delete))
            .collect();
        for entry in std::fs::read_dir(&self.folder).doing("list the folder")? {
            let entry = entry.doing("list the folder")?;
            let name = PathBuf::from(entry.file_name());
            if name.extension().is_some_and(|end| end == "del") && !known.contains(&name) {
                #[expect(clippy::disallowed_methods, reason = "nothing refers to it")]
                std::fs::remove_file(entry.path()).doing("clear up")?;
            }
        }
        Ok(())
    }
}

/// What lies in a folder, as it is now, whoever else has it open.
pub fn open_index(folder: &Path) -> Result<Index, Error> {
    let directory = MmapDirectory::open(folder)
        .map_err(TantivyError::from)
        .doing("open the folder")?;
    let index = Index::open(directory).doing("open")?;
    index.tokenizers().register(joined::NAME, Joined::default());
    Ok(index)
}

fn add(writer: &mut IndexWriter, docs: &[Doc]) -> Result<(), Error> {
    for doc in docs {
        let Err(refused) = writer.add_document(document(doc)) else {
            continue;
        };
        // That the worker has died, and not of what: it tells whoever waits for its end.
        let why = writer.prepare_commit().err();
        return Err(why.unwrap_or(refused)).doing("add");
    }
    Ok(())
}

fn flush_of(head: &IndexMeta) -> Option<u64> {
    head.payload.as_ref()?.parse().ok()
}

/// In no document: the name of a unit has a version before it.
fn no_unit() -> Term {
    Term::from_field_text(FIELDS.unit, "")
}

fn term(version: VersionId, unit: Option<&UnitName>) -> Term {
    match unit {
        None => Term::from_field_text(FIELDS.version, &version.to_string()),
        Some(unit) => Term::from_field_text(FIELDS.unit, &unit_term(version, unit)),
    }
}

fn document(doc: &Doc) -> TantivyDocument {
    let mut document = TantivyDocument::new();
    document.add_u64(FIELDS.id, doc.id.into());
    document.add_u64(FIELDS.number, doc.number.into());
    document.add_text(FIELDS.version, doc.version.to_string());
    document.add_text(FIELDS.unit, unit_term(doc.version, &doc.unit));
    // Nothing joined would be cut into one word of nothing.
    if !doc.words.is_empty() {
        document.add_text(FIELDS.body, joined::join(&doc.words));
    }
    document
}

pub fn unit_term(version: VersionId, unit: &UnitName) -> String {
    format!("{version}:{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::search::{Statistics, search};
    use crate::text::words;
    use crate::vector::bits::Bits;

    /// Each commit by a writer of its own, as one killed process after another makes them:
    /// segments nobody merged are merged beside the last one's commit.
    #[test]
    fn what_a_process_takes_out_first_stays_out() {
        const LAST: u32 = 12;
        let folder = tempfile::tempdir().expect("a folder");
        let version = |round: u32, part: u32| {
            VersionId::from_uuid(uuid::Uuid::from_u128(u128::from(round * 3 + part + 1)))
        };
        let mut left = 0;
        for round in 0..=LAST {
            let book = Book::open(folder.path()).expect("it opens");
            if round < LAST {
                book.merge_nothing();
            }
            let older = round.checked_sub(2).map(|round| (version(round, 1), None));
            let newer = round.checked_sub(1).map(|round| (version(round, 0), None));
            let gone: Vec<_> = older.into_iter().chain(newer).collect();
            let docs = [0, 1, 2].map(|part| doc(round * 3 + part, version(round, part)));
            left += docs.len() - gone.len();
            let flush = u64::from(round) + 1;
            book.commit(flush, &gone, &docs).expect("it commits");
            book.settle().expect("it settles");
        }
        let book = Book::open(folder.path()).expect("it opens");
        assert_eq!(book.searcher().num_docs(), left as u64);
    }

    /// Every entry has one when it is written.
    #[test]
    fn an_entry_that_says_no_id_is_a_fault_of_the_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let book = Book::open(folder.path()).expect("it opens");
        let mut nameless = TantivyDocument::new();
        nameless.add_u64(FIELDS.number, 0);
        nameless.add_text(FIELDS.body, "mill");
        let written = book.with_writer(|writer| writer.add_document(nameless).doing("add"));
        written.expect("it is added");
        let other = doc(1, VersionId::from_uuid(uuid::Uuid::nil()));
        let searcher = book.commit(1, &[], &[other]).expect("it commits");

        let asked = words::of_query(&["en".to_owned()], "mill");
        let live = Bits::from(&[0, 1].into_iter().collect());
        let all = Statistics {
            chunks: 2,
            words: 2,
        };
        let error = search(&searcher, &asked, &live, all, 9).expect_err("it has no id");
        assert!(error.is_of_spoilt_text(), "{error}");
    }

    #[test]
    fn many_small_flushes_are_each_written_again_only_a_few_times() {
        const FLUSHES: u32 = 100;
        const DOCS: u32 = 40;
        let folder = tempfile::tempdir().expect("a folder");
        let book = Book::open(folder.path()).expect("it opens");
        let (mut known, mut merged) = (HashSet::new(), 0);
        for flush in 0..FLUSHES {
            let docs = (flush * DOCS..(flush + 1) * DOCS)
                .map(|id| doc(id, VersionId::from_uuid(uuid::Uuid::from_u128(id.into()))));
            let docs: Vec<_> = docs.collect();
            book.commit(u64::from(flush) + 1, &[], &docs)
                .expect("it commits");
            book.settle().expect("it settles");
            for segment in book.index.searchable_segment_metas().expect("a head") {
                let new = known.insert(segment.id()) && segment.max_doc() > DOCS;
                merged += if new { segment.max_doc() } else { 0 };
            }
        }
        let rewritten = f64::from(merged) / f64::from(FLUSHES * DOCS);
        assert!((1.0..3.0).contains(&rewritten), "{rewritten} times");
    }

    impl Book {
        fn merge_nothing(&self) {
            let writer = self.open_writer().expect("it opens");
            writer.set_merge_policy(Box::new(tantivy::merge_policy::NoMergePolicy));
            *self.writer.lock().expect("nothing panics") = Some(writer);
        }
    }

    fn doc(id: u32, version: VersionId) -> Doc {
        Doc {
            id,
            number: id,
            version,
            unit: UnitName::new("u").expect("a name"),
            words: vec!["mill".to_owned()],
        }
    }

    #[test]
    fn what_was_committed_since_it_was_opened_is_searched_once_it_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let book = Book::open(folder.path()).expect("it opens");
        let other = Book::open(folder.path()).expect("it opens");
        let version = VersionId::from_uuid(uuid::Uuid::from_u128(1));
        other
            .commit(1, &[], &[doc(0, version)])
            .expect("it commits");
        assert_eq!(book.catch_up().expect("a number"), Some(1));
        assert_eq!(book.searcher().num_docs(), 1);
    }

    #[test]
    fn a_commit_cut_off_before_its_head_was_written_can_be_made_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let versions = [1, 2].map(|n| VersionId::from_uuid(uuid::Uuid::from_u128(n)));
        let docs = [doc(1, versions[0]), doc(2, versions[1])];
        let book = Book::open(folder.path()).expect("it opens");
        book.commit(1, &[], &docs).expect("it commits");
        let head = folder.path().join("meta.json");
        let before = std::fs::read(&head).expect("there is a head");
        let gone = [(versions[0], None)];
        book.commit(2, &gone, &[]).expect("it commits");
        drop(book);
        #[expect(clippy::disallowed_methods, reason = "the crash is made here")]
        std::fs::write(&head, before).expect("the head is as it was");

        let book = Book::open(folder.path()).expect("it opens");
        assert_eq!(book.flush().expect("a number"), Some(1));
        let searcher = book.commit(2, &gone, &[]).expect("it commits again");
        assert_eq!(searcher.num_docs(), 1);
    }
}
