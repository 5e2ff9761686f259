//! Ways to do harm to what is stored of one document.

use rand::Rng as _;
use rand::rngs::StdRng;
use serde_json::Value;
use uuid::Uuid;

use super::stores::{CHUNK, Stores, UNIT, VECTOR, VERSION};
use crate::mill::text;

/// A document and the version of it that answers.
#[derive(Debug, Clone)]
pub struct Target {
    pub document: Uuid,
    pub version: Uuid,
    pub content_hash: String,
}

impl Target {
    pub fn read(row: &Value) -> Self {
        let id = |name: &str| text(&row[name]).parse().unwrap();
        Self {
            document: id("document_id"),
            version: id("version_id"),
            content_hash: text(&row["content_hash"]).to_owned(),
        }
    }
}

/// Whom `verify` must name for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expected {
    Document(Uuid),
    Version(Uuid),
    Object(String),
    /// What status tells, by kind.
    Tally(String),
    Job(Uuid),
    /// By name.
    Kb(String),
    Nobody,
}

pub struct Done {
    pub expected: Vec<Expected>,
    /// The chunk it happened to, where it was one.
    pub chunk: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thing {
    Original,
    Text,
    Structure,
    Unit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harm {
    Lose(Thing),
    Change(Thing),
    /// To half of it.
    Cut(Thing),
    /// With the document's id.
    OfDocument(&'static str),
    /// With the version's id.
    OfVersion(&'static str),
    /// The same, where only the ledger knew, and how many findings tell of it.
    OfLedger(usize, &'static str),
    /// Of a document whose only version could not be read.
    LoseUnread,
    ChangeUnread,
    LoseUnreadVersion,
    LoseUnreadRun,
    /// With the id of one of the documents a job removed, by place.
    OfRemoved(usize, &'static str),
    /// With the document's id, and its job has counted what is not there any more.
    OfRun(&'static str),
    /// A count of status, by kind.
    Miscount(&'static str, &'static str),
    /// Of the job that brought every document.
    MiscountJob(&'static str),
    /// Of the job that found every document there.
    ChangeJob(&'static str),
    /// With the id of the job that brought every document.
    OfJobNote(&'static str),
    /// The one that could read nothing.
    LoseJob,
    /// The one that brought what was removed since.
    RenameJob,
    RenameDocument,
    DeleteRecord(u8),
    /// One of the bytes from here to the end of the record.
    ChangeRecord(u8, usize),
    /// To half of it.
    CutRecord(u8),
    LoseEntry,
    ChangeEntry,
    DoubleEntry,
    PlantVersion,
    PlantVector,
    PlantReuse,
    PlantEntry,
    PlantObject,
    PlantPicture,
}

use Harm::{ChangeRecord, DeleteRecord, OfDocument, OfLedger, OfVersion};

/// Where the bytes of a record begin that nothing else depends on for being found.
const CHUNK_BODY: usize = 9 + 4 + 32 + 1;
const VECTOR_BODY: usize = 9 + 4 + 4 + 16 + 20;
const UNIT_COUNTS: usize = 1 + 8 + 4;

pub const HARMS: &[Harm] = &[
    Harm::Cut(Thing::Original),
    Harm::Cut(Thing::Text),
    Harm::Cut(Thing::Structure),
    Harm::Cut(Thing::Unit),
    Harm::Lose(Thing::Original),
    Harm::Lose(Thing::Text),
    Harm::Lose(Thing::Structure),
    Harm::Lose(Thing::Unit),
    Harm::Change(Thing::Original),
    Harm::Change(Thing::Text),
    Harm::Change(Thing::Structure),
    Harm::Change(Thing::Unit),
    OfDocument("DELETE FROM documents WHERE id = $1"),
    OfDocument("UPDATE documents SET source_uri = source_uri || '.moved' WHERE id = $1"),
    OfDocument("UPDATE documents SET kb_id = zeroblob(16) WHERE id = $1"),
    OfDocument("UPDATE documents SET latest_version = zeroblob(16) WHERE id = $1"),
    OfDocument("UPDATE documents SET ledger_head = zeroblob(32) WHERE id = $1"),
    OfDocument("UPDATE documents SET ledger_head = NULL WHERE id = $1"),
    OfDocument("UPDATE documents SET ledger_head = zeroblob(7) WHERE id = $1"),
    OfDocument("UPDATE documents SET ledger_sum = zeroblob(32) WHERE id = $1"),
    OfDocument("UPDATE documents SET removed_at = '2101-01-01T00:00:00+00:00' WHERE id = $1"),
    OfDocument("UPDATE documents SET removed_order = 't' WHERE id = $1"),
    OfDocument("UPDATE documents SET removed_at = '1', removed_order = 'u' WHERE id = $1"),
    OfDocument(
        "UPDATE documents SET removed_at = '2101-01-01T00:00:00+00:00', removed_order = 'u'
         WHERE id = $1",
    ),
    OfDocument("UPDATE documents SET source_id = zeroblob(16) WHERE id = $1"),
    OfDocument("DELETE FROM witnesses WHERE owner = $1"),
    OfDocument("UPDATE witnesses SET facts = '{}' WHERE owner = $1"),
    OfDocument("UPDATE witnesses SET sum = zeroblob(7) WHERE owner = $1"),
    OfDocument("UPDATE witnesses SET owner = zeroblob(16) WHERE owner = $1"),
    OfDocument("UPDATE witnesses SET subject = zeroblob(16) WHERE owner = $1"),
    Harm::OfRemoved(0, "DELETE FROM job_removals WHERE document_id = $1"),
    Harm::OfRemoved(
        1,
        "UPDATE job_removals SET before_order = 't' WHERE document_id = $1",
    ),
    Harm::OfRemoved(2, "UPDATE documents SET removed_at = NULL WHERE id = $1"),
    Harm::OfRemoved(3, "DELETE FROM documents WHERE id = $1"),
    OfDocument("DELETE FROM activations WHERE document_id = $1"),
    OfDocument("UPDATE activations SET number = number + 1000 WHERE document_id = $1"),
    OfDocument("UPDATE activations SET chunks = chunks + 1 WHERE document_id = $1"),
    OfDocument("UPDATE activations SET closed_at = opened_at WHERE document_id = $1"),
    OfDocument("UPDATE activations SET opened_by = zeroblob(16) WHERE document_id = $1"),
    OfDocument("UPDATE activations SET kb_id = zeroblob(16) WHERE document_id = $1"),
    OfDocument("UPDATE activations SET tenant_id = zeroblob(16) WHERE document_id = $1"),
    OfDocument("UPDATE activations SET cause = 'rollback' WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET version_id = zeroblob(16) WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET kb_id = zeroblob(16) WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET generation_id = zeroblob(16) WHERE document_id = $1"),
    OfDocument("UPDATE activations SET needs_flush = 0 WHERE document_id = $1"),
    OfDocument("UPDATE activations SET replaced = zeroblob(16) WHERE document_id = $1"),
    Harm::OfRun("DELETE FROM ingestion_runs WHERE document_id = $1"),
    Harm::OfRun("UPDATE ingestion_runs SET chunks_skipped = 99 WHERE document_id = $1"),
    Harm::OfRun("UPDATE ingestion_runs SET counted_in = 99 WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET source_order = 't' WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET content_hash = zeroblob(32) WHERE document_id = $1"),
    Harm::OfRun("UPDATE ingestion_runs SET status = 'failed' WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET source_uri = 'file:///gone' WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET superseded = TRUE WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET chunks_created = 0 WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET created_at = updated_at WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET started_at = NULL WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET finished_at = NULL WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET tokens_total = 1 WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET error_code = 'unreadable' WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET error_message = 'torn' WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET config = '{}' WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET config = 'no JSON' WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET initiated_by = zeroblob(16) WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET run_type = 'repair' WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET stage = 'prep' WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET source_id = zeroblob(16) WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET document_id = zeroblob(16) WHERE document_id = $1"),
    Harm::OfRun("UPDATE ingestion_runs SET job_id = NULL WHERE document_id = $1"),
    OfDocument("UPDATE ingestion_runs SET id = randomblob(16) WHERE document_id = $1"),
    Harm::LoseUnreadRun,
    OfDocument("DELETE FROM run_witnesses WHERE document_id = $1"),
    OfDocument("UPDATE run_witnesses SET facts = '{}' WHERE document_id = $1"),
    OfDocument("UPDATE run_witnesses SET sum = zeroblob(7) WHERE document_id = $1"),
    OfDocument("UPDATE run_witnesses SET document_id = zeroblob(16) WHERE document_id = $1"),
    OfVersion("DELETE FROM job_versions WHERE version_id = $1"),
    OfVersion("DELETE FROM document_versions WHERE id = $1"),
    OfVersion("UPDATE document_versions SET content_hash = zeroblob(32) WHERE id = $1"),
    OfVersion("UPDATE document_versions SET size = size + 1 WHERE id = $1"),
    OfVersion("UPDATE document_versions SET source_order = source_order || '0' WHERE id = $1"),
    OfVersion("UPDATE document_versions SET order_sum = zeroblob(32) WHERE id = $1"),
    OfVersion("UPDATE document_versions SET root_hash = zeroblob(32) WHERE id = $1"),
    OfVersion("UPDATE document_versions SET number = number + 1000 WHERE id = $1"),
    OfVersion("UPDATE document_versions SET chunks = chunks + 1 WHERE id = $1"),
    OfVersion("UPDATE document_versions SET tokens = tokens + 1 WHERE id = $1"),
    OfVersion("UPDATE document_versions SET units_total = 0 WHERE id = $1"),
    OfVersion("UPDATE document_versions SET state = 'pending' WHERE id = $1"),
    OfVersion("UPDATE document_versions SET needs_flush = 1000000 WHERE id = $1"),
    OfVersion("UPDATE document_versions SET text_hash = zeroblob(32) WHERE id = $1"),
    OfVersion("UPDATE document_versions SET text_hash = NULL WHERE id = $1"),
    OfVersion("UPDATE document_versions SET parsed_hash = NULL WHERE id = $1"),
    OfVersion("UPDATE document_versions SET order_sum = NULL WHERE id = $1"),
    OfVersion("UPDATE document_versions SET needs_flush = NULL WHERE id = $1"),
    OfVersion("UPDATE document_versions SET metadata = 'no JSON' WHERE id = $1"),
    OfVersion("UPDATE document_versions SET created_at = 'no time' WHERE id = $1"),
    OfVersion("UPDATE document_units SET artifact_hash = NULL WHERE version_id = $1"),
    OfVersion("DELETE FROM document_units WHERE version_id = $1"),
    OfVersion("UPDATE document_units SET chunks = chunks + 1 WHERE version_id = $1"),
    OfVersion("UPDATE document_units SET state = 'open' WHERE version_id = $1"),
    OfVersion("UPDATE document_units SET state = 'gap' WHERE version_id = $1"),
    OfVersion("UPDATE document_units SET artifact_hash = zeroblob(32) WHERE version_id = $1"),
    OfVersion("UPDATE document_versions SET kb_id = zeroblob(16) WHERE id = $1"),
    OfVersion("UPDATE document_versions SET tenant_id = zeroblob(16) WHERE id = $1"),
    OfVersion("UPDATE document_versions SET generation_id = zeroblob(16) WHERE id = $1"),
    OfVersion("UPDATE document_versions SET document_id = zeroblob(16) WHERE id = $1"),
    OfVersion("UPDATE document_versions SET id = randomblob(16) WHERE id = $1"),
    OfVersion("UPDATE document_versions SET run_id = zeroblob(16) WHERE id = $1"),
    OfVersion("UPDATE document_versions SET parsed_hash = NULL, pass = 3 WHERE id = $1"),
    OfVersion("UPDATE document_versions SET language = 'xx' WHERE id = $1"),
    OfVersion("UPDATE document_versions SET media_type = 'text/plain' WHERE id = $1"),
    OfVersion("INSERT INTO pages (version_id, page, width, height) VALUES ($1, 1, 1.0, 1.0)"),
    OfVersion("UPDATE document_units SET tokens = tokens + 1 WHERE version_id = $1"),
    OfVersion("UPDATE document_units SET pass = pass + 1 WHERE version_id = $1"),
    OfVersion("DELETE FROM version_metadata WHERE version_id = $1"),
    OfVersion("UPDATE version_metadata SET value = 'other' WHERE version_id = $1"),
    OfVersion("UPDATE version_metadata SET kb_id = zeroblob(16) WHERE version_id = $1"),
    OfVersion("UPDATE document_versions SET metadata = '{}' WHERE id = $1"),
    OfVersion("UPDATE document_versions SET metadata = '{\"deep\":{}}' WHERE id = $1"),
    OfVersion("UPDATE document_versions SET title = 'Another' WHERE id = $1"),
    OfVersion("UPDATE document_versions SET title = NULL WHERE id = $1"),
    OfVersion("UPDATE document_versions SET filename = 'another.md' WHERE id = $1"),
    OfVersion("UPDATE document_versions SET warnings = '[{\"a\":1}]' WHERE id = $1"),
    OfVersion("UPDATE document_versions SET gaps = '[{\"a\":1}]' WHERE id = $1"),
    OfVersion("UPDATE document_versions SET gaps = 'no JSON' WHERE id = $1"),
    OfVersion(
        "UPDATE document_versions SET created_at = '2001-01-01T00:00:00+00:00' WHERE id = $1",
    ),
    OfVersion("UPDATE document_versions SET claimed_directly = TRUE WHERE id = $1"),
    OfVersion("UPDATE document_units SET reason = 'it was torn' WHERE version_id = $1"),
    OfVersion("UPDATE document_units SET position = position + 7 WHERE version_id = $1"),
    OfVersion("UPDATE document_units SET reused = reused + 1 WHERE version_id = $1"),
    OfVersion("UPDATE document_units SET flush = flush + 1 WHERE version_id = $1"),
    OfVersion("UPDATE document_units SET completed_at = NULL WHERE version_id = $1"),
    OfVersion("UPDATE metadata_given SET metadata = '{}' WHERE version_id = $1"),
    OfVersion("DELETE FROM metadata_given WHERE version_id = $1"),
    OfVersion("DELETE FROM job_versions WHERE version_id = $1 AND outcome = 'skipped'"),
    OfVersion("DELETE FROM job_versions WHERE version_id = $1 AND outcome = 'new'"),
    OfVersion(
        "UPDATE job_versions SET outcome = 'new' WHERE version_id = $1 AND outcome = 'skipped'",
    ),
    OfVersion(
        "UPDATE job_versions SET job_id = zeroblob(16) WHERE version_id = $1 AND outcome = 'new'",
    ),
    OfVersion("DELETE FROM version_witnesses WHERE version_id = $1"),
    OfVersion("UPDATE version_witnesses SET facts = '{}' WHERE version_id = $1"),
    OfVersion("UPDATE version_witnesses SET claims = zeroblob(32) WHERE version_id = $1"),
    OfVersion("UPDATE version_witnesses SET sum = zeroblob(32) WHERE version_id = $1"),
    OfVersion("UPDATE version_witnesses SET sum = zeroblob(7) WHERE version_id = $1"),
    OfDocument("UPDATE documents SET created_at = '2001-01-01T00:00:00+00:00' WHERE id = $1"),
    OfLedger(1, "DELETE FROM ledger WHERE document_id = $1"),
    OfLedger(
        1,
        "UPDATE ledger SET kind = 'rolled_back' WHERE document_id = $1",
    ),
    OfLedger(
        1,
        "UPDATE ledger SET root_hash = zeroblob(32) WHERE document_id = $1",
    ),
    OfLedger(
        1,
        "UPDATE ledger SET content_hash = zeroblob(32) WHERE document_id = $1",
    ),
    OfLedger(
        1,
        "UPDATE ledger SET prev = zeroblob(32) WHERE document_id = $1",
    ),
    OfLedger(
        1,
        "UPDATE ledger SET hash = zeroblob(32) WHERE document_id = $1",
    ),
    OfLedger(
        2,
        "UPDATE ledger SET hash = zeroblob(7) WHERE document_id = $1",
    ),
    OfLedger(
        1,
        "UPDATE ledger SET at = '2001-01-01T00:00:00+00:00' WHERE document_id = $1",
    ),
    Harm::LoseUnread,
    Harm::ChangeUnread,
    Harm::LoseUnreadVersion,
    Harm::Miscount("documents", "n = n + 1"),
    Harm::Miscount("runs.succeeded", "n = 0"),
    Harm::Miscount("active.documents", "n = n - 1"),
    Harm::Miscount("active.chunks", "n = n + 100000"),
    Harm::MiscountJob("chunks_seen = chunks_seen + 1, chunks_processed = chunks_processed + 1"),
    Harm::MiscountJob("chunks_processed = 0, chunks_skipped = 0, chunks_error = chunks_seen"),
    Harm::MiscountJob("beginnings = 7"),
    Harm::MiscountJob("docs_seen = docs_seen + 1"),
    Harm::MiscountJob("docs_seen = docs_seen - 1, docs_skipped = docs_skipped + 1"),
    Harm::MiscountJob("docs_refused = 3"),
    Harm::MiscountJob("runs_open = runs_open + 2"),
    Harm::MiscountJob("runs_failed = runs_failed + 1"),
    Harm::ChangeJob("status = 'failed'"),
    Harm::ChangeJob("config = '{}'"),
    Harm::ChangeJob("config = 'no JSON'"),
    Harm::ChangeJob("kb_id = zeroblob(16)"),
    Harm::ChangeJob("initiated_by = zeroblob(16)"),
    Harm::ChangeJob("cursor = NULL, exhausted = FALSE"),
    Harm::ChangeJob("error = 'it was torn'"),
    Harm::ChangeJob("purged = TRUE"),
    Harm::ChangeJob("created_at = '2001-01-01T00:00:00+00:00'"),
    Harm::ChangeJob("started_at = NULL, finished_at = NULL"),
    Harm::OfJobNote("DELETE FROM job_witnesses WHERE job_id = $1"),
    Harm::OfJobNote("DELETE FROM job_batches WHERE job_id = $1"),
    Harm::OfJobNote("UPDATE job_batches SET begun = begun + 1 WHERE job_id = $1"),
    Harm::OfJobNote("UPDATE job_witnesses SET facts = '{}' WHERE job_id = $1"),
    Harm::LoseJob,
    Harm::RenameJob,
    Harm::RenameDocument,
    DeleteRecord(VERSION),
    DeleteRecord(UNIT),
    DeleteRecord(CHUNK),
    DeleteRecord(VECTOR),
    ChangeRecord(VERSION, 1),
    ChangeRecord(UNIT, UNIT_COUNTS),
    ChangeRecord(CHUNK, CHUNK_BODY),
    ChangeRecord(VECTOR, VECTOR_BODY),
    ChangeRecord(VERSION, 0),
    ChangeRecord(CHUNK, 0),
    ChangeRecord(VECTOR, 0),
    Harm::CutRecord(UNIT),
    Harm::CutRecord(CHUNK),
    Harm::CutRecord(VECTOR),
    Harm::LoseEntry,
    Harm::ChangeEntry,
    Harm::DoubleEntry,
    Harm::PlantVersion,
    Harm::PlantVector,
    Harm::PlantReuse,
    Harm::PlantEntry,
    Harm::PlantObject,
    Harm::PlantPicture,
];

impl Harm {
    /// Whether what is left proves what was there.
    pub fn can_be_mended(self) -> bool {
        !matches!(
            self,
            Self::Lose(Thing::Original)
                | Self::Change(Thing::Original)
                | Self::Cut(Thing::Original)
                | Self::LoseUnread
                | Self::ChangeUnread
                | Self::OfLedger(..)
        )
    }

    /// How many findings tell of it, where that is known.
    pub fn findings(self) -> Option<usize> {
        match self {
            OfLedger(many, _) => Some(many),
            _ => None,
        }
    }

    /// Whether it harms one of the documents that do not answer, and which.
    pub fn silent(self) -> Option<usize> {
        match self {
            Self::LoseUnread => Some(0),
            Self::ChangeUnread => Some(1),
            Self::LoseUnreadVersion => Some(2),
            Self::LoseUnreadRun => Some(3),
            Self::OfRemoved(at, _) => Some(4 + at),
            _ => None,
        }
    }

    pub async fn to(self, stores: &mut Stores, target: &Target, random: &mut StdRng) -> Done {
        let mut chunk = None;
        let mut expected = Expected::Document(target.document);
        let mut besides = None;
        match self {
            Self::LoseUnread => stores.lose_original(target),
            Self::ChangeUnread => stores.write_over_original(target),
            Self::LoseUnreadVersion => {
                let sql = "DELETE FROM document_versions WHERE id = $1";
                stores.execute_again(sql, target.version).await;
            }
            Self::LoseUnreadRun => {
                let sql = "DELETE FROM ingestion_runs WHERE document_id = $1";
                stores.execute_again(sql, target.document).await;
                besides = Some(Expected::Job(stores.job(2).await));
            }
            Self::OfRemoved(_, sql) => stores.execute_again(sql, target.document).await,
            Self::Miscount(kind, change) => {
                stores.miscount(kind, change).await;
                expected = Expected::Tally(kind.to_owned());
            }
            Self::MiscountJob(change) => {
                let job = stores.job(0).await;
                let sql = format!("UPDATE jobs SET {change} WHERE id = $1");
                stores.execute(&sql, job).await;
                expected = Expected::Job(job);
            }
            Self::ChangeJob(change) => {
                let job = stores.job(1).await;
                let sql = format!("UPDATE jobs SET {change} WHERE id = $1");
                stores.execute(&sql, job).await;
                expected = Expected::Job(job);
            }
            Self::OfJobNote(sql) => {
                let job = stores.job(0).await;
                stores.execute_again(sql, job).await;
                expected = Expected::Job(job);
            }
            Self::LoseJob => {
                let job = stores.job(2).await;
                stores
                    .execute_again("DELETE FROM jobs WHERE id = $1", job)
                    .await;
                expected = Expected::Job(job);
            }
            Self::RenameJob => {
                let job = stores.job(3).await;
                // Behind all others, which are asked for by their place.
                let sql = format!("UPDATE jobs SET id = X'{}' WHERE id = $1", "ff".repeat(16));
                stores.execute(&sql, job).await;
                expected = Expected::Job(job);
            }
            Self::RenameDocument => {
                let other = Uuid::new_v4();
                let sql = format!(
                    "UPDATE documents SET id = X'{}' WHERE id = $1",
                    other.simple()
                );
                stores.execute(&sql, target.document).await;
                besides = Some(Expected::Document(other));
            }
            Self::OfRun(sql) => {
                stores.execute(sql, target.document).await;
                besides = Some(Expected::Job(stores.job(0).await));
            }
            Self::Lose(thing) => stores.lose(target, thing),
            Self::Change(thing) => stores.change(target, thing, random),
            Self::Cut(thing) => stores.cut(target, thing),
            OfDocument(sql) | OfLedger(_, sql) => stores.execute(sql, target.document).await,
            OfVersion(sql) => stores.execute(sql, target.version).await,
            DeleteRecord(kind) => {
                let (key, _) = stores.pick(kind, target, random).await;
                chunk = stores.place(kind, &key).await;
                stores.db.delete(&key).await.unwrap();
            }
            ChangeRecord(kind, from) => {
                let (key, mut value) = stores.pick(kind, target, random).await;
                chunk = stores.place(kind, &key).await;
                // The model's name behind a unit's counts is no part of what is counted.
                let to = if kind == UNIT { from + 4 } else { value.len() };
                value[random.random_range(from..to)] ^= 1 << random.random_range(0..7);
                stores.db.put(&key, &value).await.unwrap();
            }
            Self::CutRecord(kind) => {
                let (key, value) = stores.pick(kind, target, random).await;
                chunk = stores.place(kind, &key).await;
                stores
                    .db
                    .put(&key, &value[..value.len() / 2])
                    .await
                    .unwrap();
            }
            Self::LoseEntry | Self::ChangeEntry | Self::DoubleEntry => {
                let (key, value) = stores.pick(CHUNK, target, random).await;
                chunk = stores.place(CHUNK, &key).await;
                stores.entry(self, target, &value).await;
            }
            Self::PlantVersion => {
                expected = Expected::Version(stores.plant_version(target).await);
            }
            Self::PlantVector => stores.plant_vector(target, random).await,
            Self::PlantReuse => {
                let (key, value) = stores.pick(CHUNK, target, random).await;
                chunk = stores.place(CHUNK, &key).await;
                stores.plant_reuse(&value).await;
            }
            Self::PlantEntry => {
                let version = Uuid::now_v7();
                stores.plant_entry(version).await;
                expected = Expected::Version(version);
            }
            Self::PlantObject => expected = Expected::Object(stores.plant_object(target)),
            Self::PlantPicture => expected = Expected::Object(stores.plant_picture()),
        }
        let expected = [expected].into_iter().chain(besides).collect();
        Done { expected, chunk }
    }
}
