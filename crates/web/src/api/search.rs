//! A question in, passages with their place out.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use catalog::{Forgotten, LONGEST_PAIR};
use chrono::{DateTime, Utc};
use engine::rerank::Reranked;
use engine::search::{Filter, Hit, Mode, Request};
use model::{DocumentId, PageBox};
use pipeline::query::Weights;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::{Object, ObjectBuilder, Type};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::citations::CitationView;
use crate::auth::{May, Search};
use crate::extract::{Named, Sent, check_time};
use crate::gateway::Gateway;
use crate::problem::Problem;

const MOST_HITS: usize = 200;
const LONGEST_QUERY: usize = 8_000;
const MOST_NEIGHBOURS: u32 = 10;
/// Each id and each pair is a part of one statement, of which a database takes only so many.
const MOST_DOCUMENTS: usize = 1_000;
const MOST_PAIRS: usize = 100;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(search))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    #[schema(min_length = 1, max_length = 8000)]
    pub query: String,
    /// `hybrid`, `vector` or `text`.
    #[serde(default)]
    #[schema(value_type = String, default = "hybrid", pattern = "^(hybrid|vector|text)$")]
    pub mode: Mode,
    #[serde(default = "ten")]
    #[schema(minimum = 1, maximum = 200)]
    pub top: usize,
    pub weights: Option<WeightsBody>,
    #[serde(default)]
    pub filter: FilterBody,
    /// How many chunks before and after each hit to show with it.
    #[serde(default)]
    #[schema(maximum = 10)]
    pub neighbours: u32,
    /// What answered at that time, instead of now; see `forgotten` in the answer.
    pub as_of: Option<DateTime<Utc>>,
    /// `false` leaves the reranker out; `true` is refused where none is configured.
    pub rerank: Option<bool>,
}

/// What each leg counts for in the fused score; one of weight 0 is not searched. At least one that
/// the mode searches counts for something.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WeightsBody {
    /// Of the meaning.
    #[schema(minimum = 0, default = 1.0)]
    pub vector: Option<f64>,
    /// Of the words.
    #[schema(minimum = 0, default = 1.0)]
    pub text: Option<f64>,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FilterBody {
    #[schema(max_items = 1000)]
    pub document_ids: Vec<Uuid>,
    /// Every pair must be among the document's metadata.
    #[schema(schema_with = pairs)]
    pub metadata: BTreeMap<String, String>,
    pub language: Option<String>,
    /// Only chunks under a heading that contains this.
    pub heading: Option<String>,
}

impl Question {
    pub fn new(query: String, top: usize) -> Self {
        Self {
            query,
            mode: Mode::default(),
            top,
            weights: None,
            filter: FilterBody::default(),
            neighbours: 0,
            as_of: None,
            rerank: None,
        }
    }
}

fn ten() -> usize {
    10
}

