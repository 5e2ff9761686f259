//! The stages whose time is recorded.

use series::Labels;

use super::named;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timed {
    Parse,
    Chunk,
    Embed,
    Index,
    Finalize,
    Search,
    Rerank,
}

const TIMED: [(Timed, &str); 7] = [
    (Timed::Parse, "parse"),
    (Timed::Chunk, "chunk"),
    (Timed::Embed, "embed"),
    (Timed::Index, "index"),
    (Timed::Finalize, "finalize"),
    (Timed::Search, "search"),
    (Timed::Rerank, "rerank"),
];

/// Made once: recording a time then costs a count and no hash.
pub(super) struct TimedLabels([Labels; TIMED.len()]);

impl TimedLabels {
    pub fn new() -> Self {
        Self(TIMED.map(|(_, name)| named("stage_seconds", &[("stage", name)])))
    }

    pub fn of(&self, stage: Timed) -> &Labels {
        &self.0[stage as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_is_recorded_under_its_own_name() {
        let labels = TimedLabels::new();
        for (stage, name) in TIMED {
            assert_eq!(labels.of(stage).get("stage"), Some(name));
        }
    }
}
