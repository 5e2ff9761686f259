//! Work, and the claims on it.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use model::{
    ContentHash, DocumentId, Gap, GenerationId, JobId, KbId, PageSize, RunId, Step, TenantId,
    UnitName, VersionId, Warning,
};

use super::RunStats;

/// The right to perform one step, until its lease ends or a later claim takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub work: i64,
    /// The fence: greater than that of every earlier claim on the same version. Every
    /// later write of the step shows it, here and to the index.
    pub token: u64,
    pub step: Step,
    /// Counts failures so far from 1; a wait is not a failure.
    pub attempt: u32,
    /// How many took it before and were not heard from again.
    pub unanswered: u32,
    pub tenant: TenantId,
    pub kb: KbId,
    pub generation: GenerationId,
    pub document: DocumentId,
    pub run: RunId,
    pub version_number: u32,
    pub job: Option<JobId>,
    pub lease_until: DateTime<Utc>,
    pub trace: Option<String>,
}

/// What Prep found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prepared {
    /// Under which its artifacts were written: one more than the version had.
    pub pass: u32,
    /// Names with their position in reading order.
    pub units: Vec<(UnitName, u32)>,
    pub artifacts: Artifacts,
    /// Replaces the admission's title only where that gave none.
    pub title: Option<String>,
    pub language: Option<String>,
    pub media_type: Option<String>,
    pub pages: Vec<PageSize>,
    pub gaps: Vec<Gap>,
    pub warnings: Vec<Warning>,
}

/// The hashes of the objects Prep wrote, so that a changed one is known from a whole one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Artifacts {
    pub text: Option<ContentHash>,
    pub parsed: Option<ContentHash>,
    pub units: BTreeMap<UnitName, ContentHash>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnitOutcome {
    Done {
        chunks: u64,
        tokens: u64,
        /// Of the chunks, those whose embedding was reused.
        reused: u64,
        /// The index holds the unit from this flush on.
        flush: u64,
    },
    Gap {
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitDone {
    pub unit: UnitName,
    pub pass: u32,
    pub outcome: UnitOutcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    OthersOpen,
    /// Told to one unit of a pass, and told again when that unit is redelivered.
    Last,
    /// Prep has run again since: this step has nothing to say any more.
    StalePass,
}

/// What Finalize brings to be made visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activation {
    pub version: VersionId,
    pub pass: u32,
    pub root_hash: ContentHash,
    /// The flush the index must have reached before the version is read.
    pub flush: u64,
    pub stats: RunStats,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retried {
    Scheduled,
    /// Attempts are used up: the run has failed and waits among the dead letters.
    DeadLettered,
}

/// A run that could go on if anybody took it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unattended {
    pub tenant: TenantId,
    pub run: RunId,
    /// From when on nobody was at it: the last of its steps fell due, or its worker was heard
    /// from for the last time, or its job was resumed.
    pub since: DateTime<Utc>,
}

/// A wait that is nobody's failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    pub not_before: DateTime<Utc>,
    /// Shown on the run, in plain words: `the job is paused`.
    pub why: String,
}
