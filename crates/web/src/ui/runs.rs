//! Runs as they go, and what came to nothing.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::Redirect;
use axum::routing::{get, post};
use catalog::{DeadLetter, Page, Run, RunError, RunFilter, Status};
use model::{DocumentId, RunId, RunStatus};
use serde::Deserialize;
use uuid::Uuid;

use super::page::{Frame, Shown, Trouble, Visitor, show};
use super::shown::{Moment, State as Word, count, duration, run_name, run_state};
use crate::auth::{Ingest, Manage, Read};
use crate::extract::{Asked, Named};
use crate::gateway::Gateway;
use crate::problem::Problem;

const ROWS: u32 = 50;

pub fn routes() -> Router<Gateway> {
    Router::new()
        .route("/runs", get(runs))
        .route("/runs/{run}/retry", post(retry))
        .route("/dead-letters/{letter}/replay", post(replay))
        .route("/dead-letters/{letter}/drop", post(drop_letter))
}

pub struct RunLine {
    pub id: RunId,
    pub document: DocumentId,
    pub name: String,
    pub uri: String,
    pub kind: &'static str,
    pub state: Word,
    pub done: u32,
    pub total: u32,
    pub live: bool,
    pub error: Option<RunError>,
    pub chunks: String,
    pub created: Moment,
    pub took: String,
    pub can_retry: bool,
}

impl From<Run> for RunLine {
    fn from(run: Run) -> Self {
        Self {
            id: run.id,
            document: run.document,
            name: run_name(
                run.title.as_deref(),
                run.filename.as_deref(),
                &run.source_uri,
            ),
            kind: run.run_type.as_str(),
            state: run_state(&run),
            done: run.units_done,
            total: run.units_total,
            live: run.status.is_live(),
            chunks: count(run.stats.chunks_created),
            created: Moment(run.created_at),
            took: took(&run),
            can_retry: matches!(run.status, RunStatus::Failed | RunStatus::Canceled),
            uri: run.source_uri,
            error: run.error,
        }
    }
}

fn took(run: &Run) -> String {
    match run.started_at.zip(run.finished_at) {
        None => String::new(),
        Some((from, to)) => duration((to - from).num_milliseconds() as f64 / 1e3),
    }
}

#[derive(Debug, Deserialize)]
struct Looked {
    status: Option<String>,
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    frame: Frame,
    status: Status,
    chosen: Option<RunStatus>,
    lines: Vec<RunLine>,
    letters: Vec<LetterLine>,
    next: Option<String>,
}

/// A dead letter, under the name of its document.
struct LetterLine {
    name: String,
    letter: DeadLetter,
}

impl From<DeadLetter> for LetterLine {
    fn from(letter: DeadLetter) -> Self {
        let (title, filename) = (letter.title.as_deref(), letter.filename.as_deref());
        let name = run_name(title, filename, &letter.source_uri);
        Self { name, letter }
    }
}

impl RunsPage {
    fn choices(&self) -> Vec<(String, String, bool)> {
        let every = ("/runs".to_owned(), "All".to_owned(), self.chosen.is_none());
        let each = RunStatus::ALL.iter().map(|status| {
            let href = format!("/runs?status={status}");
            (href, status.to_string(), self.chosen == Some(*status))
        });
        std::iter::once(every).chain(each).collect()
    }
}

async fn runs(
    State(gateway): State<Gateway>,
    who: Visitor<Read>,
    Asked(looked): Asked<Looked>,
) -> Shown {
    let frame = Frame::new(&gateway, &who, "runs").await?;
    let chosen = match looked.status.as_deref() {
        None | Some("") => None,
        Some(word) => Some(
            word.parse::<RunStatus>()
                .map_err(|unknown| Problem::invalid(unknown.to_string()))?,
        ),
    };
    let filter = RunFilter {
        status: chosen,
        ..RunFilter::default()
    };
    let page = Page {
        after: looked.cursor,
        limit: ROWS,
    };
    let catalog = gateway.catalog();
    let listed = catalog.runs(who.tenant, filter, page).await?;
    let letters = match frame.admin {
        true => {
            let letters = catalog.dead_letters(who.tenant, Page::first(ROWS));
            letters.await?.items
        }
        false => Vec::new(),
    };
    let letters = letters.into_iter().map(LetterLine::from).collect();
    let next = listed.next.map(|cursor| {
        let status = chosen.map_or("", RunStatus::as_str);
        format!("?status={status}&cursor={}", super::shown::encoded(&cursor))
    });
    show(&RunsPage {
        frame,
        status: catalog.status(who.tenant, gateway.now()).await?,
        chosen,
        lines: listed.items.into_iter().map(RunLine::from).collect(),
        letters,
        next,
    })
}

async fn retry(
    State(gateway): State<Gateway>,
    who: Visitor<Ingest>,
    Named(run): Named<Uuid>,
) -> Result<Redirect, Trouble> {
    let run = RunId::from_uuid(run);
    gateway
        .catalog()
        .retry_run(who.tenant, run, gateway.now())
        .await?;
    Ok(Redirect::to("/runs"))
}

async fn replay(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Named(letter): Named<Uuid>,
) -> Result<Redirect, Trouble> {
    let catalog = gateway.catalog();
    catalog
        .replay_dead_letter(who.tenant, letter, gateway.now())
        .await?;
    Ok(Redirect::to("/runs"))
}

async fn drop_letter(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Named(letter): Named<Uuid>,
) -> Result<Redirect, Trouble> {
    gateway
        .catalog()
        .drop_dead_letter(who.tenant, letter)
        .await?;
    Ok(Redirect::to("/runs"))
}
