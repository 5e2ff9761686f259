//! Searching, and asking: passages that open where they stand.

use std::collections::BTreeSet;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use catalog::Kb;
use engine::ask::{self, Said, Sentence};
use engine::rerank::Reranked;
use engine::search::{Filter, Found, Hit, Mode, Request};
use pipeline::query::Weights;
use serde::Deserialize;

use super::marks::{Piece, excerpt};
use super::page::{Frame, Shown, Visitor, show};
use super::shown::{encoded, last_part};
use crate::auth::Search;
use crate::extract::{Asked, Named};
use crate::gateway::Gateway;
use crate::problem::Problem;

const HITS: usize = 10;
const LONGEST: usize = 8_000;

pub fn routes() -> Router<Gateway> {
    Router::new()
        .route("/kb/{kb}/search", get(search))
        .route("/kb/{kb}/ask", get(ask))
}

#[derive(Debug, Deserialize)]
struct Question {
    #[serde(default)]
    q: String,
    #[serde(default)]
    mode: Mode,
}

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    frame: Frame,
    q: String,
    mode: Mode,
    /// `None` before anything was asked.
    hits: Option<Vec<HitCard>>,
    /// Why the reranker's order is not shown, where it was asked for one.
    not_reranked: Option<String>,
    /// Why the meaning was left out, where it was asked for.
    words_only: Option<&'static str>,
    /// Of a query longer than the model reads.
    parts: Option<usize>,
}

impl SearchPage {
    fn modes(&self) -> [(&'static str, &'static str, bool); 3] {
        let is = |mode| self.mode == mode;
        [
            ("hybrid", "Meaning and words", is(Mode::Hybrid)),
            ("vector", "Meaning only", is(Mode::Vector)),
            ("text", "Words only", is(Mode::Text)),
        ]
    }
}

struct HitCard {
    rank: usize,
    name: String,
    href: String,
    heading: String,
    pages: String,
    /// Parts of its document that could not be read.
    gaps: u64,
    pieces: Vec<Piece>,
    score: String,
    vector: Option<String>,
    text: Option<String>,
    rerank: Option<String>,
}

impl HitCard {
    fn new(hit: &Hit, q: &str) -> Self {
        let leg = |leg: pipeline::query::Leg| format!("#{}, {:.3}", leg.rank, leg.score);
        Self {
            rank: hit.rank,
            name: name(hit),
            href: href(hit, q),
            heading: heading(hit),
            pages: pages(&hit.pages),
            gaps: hit.gaps as u64,
            pieces: excerpt(&hit.text, &hit.highlights),
            score: format!("{:.4}", hit.score),
            vector: hit.vector.map(leg),
            text: hit.text_leg.map(leg),
            rerank: hit.rerank.map(|score| format!("{score:.4}")),
        }
    }
}

fn name(hit: &Hit) -> String {
    let names = [hit.title.as_deref().unwrap_or_default(), &hit.filename];
    let named = names.into_iter().find(|name| !name.trim().is_empty());
    named.map_or_else(|| last_part(hit.source_uri.as_str()), str::to_owned)
}

/// What the passage stands under, below the name of its document.
fn heading(hit: &Hit) -> String {
    let path = &hit.heading_path;
    let repeats = path.first().is_some_and(|first| *first == name(hit));
    path[usize::from(repeats)..].join(" › ")
}

/// The inspector, open at the passage.
fn href(hit: &Hit, q: &str) -> String {
    let chunk = format!("{}:{}", hit.chunk.unit, hit.chunk.ordinal);
    format!(
        "/versions/{}?chunk={}&q={}",
        hit.version,
        encoded(&chunk),
        encoded(q)
    )
}

pub fn pages(pages: &[u32]) -> String {
    match pages {
        [] => String::new(),
        [one] => format!("page {one}"),
        [first, .., last] => format!("pages {first}–{last}"),
    }
}

