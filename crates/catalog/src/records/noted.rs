//! What is noted of a run once it has ended, and of a job whenever it changes, beside their rows: so
//! that a change of the row is known, and the row can be written again, lost or not.
//!
//! Left out is what only a live one tells (who holds it, what it waits for, when it was last heard
//! of), what is counted from other rows, and a run's place in the source's order, which stands with a
//! sum of its own.

use chrono::{DateTime, Utc};
use model::{
    ContentHash, GenerationId, JobId, JobStatus, KbId, RunId, RunStatus, SourceId, SourceUri,
    UserId, VersionId,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::{RunStats, RunType};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    pub kb: KbId,
    pub generation: GenerationId,
    pub version: VersionId,
    pub source_uri: SourceUri,
    pub content_hash: ContentHash,
    pub job: Option<JobId>,
    pub source: Option<SourceId>,
    pub status: RunStatus,
    pub superseded: bool,
    pub run_type: RunType,
    pub initiated_by: Option<UserId>,
    pub config: Value,
    pub stats: RunStats,
    /// The beginning of its job it was counted in.
    pub counted_in: Option<i64>,
    pub error_code: Option<String>,
    pub error_message: Option<String>,
    pub error_hint: Option<String>,
    pub stage: Option<String>,
    pub trace: Option<String>,
    pub created_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
}

impl RunFacts {
    /// Whether its version stays without ever having answered: it may yet be tried, or came too
    /// late. Of neither the ledger tells.
    pub fn keeps_its_original(&self) -> bool {
        let waits = self.status.is_live() || self.status == RunStatus::Failed;
        (waits || self.superseded) && self.source_uri != SourceUri::purged()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobFacts {
    pub configured: JobConfigured,
    pub standing: JobStanding,
}

/// What it is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobConfigured {
    pub kb: KbId,
    pub source: Option<SourceId>,
    pub config: Value,
    pub initiated_by: Option<UserId>,
    pub created_at: DateTime<Utc>,
    /// It met a document that was purged, and is to forget what it was configured with.
    pub purged: bool,
}

/// How far it has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobStanding {
    pub status: JobStatus,
    pub cursor: Option<Value>,
    pub exhausted: bool,
    pub beginnings: i64,
    pub error: Option<String>,
    pub started_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
}

/// A note of a row, as it is found: of a document's run, or of a tenant's job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub facts: String,
    pub sum: ContentHash,
}

impl Note {
    pub fn new(of: (Uuid, Uuid), facts: &impl Serialize) -> Self {
        let facts = serde_json::to_string(facts).expect("our records have string keys");
        Self {
            sum: Self::sum(of, &facts),
            facts,
        }
    }

    fn sum((owner, row): (Uuid, Uuid), facts: &str) -> ContentHash {
        ContentHash::of_fields([&owner.as_bytes()[..], &row.as_bytes()[..], facts.as_bytes()])
    }

    /// What it tells of a row; `None` if it is not what was noted.
    pub fn told<T: DeserializeOwned>(&self, of: (Uuid, Uuid)) -> Option<T> {
        let stands = self.sum == Self::sum(of, &self.facts);
        stands.then(|| serde_json::from_str(&self.facts).ok())?
    }
}

/// A run of a document and what was noted of it, either of which may be missing.
#[derive(Debug, Clone, PartialEq)]
pub struct NotedRun {
    pub run: RunId,
    /// Its row.
    pub now: Now<RunFacts>,
    /// `None` where nothing was noted.
    pub noted: Option<Told<RunFacts>>,
}

impl NotedRun {
    /// By its note where that stands, else by its row.
    pub fn told(&self) -> Option<&RunFacts> {
        match (&self.noted, &self.now) {
            (Some(Told::Was(facts)), _) | (_, Now::Is(facts)) => Some(facts),
            _ => None,
        }
    }

    pub(super) fn is_noted(&self) -> bool {
        matches!(self.noted, Some(Told::Was(_)))
    }
}

/// A row as it is.
#[derive(Debug, Clone, PartialEq)]
pub enum Now<T> {
    Gone,
    Unreadable,
    Is(T),
}

/// What a note tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Told<T> {
    Changed,
    Was(T),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_tells_of_its_own_row_and_nothing_that_was_changed() {
        let of = |n| (Uuid::from_u128(1), Uuid::from_u128(n));
        let note = Note::new(of(2), &"facts");
        assert_eq!(note.told::<String>(of(2)), Some("facts".to_owned()));
        assert_eq!(note.told::<String>(of(3)), None);
        let changed = Note {
            facts: note.facts.replace("facts", "fancy"),
            ..note
        };
        assert_eq!(changed.told::<String>(of(2)), None);
    }
}
