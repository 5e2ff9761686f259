//! What is noted of a knowledge base and its generations: few rows that everything hangs on.
//!
//! Left out is what is counted as versions come and change.

use chrono::{DateTime, Utc};
use model::{GenerationId, KbId, TenantId};
use serde::{Deserialize, Serialize};

use super::{Generation, GenerationSpec, GenerationState, Kb, Now, Retention, Told};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KbFacts {
    pub name: String,
    pub retention: Retention,
    pub created_at: DateTime<Utc>,
    /// By number.
    pub generations: Vec<GenerationFacts>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationFacts {
    pub id: GenerationId,
    pub number: u32,
    pub spec: GenerationSpec,
    pub state: GenerationState,
    pub created_at: DateTime<Utc>,
    pub serving_since: Option<DateTime<Utc>>,
}

/// A knowledge base and what was noted of it, either of which may be missing.
#[derive(Debug, Clone, PartialEq)]
pub struct NotedKb {
    pub kb: KbId,
    /// Its rows.
    pub now: Now<KbFacts>,
    /// `None` where nothing was noted.
    pub noted: Option<Told<KbFacts>>,
    /// The id its row goes by, where that is another than it was given.
    pub goes_by: Option<KbId>,
    /// There is no such row, and nothing else that names it: its note is of nobody.
    pub of_nobody: bool,
}

impl NotedKb {
    /// What is to be gone by: the note where it stands, else the rows.
    pub fn facts(&self) -> Option<&KbFacts> {
        match (&self.noted, &self.now) {
            (Some(Told::Was(facts)), _) | (_, Now::Is(facts)) => Some(facts),
            (None | Some(Told::Changed), Now::Gone | Now::Unreadable) => None,
        }
    }

    /// The knowledge base that makes; `None` where that has no generation to answer.
    pub fn known(&self, tenant: TenantId) -> Option<Kb> {
        let facts = self.facts()?;
        let one = |state| {
            let mut all = facts.generations.iter();
            all.find(|generation| generation.state == state)
                .map(GenerationFacts::generation)
        };
        Some(Kb {
            id: self.kb,
            tenant,
            name: facts.name.clone(),
            serving: one(GenerationState::Serving)?,
            building: one(GenerationState::Building),
            retention: facts.retention,
            created_at: facts.created_at,
        })
    }
}

impl GenerationFacts {
    fn generation(&self) -> Generation {
        Generation {
            id: self.id,
            number: self.number,
            spec: self.spec.clone(),
            state: self.state,
        }
    }
}
