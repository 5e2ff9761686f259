//! What keeps the house in order: ledger, events, dead letters.

use chrono::{DateTime, Utc};
use model::{
    ContentHash, DocumentId, GenerationId, JobId, KbId, RunId, TenantId, UploadId, UserId,
    VersionId,
};
use serde::Serialize;

use super::{RunError, words};

words! {
    LedgerKind {
        Activated = "activated",
        RolledBack = "rolled_back",
        Deactivated = "deactivated",
        /// A removal was taken back with the job that made it.
        Reinstated = "reinstated",
        Removed = "removed",
        Purged = "purged",
        Repaired = "repaired",
    }
}

/// One commit in a document's life. `hash` covers every other field and `prev`, so no
/// entry can be changed, dropped or reordered without the chain showing it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerEntry {
    pub document: DocumentId,
    /// Counts up from 1 within the document.
    pub seq: u64,
    pub kind: LedgerKind,
    pub version: Option<VersionId>,
    pub generation: Option<GenerationId>,
    pub content_hash: Option<ContentHash>,
    /// Over the chunks of the version.
    pub root_hash: Option<ContentHash>,
    pub at: DateTime<Utc>,
    pub by: Option<UserId>,
    pub prev: Option<ContentHash>,
    pub hash: ContentHash,
}

impl LedgerEntry {
    /// What `hash` must be.
    pub fn computed_hash(&self) -> ContentHash {
        let text = |value: Option<String>| value.unwrap_or_default().into_bytes();
        let fields = [
            self.document.to_string().into_bytes(),
            self.seq.to_string().into_bytes(),
            self.kind.as_str().as_bytes().to_vec(),
            text(self.version.map(|id| id.to_string())),
            text(self.generation.map(|id| id.to_string())),
            text(self.content_hash.map(|hash| hash.to_string())),
            text(self.root_hash.map(|hash| hash.to_string())),
            self.at.timestamp_micros().to_string().into_bytes(),
            text(self.by.map(|id| id.to_string())),
            text(self.prev.map(|hash| hash.to_string())),
        ];
        ContentHash::of_fields(fields.iter().map(Vec::as_slice))
    }
}

/// Something a reader may be waiting for; written in the transaction it tells of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// Counts up within the tenant, in the order of the commits.
    pub id: i64,
    pub at: DateTime<Utc>,
    /// Such as `run.succeeded`.
    pub kind: String,
    pub run: Option<RunId>,
    pub document: Option<DocumentId>,
    pub job: Option<JobId>,
    pub data: serde_json::Value,
}

/// A step that failed for good, kept to be looked at and replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct DeadLetter {
    pub id: uuid::Uuid,
    pub step: model::Step,
    pub document: DocumentId,
    pub version: VersionId,
    pub run: RunId,
    pub source_uri: String,
    /// Of the version, while there is one.
    pub title: Option<String>,
    pub filename: Option<String>,
    pub attempts: u32,
    pub error: RunError,
    pub created_at: DateTime<Utc>,
}

/// What became of a dead letter that was replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replayed {
    /// The failed run, queued again, or a live one of the same bytes.
    pub run: RunId,
    pub at: DateTime<Utc>,
    /// It had been replayed before, then, and nothing was done now.
    pub already: bool,
}

/// How long a live run must have been left alone before its missing work is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Untouched {
    pub queued: std::time::Duration,
    /// Since its last heartbeat.
    pub running: std::time::Duration,
}

/// A tally that is not as its rows have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Miscounted {
    /// The tenant or the generation it belongs to.
    pub of: uuid::Uuid,
    pub kind: String,
    pub told: i64,
    pub counted: i64,
}

/// How a tenant's house stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    pub documents: u64,
    /// Of them, those that answer in the serving generation.
    pub documents_active: u64,
    /// Chunks that answer.
    pub chunks_active: u64,
    pub runs_queued: u64,
    pub runs_running: u64,
    /// Of the live runs, those that wait for something.
    pub runs_waiting: u64,
    pub runs_succeeded: u64,
    pub runs_failed: u64,
    pub runs_canceled: u64,
    pub jobs_live: u64,
    pub dead_letters: u64,
    pub queue: QueueDepth,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct QueueDepth {
    /// Due and not taken.
    pub ready: u64,
    /// Held under a running lease.
    pub leased: u64,
    /// Due later.
    pub waiting: u64,
    /// Of those ready, those whose worker is not heard from any more.
    pub stalled: u64,
    pub oldest_due: Option<DateTime<Utc>>,
}

/// The answer to a repeated request.
#[derive(Debug, Clone, PartialEq)]
pub enum Begun {
    /// Nobody has asked this before: do it, then finish the key.
    Fresh,
    /// Done before: this was the answer.
    Finished(serde_json::Value),
    /// Being done right now.
    UnderWay,
    /// The key was used for another request.
    OtherRequest,
}

words! {
    UploadState {
        Pending = "pending",
        Admitted = "admitted",
        Failed = "failed",
        Expired = "expired",
    }
}

/// A presigned upload, until its bytes have arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    pub id: UploadId,
    pub tenant: TenantId,
    pub kb: KbId,
    pub object_key: String,
    pub filename: String,
    pub size: u64,
    pub media_type: Option<String>,
    pub state: UploadState,
    pub document: Option<DocumentId>,
    pub run: Option<RunId>,
    pub initiated_by: Option<UserId>,
    pub error: Option<String>,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

#[derive(Debug, Clone)]
pub struct NewUpload {
    pub kb: KbId,
    pub object_key: String,
    pub filename: String,
    pub size: u64,
    pub media_type: Option<String>,
    pub initiated_by: Option<UserId>,
    pub expires_at: DateTime<Utc>,
}

/// What became of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadEnd {
    Admitted {
        document: DocumentId,
        run: Option<RunId>,
    },
    Failed {
        error: String,
    },
    Expired,
}
