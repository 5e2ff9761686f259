//! What keeps the house in order: ledger, events, dead letters.

use chrono::{DateTime, Utc};
use model::{ContentHash, DocumentId, GenerationId, JobId, RunId, UserId, VersionId};
use serde::Serialize;

use super::words;

words! {
    LedgerKind {
        Activated = "activated",
        RolledBack = "rolled_back",
        Deactivated = "deactivated",
        Removed = "removed",
        Purged = "purged",
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