async fn search(
    State(gateway): State<Gateway>,
    who: Visitor<Search>,
    Named(kb): Named<String>,
    Asked(asked): Asked<Question>,
) -> Shown {
    let (frame, kb) = Frame::of_kb(&gateway, &who, "search", &kb).await?;
    let found = found(&gateway, &kb, &asked).await?;
    let reranked = found.as_ref().and_then(|found| found.reranked.as_ref());
    let not_reranked = reranked.and_then(Reranked::why).map(str::to_owned);
    let words_only = found.as_ref().and_then(|found| found.words_only);
    let parts = found.as_ref().and_then(|found| found.query_parts);
    let card = |hit: &Hit| HitCard::new(hit, &asked.q);
    show(&SearchPage {
        frame,
        hits: found.map(|found| found.hits.iter().map(card).collect()),
        not_reranked,
        words_only,
        parts: parts.filter(|parts| *parts > 1),
        mode: asked.mode,
        q: asked.q,
    })
}

async fn found(gateway: &Gateway, kb: &Kb, asked: &Question) -> Result<Option<Found>, Problem> {
    match request(asked)? {
        Some(request) => Ok(Some(gateway.engine().search(kb, &request).await?)),
        None => Ok(None),
    }
}

/// `None` before anything was asked.
fn request(asked: &Question) -> Result<Option<Request>, Problem> {
    if asked.q.trim().is_empty() {
        return Ok(None);
    }
    if asked.q.len() > LONGEST {
        return Err(Problem::invalid(format!(
            "a query has at most {LONGEST} bytes"
        )));
    }
    Ok(Some(Request {
        query: asked.q.clone(),
        mode: asked.mode,
        top: HITS,
        weights: Weights::default(),
        filter: Filter::default(),
        neighbours: 0,
        as_of: None,
        rerank: None,
    }))
}

#[derive(Template)]
#[template(path = "ask.html")]
struct AskPage {
    frame: Frame,
    q: String,
    answered: Option<Answered>,
}

enum Answered {
    Quotes(Vec<Quote>),
    Nothing {
        missing: Vec<String>,
        /// Documents among the nearest of which parts could not be read.
        unread: u64,
    },
}

/// A sentence of a document, and where it stands.
struct Quote {
    sentence: String,
    name: String,
    href: String,
    pages: String,
    heading: String,
    /// Parts of its document that could not be read.
    gaps: u64,
}

async fn ask(
    State(gateway): State<Gateway>,
    who: Visitor<Search>,
    Named(kb): Named<String>,
    Asked(asked): Asked<Question>,
) -> Shown {
    let (frame, kb) = Frame::of_kb(&gateway, &who, "ask", &kb).await?;
    let answered = match request(&asked)? {
        Some(request) => Some(answered(
            &asked.q,
            gateway.engine().ask(&kb, &request).await?,
        )),
        None => None,
    };
    show(&AskPage {
        frame,
        q: asked.q,
        answered,
    })
}

fn answered(q: &str, asked: ask::Asked) -> Answered {
    match asked.said {
        Said::Nothing { missing } => Answered::Nothing {
            missing: missing.iter().map(|stem| as_asked(q, stem)).collect(),
            unread: unread(&asked.hits),
        },
        Said::Sentences(sentences) => {
            let quote = |said: &Sentence| quote(q, &asked.hits[said.hit], said);
            Answered::Quotes(sentences.iter().map(quote).collect())
        }
    }
}

fn unread(hits: &[Hit]) -> u64 {
    let with_gaps = hits.iter().filter(|hit| hit.gaps > 0);
    let documents: BTreeSet<_> = with_gaps.map(|hit| hit.document).collect();
    documents.len() as u64
}

/// The word of the question that a stem was cut from.
fn as_asked(q: &str, stem: &str) -> String {
    let mut words = q.split(|c: char| !c.is_alphanumeric());
    let word = words.find(|word| word.to_lowercase().starts_with(stem));
    word.unwrap_or(stem).to_owned()
}

fn quote(q: &str, hit: &Hit, said: &Sentence) -> Quote {
    Quote {
        sentence: said.text.clone(),
        name: name(hit),
        href: href(hit, q),
        pages: pages(&hit.pages),
        heading: heading(hit),
        gaps: hit.gaps as u64,
    }
}