/// Strings by name, and how many: the description of a field cannot say so otherwise.
fn pairs() -> Object {
    let string = ObjectBuilder::new().schema_type(Type::String);
    ObjectBuilder::new()
        .additional_properties(Some(string))
        .max_properties(Some(MOST_PAIRS))
        .description(Some("Every pair must be among the document's metadata."))
        .build()
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Answer {
    pub query: String,
    pub hits: Vec<HitView>,
    /// Null where no reranker was asked: none is configured, it was left out, nothing was found.
    pub rerank: Option<RerankView>,
    /// In how many parts the query was embedded, whose vectors were averaged: more than one where it
    /// is longer than the model reads. Null where only its words were searched for.
    pub query_parts: Option<usize>,
    /// Why only words were searched for, although the meaning was asked for, too: the model did not
    /// answer. Null where it did, or was not asked.
    pub words_only: Option<&'static str>,
    /// What answered at `as_of` and was not searched; null where nothing is lacking.
    pub forgotten: Option<ForgottenView>,
    /// Given where fewer passages than were asked for stand under `filter.heading` among the best
    /// so many by meaning and by words, and there are others that were not looked at.
    pub heading_among: Option<usize>,
}

/// The index keeps of the time before a new generation began to serve only what answered still.
#[derive(Debug, Serialize, ToSchema)]
pub struct ForgottenView {
    /// How many documents answered then with something that cannot be searched any more.
    pub documents: u64,
    /// For this time, and any later one, everything is searched that answered then.
    pub since: DateTime<Utc>,
}

impl From<Forgotten> for ForgottenView {
    fn from(forgotten: Forgotten) -> Self {
        Self {
            documents: forgotten.documents,
            since: forgotten.since,
        }
    }
}

/// What came of asking the reranker.
#[derive(Debug, Serialize, ToSchema)]
pub struct RerankView {
    /// `false`: it failed, and the passages come in the order of their fused scores.
    pub applied: bool,
    /// Why it failed.
    pub why: Option<String>,
}

impl From<Reranked> for RerankView {
    fn from(reranked: Reranked) -> Self {
        Self {
            applied: reranked == Reranked::Applied,
            why: reranked.why().map(str::to_owned),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct HitView {
    pub rank: usize,
    /// Of both legs, fused; where the passages were reranked they come in that order instead.
    pub score: f64,
    pub scores: Scores,
    pub document_id: Uuid,
    pub version_id: Uuid,
    pub source_uri: String,
    pub title: Option<String>,
    /// How many parts of the document could not be read; the document names them.
    pub gaps: usize,
    pub heading_path: Vec<String>,
    pub text: String,
    pub chunk_id: String,
    pub chunk_hash: String,
    pub pages: Vec<u32>,
    #[schema(value_type = Vec<Object>)]
    pub boxes: Vec<PageBox>,
    /// Of the version's normalised text.
    pub char_range: [u64; 2],
    pub byte_range: [u64; 2],
    /// Byte ranges of `text` that match the query.
    pub highlights: Vec<[usize; 2]>,
    pub before: Vec<String>,
    pub after: Vec<String>,
    /// Where the passage stands; with a quote of it, `POST /v1/citations/verify` proves it.
    pub citation: CitationView,
}

/// What each leg gave, null where it did not find the passage; and the reranker, null where it
/// was not asked about it or failed.
#[derive(Debug, Serialize, ToSchema)]
pub struct Scores {
    pub vector: Option<f32>,
    pub text: Option<f32>,
    pub rerank: Option<f64>,
}

impl From<Hit> for HitView {
    fn from(hit: Hit) -> Self {
        let citation = CitationView::new(&hit, hit.span);
        Self {
            rank: hit.rank,
            score: hit.score,
            scores: Scores {
                vector: hit.vector.map(|leg| leg.score),
                text: hit.text_leg.map(|leg| leg.score),
                rerank: hit.rerank,
            },
            document_id: hit.document.as_uuid(),
            version_id: hit.version.as_uuid(),
            source_uri: hit.source_uri.to_string(),
            title: hit.title,
            gaps: hit.gaps,
            heading_path: hit.heading_path,
            text: hit.text,
            chunk_id: hit.chunk.to_string(),
            chunk_hash: hit.chunk_hash.to_string(),
            pages: hit.pages,
            boxes: hit.boxes,
            char_range: [hit.span.char_start, hit.span.char_end],
            byte_range: [hit.span.byte_start, hit.span.byte_end],
            highlights: hit.highlights.iter().map(|r| [r.start, r.end]).collect(),
            before: hit.before,
            after: hit.after,
            citation,
        }
    }
}

/// Finds passages among the versions that answer.
#[utoipa::path(post, path = "/v1/kbs/{kb}/search", tag = "search", request_body = Question,
    params(("kb" = String, Path)), responses((status = 200, body = Answer)))]
async fn search(
    State(gateway): State<Gateway>,
    who: May<Search>,
    Named(kb): Named<String>,
    Sent(sent): Sent<Question>,
) -> Result<Json<Answer>, Problem> {
    let request = checked(sent)?;
    let kb = gateway.kb(who.tenant, &kb).await?;
    let found = gateway.engine().search(&kb, &request).await?;
    Ok(Json(Answer {
        query: request.query,
        hits: found.hits.into_iter().map(HitView::from).collect(),
        rerank: found.reranked.map(RerankView::from),
        query_parts: found.query_parts,
        words_only: found.words_only,
        forgotten: found.forgotten.map(ForgottenView::from),
        heading_among: found.heading_among,
    }))
}

pub fn checked(sent: Question) -> Result<Request, Problem> {
    let empty = sent.query.trim().is_empty();
    if empty || sent.query.len() > LONGEST_QUERY {
        return Err(Problem::unprocessable(format!(
            "a query has 1 to {LONGEST_QUERY} bytes"
        )));
    }
    if !(1..=MOST_HITS).contains(&sent.top) {
        return Err(Problem::invalid(format!("top is 1 to {MOST_HITS}")));
    }
    if sent.neighbours > MOST_NEIGHBOURS {
        return Err(Problem::invalid(format!(
            "neighbours is at most {MOST_NEIGHBOURS}"
        )));
    }
    check_time("as_of", sent.as_of)?;
    let weights = sent.weights.unwrap_or_default().checked(sent.mode)?;
    let filter = sent.filter.checked()?;
    Ok(Request {
        query: sent.query,
        mode: sent.mode,
        top: sent.top,
        weights,
        filter,
        neighbours: sent.neighbours,
        as_of: sent.as_of,
        rerank: sent.rerank,
    })
}

impl WeightsBody {
    fn checked(self, mode: Mode) -> Result<Weights, Problem> {
        let usual = Weights::default();
        let weights = Weights {
            vector: self.vector.unwrap_or(usual.vector),
            text: self.text.unwrap_or(usual.text),
        };
        let counts = |weight: f64| weight.is_finite() && weight >= 0.0;
        if !counts(weights.vector) || !counts(weights.text) {
            return Err(Problem::unprocessable(
                "weights are finite numbers, and not negative",
            ));
        }
        let nothing = match mode {
            Mode::Hybrid => weights.vector + weights.text == 0.0,
            Mode::Vector => weights.vector == 0.0,
            Mode::Text => weights.text == 0.0,
        };
        if nothing {
            return Err(Problem::unprocessable(
                "with these weights nothing that the mode searches counts",
            )
            .hint("give `vector` or `text` a weight above 0; 1 is the default of both"));
        }
        Ok(weights)
    }
}

impl FilterBody {
    fn checked(self) -> Result<Filter, Problem> {
        if self.document_ids.len() > MOST_DOCUMENTS {
            return Err(Problem::unprocessable(format!(
                "a filter names at most {MOST_DOCUMENTS} documents"
            ))
            .hint(
                "ask for so many at a time, or give them metadata in common and filter by that",
            ));
        }
        if self.metadata.len() > MOST_PAIRS {
            return Err(Problem::unprocessable(format!(
                "a filter has at most {MOST_PAIRS} pairs of metadata"
            )));
        }
        let too_long = |(key, value): (&String, &String)| key.len() + value.len() > LONGEST_PAIR;
        if self.metadata.iter().any(too_long) {
            return Err(Problem::unprocessable(format!(
                "a filter's key and value have at most {LONGEST_PAIR} bytes together"
            )));
        }
        let documents = self.document_ids.into_iter();
        Ok(Filter {
            documents: documents.map(DocumentId::from_uuid).collect(),
            metadata: self.metadata.into_iter().collect(),
            language: self.language,
            heading: self.heading,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(filter: FilterBody) -> Question {
        Question {
            filter,
            ..Question::new("quern".to_owned(), 10)
        }
    }

    fn of_documents(count: usize) -> FilterBody {
        FilterBody {
            document_ids: vec![Uuid::nil(); count],
            ..FilterBody::default()
        }
    }

    fn of_pairs(count: usize) -> FilterBody {
        let pair = |n: usize| (n.to_string(), "x".to_owned());
        FilterBody {
            metadata: (0..count).map(pair).collect(),
            ..FilterBody::default()
        }
    }

    #[test]
    fn a_filter_of_more_than_a_database_takes_is_refused_with_the_limit() {
        for (filter, limit) in [
            (of_documents(1_001), "at most 1000 documents"),
            (of_pairs(101), "at most 100 pairs"),
        ] {
            let problem = checked(question(filter)).unwrap_err();
            assert_eq!(problem.status(), 422);
            assert!(problem.detail().contains(limit), "{problem:?}");
        }
        for filter in [of_documents(1_000), of_pairs(100)] {
            assert!(checked(question(filter)).is_ok());
        }
    }

    fn weighed(mode: Mode, vector: f64, text: f64) -> Result<Request, Problem> {
        let weights = WeightsBody {
            vector: Some(vector),
            text: Some(text),
        };
        checked(Question {
            mode,
            weights: Some(weights),
            ..Question::new("quern".to_owned(), 10)
        })
    }

    #[test]
    fn weights_are_taken_as_they_are_where_something_counts_and_refused_where_nothing_does() {
        for (mode, vector, text) in [
            (Mode::Hybrid, 2.0, 0.5),
            (Mode::Hybrid, 0.0, 1.0),
            (Mode::Vector, 1.0, 0.0),
            (Mode::Text, 0.0, 1.0),
        ] {
            let taken = weighed(mode, vector, text).unwrap().weights;
            assert_eq!(taken, Weights { vector, text });
        }
        for (mode, vector, text) in [
            (Mode::Hybrid, 0.0, 0.0),
            (Mode::Vector, 0.0, 1.0),
            (Mode::Text, 1.0, 0.0),
            (Mode::Hybrid, -1.0, 2.0),
            (Mode::Hybrid, 1.0, f64::INFINITY),
            (Mode::Hybrid, f64::NAN, 1.0),
        ] {
            let problem = weighed(mode, vector, text).unwrap_err();
            assert_eq!(problem.status(), 422, "{mode:?} {vector} {text}");
        }
        let unsaid = Question::new("quern".to_owned(), 10);
        assert_eq!(checked(unsaid).unwrap().weights, Weights::default());
    }
}
