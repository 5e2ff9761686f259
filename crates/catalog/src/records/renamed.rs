//! Rows that go by another id than the one they were given.
//!
//! Whatever belongs to such a row, or tells of it, still calls it by its own id; nothing but the row
//! itself knows the other. Held by its own id it is whole, so it is given that back and nothing of it
//! need be made again.

use model::{RunId, VersionId};

use super::{Dossier, NotedRun, Now, VersionFile};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renamed {
    Version { is: VersionId, was: VersionId },
    Run { is: RunId, was: RunId },
}

impl Dossier {
    /// Whether its row is there by another id.
    pub fn is_renamed(&self, version: VersionId) -> bool {
        let is_it = |one: &Renamed| matches!(one, Renamed::Version { was, .. } if *was == version);
        self.renamed.iter().any(is_it)
    }

    /// Takes versions that go by another id out of those that can be held against anything, and
    /// calls such runs by their own.
    pub(crate) fn find_renamed(&mut self) {
        // First: a version is known by its run.
        self.find_renamed_runs();
        let mut renamed = Vec::new();
        for version in &self.versions {
            if let Some(was) = self.own_id(version)
                && !renamed.iter().any(|(_, other)| *other == was)
            {
                renamed.push((version.id, was));
            }
        }
        for (is, was) in renamed {
            self.versions.retain(|version| version.id != is);
            self.renamed.push(Renamed::Version { is, was });
        }
    }

    /// The id of one that nothing else knows by its own, though its run, and more than that alone,
    /// tells of another that is not there.
    fn own_id(&self, version: &VersionFile) -> Option<VersionId> {
        let recorded = |id| self.ledger.iter().any(|entry| entry.version == Some(id));
        let told = |one: &NotedRun| one.told().is_some_and(|facts| facts.version == version.id);
        let known = version.told().is_some() || recorded(version.id);
        if known || self.noted_runs.iter().any(told) {
            return None;
        }
        let run = self.noted_runs.iter().find(|one| one.run == version.run)?;
        let was = run.told()?.version;
        let is_there = self.version(was).is_some() || self.unread.contains(&was);
        // The run's row alone may be what was changed.
        ((run.is_noted() || recorded(was)) && !is_there).then_some(was)
    }

    fn find_renamed_runs(&mut self) {
        let lost = self.noted_runs.iter().filter(|one| one.now == Now::Gone);
        let pairs = lost.filter_map(|one| {
            let alike = |other: &&NotedRun| match &other.now {
                Now::Is(now) => !other.is_noted() && Some(now) == one.told(),
                Now::Gone | Now::Unreadable => false,
            };
            let other = self.noted_runs.iter().find(alike)?;
            Some((other.run, one.run))
        });
        for (is, was) in pairs.collect::<Vec<_>>() {
            // Two that are gone may be alike.
            let Some(at) = self.noted_runs.iter().position(|one| one.run == is) else {
                continue;
            };
            let now = self.noted_runs.remove(at).now;
            for one in self.noted_runs.iter_mut().filter(|one| one.run == was) {
                one.now = now.clone();
            }
            for run in self.runs.iter_mut().filter(|run| run.id == is) {
                run.id = was;
            }
            self.renamed.push(Renamed::Run { is, was });
        }
    }
}
