//! Where a run is right now, told to whoever happens to listen.
//!
//! Finer than what the catalog keeps, and worth nothing once it has passed: nothing is
//! stored, nobody is waited for, and a listener who is away misses it.

use catalog::Claim;
use model::{DocumentId, JobId, RunId, TenantId};
use serde::Serialize;
use tokio::sync::broadcast;

use crate::Engine;

/// What is being done to a document, in the order it is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum Stage {
    Parsing,
    Chunking,
    Embedding,
    Indexing,
    /// Given back for now; waiting is not failing.
    Waiting {
        why: String,
    },
}

/// A run has come to a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Passing {
    #[serde(skip)]
    pub tenant: TenantId,
    pub run: RunId,
    pub document: DocumentId,
    pub job: Option<JobId>,
    pub data: Stage,
}

/// How far a listener may fall behind before the oldest are lost to it.
pub(crate) const BEHIND: usize = 1024;

impl Engine {
    pub fn passings(&self) -> broadcast::Receiver<Passing> {
        self.passings.subscribe()
    }

    /// Said by the steps themselves, and by a shell that gives one back.
    pub fn pass(&self, claim: &Claim, stage: Stage) {
        let passing = Passing {
            tenant: claim.tenant,
            run: claim.run,
            document: claim.document,
            job: claim.job,
            data: stage,
        };
        // Nobody listening is the usual case.
        let _ = self.passings.send(passing);
    }
}
