//! The best of what was found, in the order a reranker gives it; when it fails, the order stays.
//!
//! In: candidates in the order of their fused scores. Out: the same candidates, and what came
//! of asking. A search never fails for its reranker, and the words of the service go nowhere:
//! they may quote the query, a passage or a key.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard};

use pipeline::chunk::{Estimate, embedder_input};
use providers::Reranker;

use crate::figures::Timed;
use crate::search::{Candidate, Request};
use crate::{Engine, Error};

#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How many of the best are given to the reranker.
    pub candidates: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { candidates: 50 }
    }
}

/// What came of asking the reranker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reranked {
    Applied,
    /// The fused order stays.
    Failed {
        reason: Reason,
        why: String,
    },
}

/// Why it failed, as it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    TimedOut,
    LeftAlone,
    Throttled,
    Quota,
    Refused,
    Unavailable,
    Unreachable,
    BadAnswer,
    TooLong,
}

impl Reason {
    const ALL: [Self; 9] = [
        Self::TimedOut,
        Self::LeftAlone,
        Self::Throttled,
        Self::Quota,
        Self::Refused,
        Self::Unavailable,
        Self::Unreachable,
        Self::BadAnswer,
        Self::TooLong,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::TimedOut => "timed_out",
            Self::LeftAlone => "left_alone",
            Self::Throttled => "throttled",
            Self::Quota => "quota",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
            Self::Unreachable => "unreachable",
            Self::BadAnswer => "bad_answer",
            Self::TooLong => "too_long",
        }
    }
}

impl Reranked {
    /// Why not, where it failed.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Applied => None,
            Self::Failed { why, .. } => Some(why),
        }
    }

    fn reason(&self) -> Option<Reason> {
        match self {
            Self::Applied => None,
            Self::Failed { reason, .. } => Some(*reason),
        }
    }
}

/// How often which came of it since the start; applied where there is no reason against it.
pub(crate) type Counts = BTreeMap<Option<Reason>, u64>;

impl Engine {
    /// What is found is put in the order this gives, where it answers.
    #[must_use]
    pub fn reranked_by(mut self, reranker: Arc<dyn Reranker>) -> Self {
        self.reranker = Some(reranker);
        self
    }

    /// How often reranking ended how since the start, by name; nothing where there is no reranker.
    pub fn reranks(&self) -> Vec<(&'static str, u64)> {
        if self.reranker.is_none() {
            return Vec::new();
        }
        let counts = self.counts();
        let ends = std::iter::once(None).chain(Reason::ALL.map(Some));
        ends.map(|end| {
            let count = counts.get(&end).copied().unwrap_or(0);
            (end.map_or("applied", Reason::name), count)
        })
        .collect()
    }

    /// Whom to ask about what a request finds, if anybody.
    pub(crate) fn reranker(&self, request: &Request) -> Result<Option<&dyn Reranker>, Error> {
        match (&self.reranker, request.rerank) {
            (None, Some(true)) => Err(Error::NoReranker),
            (None, _) | (_, Some(false)) => Ok(None),
            (Some(reranker), _) => Ok(Some(&**reranker)),
        }
    }

    /// How many of the best a reranker would be given.
    pub(crate) fn candidates(&self) -> usize {
        match self.reranker {
            Some(_) => self.settings.rerank.candidates,
            None => 0,
        }
    }

    /// The same candidates, the best of them in the reranker's order.
    pub(crate) async fn rerank(
        &self,
        reranker: &dyn Reranker,
        query: &str,
        mut found: Vec<Candidate>,
    ) -> (Vec<Candidate>, Reranked) {
        let rest = found.split_off(found.len().min(self.candidates()));
        let passages: Vec<String> = found.iter().map(passage).collect();
        let asking = reranker.rerank(query, &passages);
        let scores = self.timed(Timed::Rerank, asking).await;
        let (mut found, reranked) = settle(found, scores);
        found.extend(rest);
        *self.counts().entry(reranked.reason()).or_default() += 1;
        (found, reranked)
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.reranks
            .lock()
            .expect("nothing panics while it holds the counts")
    }
}

/// What the embedder was given of it, and so the headings too.
fn passage(candidate: &Candidate) -> String {
    embedder_input(&candidate.passage.chunk, usize::MAX, &Estimate).0
}

fn settle(
    found: Vec<Candidate>,
    scores: Result<Vec<f64>, providers::Error>,
) -> (Vec<Candidate>, Reranked) {
    let scores = match scores {
        Ok(scores) => scores,
        Err(error) => return (found, failed(&error)),
    };
    let scored = |(candidate, score): (Candidate, f64)| Candidate {
        rerank: Some(score),
        ..candidate
    };
    match pipeline::query::rerank(found, &scores) {
        Ok(ranked) => (ranked.into_iter().map(scored).collect(), Reranked::Applied),
        Err(found) => {
            let what = "not one number for each passage".to_owned();
            let error = providers::Error::BadAnswer { what };
            (found, failed(&error))
        }
    }
}

// No wildcard arm: a new failure does not compile until someone words it.
fn failed(error: &providers::Error) -> Reranked {
    use providers::Error as E;
    let (reason, why) = match error {
        E::TimedOut { after } => (
            Reason::TimedOut,
            format!("the reranker did not answer within {after:?}"),
        ),
        E::CircuitOpen { .. } => (
            Reason::LeftAlone,
            "the reranker kept failing and is left alone for a while".to_owned(),
        ),
        E::Throttled { .. } => (
            Reason::Throttled,
            "the reranker asked us to slow down".to_owned(),
        ),
        E::Quota { .. } => (
            Reason::Quota,
            "the account of the reranker has nothing left to spend".to_owned(),
        ),
        E::Refused { status, .. } => (
            Reason::Refused,
            format!(
                "the reranker refused the request with {status}; {}",
                check(*status)
            ),
        ),
        E::Unavailable { status, .. } => (
            Reason::Unavailable,
            format!("the reranker failed with {status}"),
        ),
        E::Unreachable { .. } | E::Stopped => (
            Reason::Unreachable,
            "the reranker cannot be reached".to_owned(),
        ),
        E::BadAnswer { what } => (
            Reason::BadAnswer,
            format!("the reranker gave an answer that is none: {what}"),
        ),
        E::TooLong { .. } => (
            Reason::TooLong,
            "the query is longer than the reranker reads".to_owned(),
        ),
        E::TooMuch { .. }
        | E::Empty { .. }
        | E::BeyondService { .. }
        | E::InputRefused { .. }
        | E::InputFailed { .. } => (
            Reason::Refused,
            "the reranker does not take what was found".to_owned(),
        ),
        E::NoWeights { .. }
        | E::Unreadable { .. }
        | E::Malformed { .. }
        | E::Unsupported { .. }
        | E::Setting { .. }
        | E::WrongDimension { .. } => (Reason::Refused, "the reranker cannot be used".to_owned()),
    };
    Reranked::Failed { reason, why }
}

fn check(status: u16) -> &'static str {
    match status {
        401 | 403 | 498 => "check rerank.api_key",
        _ => "check rerank.url and rerank.model",
    }
}
