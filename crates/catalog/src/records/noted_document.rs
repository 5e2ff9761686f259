//! What is noted of a document's row, and of the parts jobs have in its removals.
//!
//! Left out is what versions, runs and the ledger tell: its address, its knowledge base, its newest
//! version, the end of its ledger.

use chrono::{DateTime, Utc};
use model::{JobId, SourceId, SourceOrder};
use serde::{Deserialize, Serialize};

use super::Told;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentFacts {
    /// Who showed it last.
    pub source: Option<SourceId>,
    pub removed_at: Option<DateTime<Utc>>,
    pub removed_order: Option<SourceOrder>,
}

/// A removal of the document that a job made, or found made by another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RemovalPart {
    pub at: DateTime<Utc>,
    /// How the document stood before it.
    pub before_at: Option<DateTime<Utc>>,
    pub before_order: Option<SourceOrder>,
}

/// The parts of one job, and what was noted of them; either may be missing.
#[derive(Debug, Clone, PartialEq)]
pub struct NotedRemovals {
    pub job: JobId,
    /// By time.
    pub now: Vec<RemovalPart>,
    /// `None` where nothing was noted.
    pub noted: Option<Told<Vec<RemovalPart>>>,
}

impl NotedRemovals {
    pub fn stand(&self) -> bool {
        match &self.noted {
            None => self.now.is_empty(),
            Some(Told::Changed) => false,
            Some(Told::Was(noted)) => *noted == self.now,
        }
    }
}
