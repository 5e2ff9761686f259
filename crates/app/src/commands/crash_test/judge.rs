//! Whether what a trial ended with is what the undisturbed run ended with.

use durable::CrashAt;
use serde::Deserialize;

/// What `verify` says of a place.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct State {
    pub digest: String,
    pub documents: u64,
    pub chunks: u64,
    pub disagreements: Vec<serde_json::Value>,
    /// Steps nobody has performed.
    pub work: u64,
}

/// How a place was brought to its end after the death.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// By what was durable alone.
    Resumed,
    /// Nothing was durable or acknowledged yet: the command was given again.
    Repeated,
}

impl Restart {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resumed => "resumed",
            Self::Repeated => "repeated",
        }
    }
}

#[derive(Debug)]
pub struct Outcome {
    pub death: CrashAt,
    /// Whether the point was passed, and so died at.
    pub died: bool,
    /// `None` where it did not die, or came to no end.
    pub restart: Option<Restart>,
    pub state: Option<State>,
    /// Documents and chunks that are not there, and those that are there too often.
    pub lost: u64,
    pub duplicated: u64,
    /// What is wrong; `None` when nothing is.
    pub wrong: Option<String>,
}

impl Outcome {
    /// There is nothing to compare.
    pub fn failed(death: &CrashAt, why: &str) -> Self {
        Self {
            death: death.clone(),
            died: true,
            restart: None,
            state: None,
            lost: 0,
            duplicated: 0,
            wrong: Some(why.to_owned()),
        }
    }

    pub fn after(self, restart: Restart) -> Self {
        Self {
            restart: Some(restart),
            ..self
        }
    }

    /// The run ended without having passed the point.
    pub fn alive(self) -> Self {
        Self {
            died: false,
            ..self
        }
    }
}

pub fn judge(death: &CrashAt, calm: &State, state: State) -> Outcome {
    let missing = |of: fn(&State) -> u64| of(calm).saturating_sub(of(&state));
    let surplus = |of: fn(&State) -> u64| of(&state).saturating_sub(of(calm));
    Outcome {
        death: death.clone(),
        died: true,
        restart: None,
        lost: missing(|s| s.documents) + missing(|s| s.chunks),
        duplicated: surplus(|s| s.documents) + surplus(|s| s.chunks),
        wrong: wrong(calm, &state),
        state: Some(state),
    }
}

fn wrong(calm: &State, state: &State) -> Option<String> {
    let counts = |s: &State| format!("{} documents and {} chunks", s.documents, s.chunks);
    if state.digest != calm.digest {
        return Some(format!(
            "the digest is {}, of {} instead of {}",
            state.digest,
            counts(state),
            counts(calm)
        ));
    }
    if let Some(first) = state.disagreements.first() {
        let more = state.disagreements.len();
        return Some(format!("{more} disagreements, such as {first}"));
    }
    (state.work > 0).then(|| format!("{} steps are left undone", state.work))
}

#[cfg(test)]
mod tests {
    use durable::When;

    use super::*;

    fn state(digest: &str, chunks: u64) -> State {
        State {
            digest: digest.to_owned(),
            documents: 2,
            chunks,
            disagreements: Vec::new(),
            work: 0,
        }
    }

    #[test]
    fn only_an_equal_end_is_no_fault() {
        let death = CrashAt {
            point: "index.flush".to_owned(),
            when: When::Before,
            hit: 1,
        };
        let calm = state("a", 9);
        let equal = judge(&death, &calm, state("a", 9));
        assert!(equal.wrong.is_none());
        let lost = judge(&death, &calm, state("b", 7));
        assert_eq!((lost.lost, lost.duplicated), (2, 0));
        let twice = judge(&death, &calm, state("b", 10));
        assert_eq!((twice.lost, twice.duplicated), (0, 1));
        let same_counts = judge(&death, &calm, state("b", 9));
        assert!(same_counts.wrong.is_some());
        let undone = State {
            work: 1,
            ..state("a", 9)
        };
        assert!(judge(&death, &calm, undone).wrong.is_some());
    }
}
