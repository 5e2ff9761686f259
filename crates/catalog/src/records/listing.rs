//! Pages of rows: what is asked, what is shown.

use chrono::{DateTime, Utc};
use model::{DocumentId, Gap, JobId, KbId, RunId, RunStatus, SourceId, SourceUri, VersionId};

use super::DocumentState;

/// Where to go on, and how far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// What the page before gave as [`Listed::next`].
    pub after: Option<String>,
    pub limit: u32,
}

impl Page {
    pub const MAX: u32 = 1000;

    pub const fn first(limit: u32) -> Self {
        let after = None;
        Self { after, limit }
    }

    pub fn following(cursor: impl Into<String>, limit: u32) -> Self {
        let after = Some(cursor.into());
        Self { after, limit }
    }
}

/// Newest first, unless the list says otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed<T> {
    pub items: Vec<T>,
    /// `None` on the last page.
    pub next: Option<String>,
}

impl<T> Listed<T> {
    pub fn map<R>(self, view: impl FnMut(T) -> R) -> Listed<R> {
        Listed {
            items: self.items.into_iter().map(view).collect(),
            next: self.next,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Active {
    #[default]
    Active,
    /// What answers, is on its way, or failed to: all but what was let go.
    Current,
    /// With a version, none of which answers.
    Inactive,
    All,
    /// Without any version.
    Orphans,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentFilter {
    pub kb: Option<KbId>,
    pub active: Active,
    /// Part of its source URI, title or filename, whatever the case.
    pub text: Option<String>,
    /// Of its newest version, unless it is removed.
    pub state: Option<DocumentState>,
    pub source: Option<SourceId>,
    pub metadata: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DocumentRow {
    pub id: DocumentId,
    pub kb: KbId,
    pub source_uri: SourceUri,
    pub source: Option<SourceId>,
    /// The version that answers in the serving generation.
    pub active: Option<VersionId>,
    pub active_since: Option<DateTime<Utc>>,
    /// Described below: the active version, or the newest when none is.
    pub version: Option<VersionId>,
    pub state: Option<DocumentState>,
    pub title: Option<String>,
    pub filename: Option<String>,
    pub media_type: Option<String>,
    pub language: Option<String>,
    pub size: Option<u64>,
    pub content_hash: Option<model::ContentHash>,
    pub chunks: u64,
    pub tokens: u64,
    pub metadata: serde_json::Map<String, serde_json::Value>,
    pub versions: u32,
    /// Of the version described; 0 where there are none.
    pub pages: u32,
    /// What of that version could not be read.
    pub gaps: Vec<Gap>,
    /// The newest version's run.
    pub run: Option<RunId>,
    pub run_status: Option<RunStatus>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    pub kb: Option<KbId>,
    pub status: Option<RunStatus>,
    pub document: Option<DocumentId>,
    pub job: Option<JobId>,
    pub source: Option<SourceId>,
}
