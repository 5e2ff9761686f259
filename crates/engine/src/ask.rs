//! A question becomes the sentences that answer it, each with its place, or an honest no.
//!
//! Extractive: nothing is said that does not stand in a document. What reads the passages
//! is [`pipeline::query::answer`]; a language model would take its place here, and would
//! have to cite in the same way.

use catalog::{Forgotten, Kb};
use model::Span;
use pipeline::query::{Answer, Support, answer};

use crate::rerank::Reranked;
use crate::search::{Hit, Request};
use crate::{Engine, Error, query_line};

/// Sentences an answer has at most.
const SENTENCES: usize = 5;

/// What the passages say to a question.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The passages that were read, nearest first.
    pub hits: Vec<Hit>,
    /// `None` where no reranker was asked.
    pub reranked: Option<Reranked>,
    /// As [`crate::search::Found::query_parts`].
    pub query_parts: Option<usize>,
    /// As [`crate::search::Found::words_only`].
    pub words_only: Option<&'static str>,
    /// As [`crate::search::Found::forgotten`].
    pub forgotten: Option<Forgotten>,
    /// As [`crate::search::Found::heading_among`].
    pub heading_among: Option<usize>,
    pub said: Said,
}

#[derive(Debug, Clone)]
pub enum Said {
    /// Best supported first.
    Sentences(Vec<Sentence>),
    /// Not in these documents; these words of the question no passage has.
    Nothing { missing: Vec<String> },
}

/// A sentence of a passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// Of [`Asked::hits`].
    pub hit: usize,
    pub text: String,
    /// Of the version's text.
    pub span: Span,
}

impl Engine {
    pub async fn ask(&self, kb: &Kb, request: &Request) -> Result<Asked, Error> {
        let found = self.find(kb, request).await?;
        let hits = &found.hits;
        let passages: Vec<&str> = hits.iter().map(|hit| hit.text.as_str()).collect();
        let said = match answer(&request.query, &passages, SENTENCES) {
            Answer::Abstained { missing } => Said::Nothing { missing },
            Answer::Supported(supports) => {
                Said::Sentences(supports.iter().map(|s| sentence(hits, s)).collect())
            }
        };
        let answered = matches!(said, Said::Sentences(_));
        query_line::log(kb, request, &found, Some(answered));
        Ok(Asked {
            hits: found.hits,
            reranked: found.reranked,
            query_parts: found.query_parts,
            words_only: found.words_only,
            forgotten: found.forgotten,
            heading_among: found.heading_among,
            said,
        })
    }
}

fn sentence(hits: &[Hit], support: &Support) -> Sentence {
    let hit = &hits[support.passage];
    let text = &hit.text[support.range.clone()];
    let chars_before = hit.text[..support.range.start].chars().count() as u64;
    let inner = Span {
        byte_start: support.range.start as u64,
        byte_end: support.range.end as u64,
        char_start: chars_before,
        char_end: chars_before + text.chars().count() as u64,
    };
    Sentence {
        hit: support.passage,
        text: text.to_owned(),
        span: inner.shifted(hit.span.byte_start, hit.span.char_start),
    }
}
