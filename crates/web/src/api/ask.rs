//! A question in, the sentences that answer it out, each with its place; or an honest no.

use axum::Json;
use axum::extract::State;
use engine::ask::{Asked, Said, Sentence};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::citations::CitationView;
use super::search::{
    FilterBody, ForgottenView, HitView, Question, RerankView, WeightsBody, checked,
};
use crate::auth::{May, Search};
use crate::extract::{Named, Sent};
use crate::gateway::Gateway;
use crate::problem::Problem;

/// Passages that are read for an answer.
const PASSAGES: usize = 10;
const LONGEST: usize = 2000;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(ask))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AskBody {
    #[schema(min_length = 1, max_length = 2000)]
    pub question: String,
    pub weights: Option<WeightsBody>,
    #[serde(default)]
    pub filter: FilterBody,
    /// What answered at that time, instead of now.
    pub as_of: Option<chrono::DateTime<chrono::Utc>>,
    /// `false` leaves the reranker out; `true` is refused where none is configured.
    pub rerank: Option<bool>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct AnswerView {
    pub question: String,
    /// `false`: not in these documents.
    pub answered: bool,
    /// Who read the passages; `extractive` says nothing that does not stand in one.
    pub answerer: &'static str,
    pub sentences: Vec<SentenceView>,
    /// Words of the question that no passage has.
    pub missing: Vec<String>,
    /// The passages that were read, nearest first.
    pub nearest: Vec<HitView>,
    /// Null where no reranker was asked: none is configured, it was left out, nothing was found.
    pub rerank: Option<RerankView>,
    /// In how many parts the question was embedded, whose vectors were averaged: more than one where
    /// it is longer than the model reads.
    pub query_parts: Option<usize>,
    /// Why only words were searched for, although the meaning was asked for, too: the model did not
    /// answer. Null where it did, or was not asked.
    pub words_only: Option<&'static str>,
    /// What answered at `as_of` and was not searched; null where nothing is lacking.
    pub forgotten: Option<ForgottenView>,
    /// Given where fewer passages than are read stand under `filter.heading` among the best so many
    /// by meaning and by words, and there are others that were not looked at.
    pub heading_among: Option<usize>,
}

/// A sentence as a document has it.
#[derive(Debug, Serialize, ToSchema)]
pub struct SentenceView {
    pub text: String,
    /// Of this very sentence; its pages, boxes and hash are those of its chunk.
    pub citation: CitationView,
    /// Parts of its document that could not be read.
    pub gaps: usize,
}

/// Answers with sentences of the documents, or says that they have none.
#[utoipa::path(post, path = "/v1/kbs/{kb}/ask", tag = "search", request_body = AskBody,
    params(("kb" = String, Path)), responses((status = 200, body = AnswerView)))]
async fn ask(
    State(gateway): State<Gateway>,
    who: May<Search>,
    Named(kb): Named<String>,
    Sent(sent): Sent<AskBody>,
) -> Result<Json<AnswerView>, Problem> {
    if sent.question.chars().count() > LONGEST {
        return Err(Problem::unprocessable(format!(
            "a question has at most {LONGEST} characters"
        )));
    }
    let request = checked(Question {
        weights: sent.weights,
        filter: sent.filter,
        as_of: sent.as_of,
        rerank: sent.rerank,
        ..Question::new(sent.question, PASSAGES)
    })?;
    let kb = gateway.kb(who.tenant, &kb).await?;
    let asked = gateway.engine().ask(&kb, &request).await?;
    Ok(Json(view(request.query, asked)))
}

fn view(question: String, asked: Asked) -> AnswerView {
    let (sentences, missing) = match asked.said {
        Said::Nothing { missing } => (Vec::new(), missing),
        Said::Sentences(sentences) => {
            let cited = |sentence: &Sentence| {
                let hit = &asked.hits[sentence.hit];
                SentenceView {
                    text: sentence.text.clone(),
                    citation: CitationView::new(hit, sentence.span),
                    gaps: hit.gaps,
                }
            };
            (sentences.iter().map(cited).collect(), Vec::new())
        }
    };
    AnswerView {
        question,
        answered: !sentences.is_empty(),
        answerer: "extractive",
        sentences,
        missing,
        nearest: asked.hits.into_iter().map(HitView::from).collect(),
        rerank: asked.reranked.map(RerankView::from),
        query_parts: asked.query_parts,
        words_only: asked.words_only,
        forgotten: asked.forgotten.map(ForgottenView::from),
        heading_among: asked.heading_among,
    }
}
