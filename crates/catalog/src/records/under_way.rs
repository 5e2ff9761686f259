//! Versions that have not come to their end, whatever one of their rows says.
//!
//! What ends is noted where it ends, and has no work any more; until then a version's row, its run
//! and its work say the same. So one of the three may be wrong, and the other two tell.

use model::{RunId, SourceUri, VersionId};

use super::{Dossier, RunFile, VersionFile, VersionState};

/// A step that is still to be done, as far as it tells of what it is a step of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkFile {
    pub version: VersionId,
    pub run: RunId,
}

/// What the rows of a version that is under way are put right with.
#[derive(Debug, Clone, PartialEq)]
pub struct UnderWay {
    pub version: VersionId,
    pub source_uri: SourceUri,
    /// As runs of its knowledge base are configured.
    pub config: serde_json::Value,
}

impl VersionState {
    pub const fn is_under_way(self) -> bool {
        matches!(self, Self::Pending | Self::Processing)
    }
}

impl Dossier {
    /// Whether two of its row, its run and its work say so, and nothing was noted or recorded that
    /// is written at an end.
    pub fn is_under_way(&self, version: &VersionFile) -> bool {
        let run = self.runs.iter().find(|run| run.id == version.run);
        let told = [
            version.state.is_under_way(),
            run.is_some_and(|run| run.status.is_live()),
            self.work.iter().any(|step| step.version == version.id),
        ];
        let told = told.into_iter().filter(|told| *told).count();
        told >= 2 && !self.has_ended(version)
    }

    fn has_ended(&self, version: &VersionFile) -> bool {
        let noted = |run: RunId| {
            let mut noted = self.noted_runs.iter();
            noted.any(|one| one.run == run && one.noted.is_some())
        };
        let mut ledger = self.ledger.iter();
        version.witness.is_some()
            || noted(version.run)
            || ledger.any(|entry| entry.version == Some(version.id))
    }

    /// The run of a version that goes by another id than the version and its work know.
    pub fn renamed_live_run(&self, version: &VersionFile) -> Option<&RunFile> {
        let known = |step: &WorkFile| step.version == version.id && step.run == version.run;
        let is_there = self.runs.iter().any(|run| run.id == version.run);
        let renamed = self.run_of(version.id)?;
        let found = !is_there && self.work.iter().any(known);
        (found && renamed.status.is_live()).then_some(renamed)
    }
}
