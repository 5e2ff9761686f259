//! Sources, and the jobs that ingest them.

use chrono::{DateTime, Utc};
use model::{
    ContentHash, DocumentId, Gap, GenerationId, JobId, JobStatus, KbId, RunId, RunStatus, SourceId,
    SourceOrder, SourceUri, TenantId, UserId, VersionId, Warning,
};
use serde_json::Value;

use super::{Admission, words};

/// Where documents come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    pub id: SourceId,
    pub tenant: TenantId,
    pub kb: KbId,
    /// Such as `folder` or `bucket`.
    pub kind: String,
    pub name: String,
    pub config: Value,
    pub enabled: bool,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub last_success_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone)]
pub struct NewSource {
    pub kb: KbId,
    pub kind: String,
    pub name: String,
    pub config: Value,
}

/// What is to change; `None` leaves a thing as it is.
#[derive(Debug, Clone, Default)]
pub struct SourceChange {
    pub name: Option<String>,
    pub config: Option<Value>,
    pub enabled: Option<bool>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct JobCounters {
    pub docs_seen: u64,
    pub docs_skipped: u64,
    /// Met and not taken in: unreadable, too large.
    pub docs_refused: u64,
    /// Runs of this job that have not ended.
    pub runs_open: u64,
    /// Runs of others that bring what this job found under way, and have not ended.
    pub runs_awaited: u64,
    pub runs_failed: u64,
    /// Always processed + skipped + error.
    pub chunks_seen: u64,
    pub chunks_processed: u64,
    pub chunks_skipped: u64,
    pub chunks_error: u64,
}

/// A job that was not as its rows have it, and was put right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recounted {
    pub tenant: TenantId,
    pub job: JobId,
    /// What it had counted as open, or as awaited of others.
    pub counted: i64,
    /// What is.
    pub live: u64,
    /// Whether it had nothing left, and has ended now.
    pub completed: bool,
}

/// How many of a job's documents have passed each stage; what was skipped has passed all.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct JobProgress {
    pub taken_in: u64,
    pub parsed: u64,
    pub embedded: u64,
    /// Succeeded, failed or refused: nothing is left to do for them.
    pub ended: u64,
    /// Steps somebody holds.
    pub under_way: u64,
    /// The last word of anybody at one of them.
    #[serde(skip)]
    pub heartbeat_at: Option<DateTime<Utc>>,
    /// When the last lease on one of them runs out, or ran out.
    #[serde(skip)]
    pub leased_until: Option<DateTime<Utc>>,
    /// While nobody holds any: what the run that goes on first waits for.
    #[serde(skip)]
    pub first: Option<FirstToGoOn>,
    /// Whose runs it waits for besides its own; of several, a paused job's.
    #[serde(skip)]
    pub awaits: Option<Awaits>,
}

/// Runs of another job, or of none, that bring what this one found under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Awaits {
    pub job: Option<JobId>,
    pub paused: bool,
    pub runs: u64,
}

/// A live run nobody is at, and goes on before all others of its job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstToGoOn {
    pub why: String,
    pub until: DateTime<Utc>,
}

/// What a job found compared with what was known before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct JobChanges {
    pub new: u64,
    pub changed: u64,
    pub unchanged: u64,
    /// Documents it removed because its source shows them no more.
    pub removed: u64,
}

/// A controllable ingestion of a whole source.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    pub id: JobId,
    pub tenant: TenantId,
    pub kb: KbId,
    pub source: Option<SourceId>,
    pub status: JobStatus,
    pub config: Value,
    /// Where the listing goes on.
    pub cursor: Option<Value>,
    /// The listing has reached its end.
    pub exhausted: bool,
    pub counters: JobCounters,
    pub initiated_by: Option<UserId>,
    pub error: Option<String>,
    pub created_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub updated_at: DateTime<Utc>,
    pub finished_at: Option<DateTime<Utc>>,
    /// For how long it was paused, or had failed, since it began; not counting the present.
    pub paused_ms: u64,
    /// Of whoever lists the source, or removes what a canceled job brought.
    pub heartbeat_at: Option<DateTime<Utc>>,
    pub lease_until: Option<DateTime<Utc>>,
    /// Why its listing was interrupted, until that is taken up again.
    pub waiting: Option<String>,
}

#[derive(Debug, Clone)]
pub struct NewJob {
    pub kb: KbId,
    pub source: Option<SourceId>,
    pub config: Value,
    pub initiated_by: Option<UserId>,
}

#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    pub kb: Option<KbId>,
    pub source: Option<SourceId>,
    pub status: Option<JobStatus>,
}

/// The right to list a job's source, until its lease ends or a later claim takes it.
#[derive(Debug, Clone, PartialEq)]
pub struct JobClaim {
    pub job: JobId,
    pub token: u64,
    pub tenant: TenantId,
    pub kb: KbId,
    pub source: Option<SourceId>,
    pub config: Value,
    pub cursor: Option<Value>,
    pub initiated_by: Option<UserId>,
    pub started_at: DateTime<Utc>,
}

/// What one step of a listing brings.
#[derive(Debug, Clone)]
pub struct Batch {
    pub admissions: Vec<Admission>,
    /// Met but not admitted, such as a file that could not be read: not gone, either.
    pub seen: Vec<SourceUri>,
    /// What could not be taken in, and why.
    pub problems: Vec<Problem>,
    pub cursor: Value,
    /// Whether this was the last batch.
    pub exhausted: bool,
}

/// Something of a source that could not be taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// `None` where not even a name is known, such as a folder that cannot be listed.
    pub source_uri: Option<SourceUri>,
    pub message: String,
}

/// A document a job removed, because its source shows it no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRemoval {
    pub document: DocumentId,
    pub source_uri: SourceUri,
    pub at: DateTime<Utc>,
}

/// What a job brought, or found to be there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobDocument {
    pub document: DocumentId,
    pub version: VersionId,
    pub source_uri: SourceUri,
    pub outcome: JobOutcome,
    pub chunks: u64,
    /// What could not be read of it.
    pub gaps: Vec<Gap>,
    pub warnings: Vec<Warning>,
    pub run: RunId,
    pub run_status: Option<RunStatus>,
    pub error: Option<String>,
    /// What its run waits for before it goes on, such as another job that is paused.
    pub waiting: Option<String>,
}

words! {
    JobOutcome {
        New = "new",
        NewVersion = "new_version",
        Skipped = "skipped",
    }
}

/// A document its source no longer shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unseen {
    pub document: DocumentId,
    pub source_uri: SourceUri,
}

/// A version on its way out: it answers no more, and the index may forget it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removing {
    pub tenant: TenantId,
    pub kb: KbId,
    pub generation: GenerationId,
    pub document: DocumentId,
    pub version: VersionId,
    pub number: u32,
    pub content_hash: ContentHash,
}

/// A version without a row, of which its runs tell: it was taken away before, with a canceled job or an
/// abandoned generation, or its row was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Former {
    pub kb: KbId,
    pub generation: GenerationId,
    pub version: VersionId,
    pub content_hash: ContentHash,
}

/// Why a document stops answering.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removal {
    /// The removal's own place in the source's order, where the source tells it.
    pub order: Option<SourceOrder>,
    pub by: Option<UserId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deactivated {
    Closed,
    /// It did not answer before, either; versions under way will not, from now on.
    NothingOpen,
    /// A newer version stands after this removal in the source's order.
    Stale,
}
