//! A generation on its way in, and one on its way out.

use model::{GenerationId, KbId, TenantId};

use super::Generation;

/// How far a generation being built has come.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Building {
    pub generation: Generation,
    /// That answer in the serving generation.
    pub documents: u64,
    /// Of them, those the new one would answer with the same bytes.
    pub built: u64,
    /// Of them, those that could not be built.
    pub failed: u64,
    pub open_runs: u64,
}

impl Building {
    /// Why it cannot serve yet.
    pub fn holds_back(&self, leave_failed: bool) -> Option<String> {
        let missing = self.documents - self.built - self.failed;
        if missing > 0 || self.open_runs > 0 {
            Some(format!(
                "{} of {} documents are built, {} are under way",
                self.built, self.documents, self.open_runs
            ))
        } else if self.failed > 0 && !leave_failed {
            Some(format!(
                "{} documents could not be built; retry their runs, leave them behind, or abandon it",
                self.failed
            ))
        } else {
            None
        }
    }
}

/// What one look for documents to build has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rebuilt {
    pub begun: u32,
    /// Where to look on; `None` when the end was reached.
    pub next: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Retired {
    pub tenant: TenantId,
    pub kb: KbId,
    pub generation: GenerationId,
}
