//! Knowledge bases, documents, versions, and which of them answers.

use chrono::{DateTime, Utc};
use model::{
    ChunkPolicy, ContentHash, DocumentId, Gap, GenerationId, JobId, KbId, ModelName, RunId,
    SourceId, SourceOrder, SourceUri, TenantId, UnitName, UserId, VersionId, Warning,
};
use roaring::RoaringBitmap;
use serde::{Deserialize, Serialize};

use super::words;

/// One embedding model and chunk policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationSpec {
    pub model: ModelName,
    pub dimension: u32,
    pub policy: ChunkPolicy,
}

words! {
    GenerationState {
        Serving = "serving",
        Building = "building",
        Retired = "retired",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Generation {
    pub id: GenerationId,
    /// Counts up from 1 within the knowledge base.
    pub number: u32,
    pub spec: GenerationSpec,
    pub state: GenerationState,
}

/// What is kept of old versions; by default everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    pub versions: Option<u32>,
    pub days: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kb {
    pub id: KbId,
    pub tenant: TenantId,
    pub name: String,
    pub serving: Generation,
    pub building: Option<Generation>,
    pub retention: Retention,
    pub created_at: DateTime<Utc>,
}

impl Kb {
    pub fn building_id(&self) -> Option<GenerationId> {
        self.building.as_ref().map(|generation| generation.id)
    }
}

words! {
    /// Why a run exists.
    RunType {
        Upload = "upload",
        Sync = "sync",
        Reindex = "reindex",
        Repair = "repair",
    }
}

/// Bytes that have arrived and want to be searchable.
#[derive(Debug, Clone)]
pub struct Admission {
    pub tenant: TenantId,
    pub kb: KbId,
    pub generation: GenerationId,
    pub source_uri: SourceUri,
    /// The id a document gets that is not known yet, where one was promised.
    pub promised: Option<DocumentId>,
    pub content_hash: ContentHash,
    pub size: u64,
    pub media_type: Option<String>,
    pub filename: String,
    pub title: Option<String>,
    pub metadata: serde_json::Map<String, serde_json::Value>,
    pub order: SourceOrder,
    pub job: Option<JobId>,
    pub source: Option<SourceId>,
    pub initiated_by: Option<UserId>,
    pub run_type: RunType,
    pub config: serde_json::Value,
    /// W3C trace context of the request or event that brought it.
    pub trace: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// The document serves exactly these bytes.
    SameContent,
    /// A run of exactly these bytes is under way.
    LiveRun,
    /// The document was rolled back from these bytes, and its source shows nothing newer.
    RolledBack,
}

impl SkipReason {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SameContent => "same_content",
            Self::LiveRun => "live_run",
            Self::RolledBack => "rolled_back",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    New,
    NewVersion,
    Skipped { reason: SkipReason },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admitted {
    pub document: DocumentId,
    pub version: VersionId,
    /// The run that processes it: a new one, or the live one it joined.
    pub run: Option<RunId>,
    pub outcome: Outcome,
}

words! {
    /// How far a version came. Whether it answers is told by its activations.
    VersionState {
        Pending = "pending",
        Processing = "processing",
        Ready = "ready",
        Superseded = "superseded",
        Failed = "failed",
        Canceled = "canceled",
    }
}

words! {
    /// How a document stands: as its version does, or let go.
    DocumentState {
        Pending = "pending",
        Processing = "processing",
        Ready = "ready",
        Superseded = "superseded",
        Failed = "failed",
        Canceled = "canceled",
        Removed = "removed",
        /// Its purge was begun and has not ended.
        Purging = "purging",
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    pub id: VersionId,
    pub document: DocumentId,
    pub tenant: TenantId,
    pub kb: KbId,
    pub generation: Generation,
    /// Dense within the knowledge base: a bit in its bitmaps.
    pub number: u32,
    pub source_uri: SourceUri,
    pub content_hash: ContentHash,
    pub size: u64,
    pub media_type: Option<String>,
    pub filename: String,
    pub title: Option<String>,
    pub language: Option<String>,
    pub metadata: serde_json::Map<String, serde_json::Value>,
    pub order: SourceOrder,
    /// How often Prep has run; units and steps of an earlier pass change nothing.
    pub pass: u32,
    pub units_total: u32,
    pub units_open: u32,
    pub state: VersionState,
    /// The flush the index must have reached before this version is read.
    pub needs_flush: Option<u64>,
    pub chunks: u64,
    pub tokens: u64,
    pub root_hash: Option<ContentHash>,
    pub gaps: Vec<Gap>,
    pub warnings: Vec<Warning>,
    pub created_at: DateTime<Utc>,
    pub run: RunId,
}

words! {
    UnitState {
        Open = "open",
        Done = "done",
        Gap = "gap",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitRow {
    pub name: UnitName,
    pub index: u32,
    pub state: UnitState,
    pub chunks: u64,
    pub tokens: u64,
    /// Of the chunks, those whose embedding was reused.
    pub reused: u64,
    /// Why it is a gap.
    pub reason: Option<String>,
}

/// Narrows what answers. Empty lists and `None` narrow nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveFilter {
    /// What answered then, instead of now.
    pub as_of: Option<DateTime<Utc>>,
    /// The serving generation unless another is named; one that is retired answers nothing.
    pub generation: Option<GenerationId>,
    pub documents: Vec<DocumentId>,
    /// Every pair must be among the version's metadata.
    pub metadata: Vec<(String, String)>,
    pub language: Option<String>,
}

/// Which versions answer, and how new a snapshot of the index must be to hold them all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Live {
    pub numbers: RoaringBitmap,
    pub at_least: u64,
    /// What answered at the time asked for, and cannot any more.
    pub forgotten: Option<Forgotten>,
}

/// Of what answered before a new generation began to serve, only that is kept which answered still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Forgotten {
    /// Documents that answered then, with what none of this generation's versions is.
    pub documents: u64,
    /// From when on everything answers that did.
    pub since: DateTime<Utc>,
}

/// What a hit needs to know of its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRow {
    pub number: u32,
    pub version: VersionId,
    pub document: DocumentId,
    pub source_uri: SourceUri,
    pub content_hash: ContentHash,
    pub title: Option<String>,
    pub filename: String,
    pub media_type: Option<String>,
    /// What of it could not be read.
    pub gaps: Vec<Gap>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activated {
    Active,
    /// A newer version serves already, or the document was removed since.
    Superseded,
}

words! {
    ActivationCause {
        Run = "run",
        Rollback = "rollback",
    }
}

/// A version serving, from one time to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivationRow {
    pub version: VersionId,
    pub number: u32,
    pub generation: GenerationId,
    pub opened_at: DateTime<Utc>,
    pub closed_at: Option<DateTime<Utc>>,
    pub cause: ActivationCause,
    pub by: Option<UserId>,
}

/// One active version, as `verify` and the digest read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveVersion {
    pub tenant: TenantId,
    pub kb: KbId,
    pub generation: GenerationId,
    pub version: VersionId,
    pub number: u32,
    pub document: DocumentId,
    pub source_uri: SourceUri,
    pub content_hash: ContentHash,
    pub root_hash: ContentHash,
    pub chunks: u64,
    pub needs_flush: u64,
}
