//! The processing of one version, as its owner sees it.

use chrono::{DateTime, Utc};
use model::{
    DocumentId, JobId, JobStatus, KbId, RunId, RunStatus, SourceId, StepKind, TenantId, UserId,
    VersionId,
};
use serde::{Deserialize, Serialize};

use super::RunType;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStats {
    pub chunks_created: u64,
    pub tokens_total: u64,
    /// Embedded in this run.
    pub chunks_processed: u64,
    /// Whose embedding was reused.
    pub chunks_skipped: u64,
    pub chunks_error: u64,
}

/// Why a run failed and what its owner can do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunError {
    /// Stable, for programs: `unreadable`, `retries_exhausted`…
    pub code: String,
    pub message: String,
    pub hint: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub id: RunId,
    pub tenant: TenantId,
    pub kb: KbId,
    pub document: DocumentId,
    /// Kept when the version itself is gone.
    pub version: VersionId,
    pub source_uri: String,
    /// Of the version, while there is one.
    pub title: Option<String>,
    pub filename: Option<String>,
    pub status: RunStatus,
    /// Succeeded, and overtaken by a newer version.
    pub superseded: bool,
    pub run_type: RunType,
    pub source: Option<SourceId>,
    pub job: Option<JobId>,
    pub initiated_by: Option<UserId>,
    pub config: serde_json::Value,
    pub stats: RunStats,
    pub error: Option<RunError>,
    /// What a live run waits for, in plain words.
    pub waiting: Option<String>,
    pub waiting_until: Option<DateTime<Utc>>,
    pub stage: Option<StepKind>,
    pub units_total: u32,
    pub units_done: u32,
    pub created_at: DateTime<Utc>,
    /// The first start, whatever was repeated since.
    pub started_at: Option<DateTime<Utc>>,
    pub updated_at: DateTime<Utc>,
    pub finished_at: Option<DateTime<Utc>>,
    pub heartbeat_at: Option<DateTime<Utc>>,
    /// Until when a step of it is held; in the past when its worker is not heard from.
    pub leased_until: Option<DateTime<Utc>>,
    pub job_status: Option<JobStatus>,
    pub trace: Option<String>,
}
