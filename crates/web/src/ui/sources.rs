//! Sources: folders that are kept in step, what their last sync changed, and a pause.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::Redirect;
use axum::routing::{get, post};
use catalog::{JobChanges, NewSource, Page, Source};
use futures::future::try_join_all;
use model::SourceId;
use serde::Deserialize;
use uuid::Uuid;

use super::jobs::{JobLine, folder, roots};
use super::page::{Filled, Frame, Shown, Trouble, Visitor, show};
use super::shown::{Moment, State as Word};
use crate::api::sources::{checked_name, start_sync, switch};
use crate::auth::{Manage, Principal, Read};
use crate::extract::{Asked, Named};
use crate::gateway::Gateway;
use crate::problem::Problem;

const ROWS: u32 = 20;

pub fn routes() -> Router<Gateway> {
    Router::new()
        .route("/sources", get(sources).post(create))
        .route("/sources/{source}/sync", post(sync))
        .route("/sources/{source}/pause", post(pause))
        .route("/sources/{source}/resume", post(resume))
}

#[derive(Template)]
#[template(path = "sources.html")]
struct SourcesPage {
    frame: Frame,
    lines: Vec<SourceLine>,
    next: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Turned {
    cursor: Option<String>,
}

struct SourceLine {
    id: SourceId,
    name: String,
    kind: String,
    kb: String,
    roots: String,
    enabled: bool,
    state: Word,
    last_success: Option<Moment>,
    job: Option<(JobLine, JobChanges)>,
}

impl SourceLine {
    async fn read(gateway: &Gateway, who: &Principal, source: Source) -> Result<Self, Problem> {
        let catalog = gateway.catalog();
        let kb = catalog.kb(who.tenant, source.kb).await?;
        let job = match catalog.job_of_source(who.tenant, source.id).await? {
            None => None,
            Some(job) => {
                let changes = catalog.job_changes(who.tenant, job.id).await?;
                Some((JobLine::read(gateway, job).await?, changes))
            }
        };
        let state = match (&job, source.enabled) {
            (_, false) => Word::new("paused", "wait"),
            (None, true) if source.kind != "folder" => Word::new("by its events", "good"),
            (None, true) => Word::new("never synced", "quiet"),
            (Some((job, _)), true) => job.state.clone(),
        };
        Ok(Self {
            id: source.id,
            roots: roots(&source.config),
            name: source.name,
            kind: source.kind,
            kb: kb.name,
            enabled: source.enabled,
            state,
            last_success: source.last_success_at.map(Moment),
            job,
        })
    }

    /// Only a folder is walked, and only once at a time.
    fn may_sync(&self) -> bool {
        let under_way = self.job.as_ref().is_some_and(|(job, _)| job.live);
        self.kind == "folder" && self.enabled && !under_way
    }
}

async fn sources(
    State(gateway): State<Gateway>,
    who: Visitor<Read>,
    Asked(turned): Asked<Turned>,
) -> Shown {
    let frame = Frame::new(&gateway, &who, "sources").await?;
    let page = Page {
        after: turned.cursor,
        limit: ROWS,
    };
    let listed = gateway.catalog().sources(who.tenant, page).await?;
    let lines = listed.items.into_iter();
    let lines = lines.map(|source| SourceLine::read(&gateway, &who, source));
    show(&SourcesPage {
        frame,
        lines: try_join_all(lines).await?,
        next: listed.next,
    })
}

#[derive(Deserialize)]
struct SourceForm {
    name: String,
    kb: String,
    folder: String,
    remove_missing: Option<String>,
}

/// Makes a source and syncs it at once.
async fn create(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Filled(form): Filled<SourceForm>,
) -> Result<Redirect, Trouble> {
    // It names a folder of this machine.
    gateway.check_operator(&who)?;
    let kb = gateway.kb(who.tenant, &form.kb).await?;
    let source = NewSource {
        kb: kb.id,
        kind: "folder".to_owned(),
        name: checked_name(&form.name)?.to_owned(),
        config: folder(&form.folder, form.remove_missing.is_some())?,
    };
    let (catalog, now) = (gateway.catalog(), gateway.now());
    let source = catalog.create_source(who.tenant, source, now).await?;
    start_sync(&gateway, &who, source.id).await?;
    Ok(Redirect::to("/sources"))
}

async fn sync(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Named(source): Named<Uuid>,
) -> Result<Redirect, Trouble> {
    start_sync(&gateway, &who, SourceId::from_uuid(source)).await?;
    Ok(Redirect::to("/sources"))
}

async fn pause(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Named(source): Named<Uuid>,
) -> Result<Redirect, Trouble> {
    switch(&gateway, &who, SourceId::from_uuid(source), false).await?;
    Ok(Redirect::to("/sources"))
}

async fn resume(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Named(source): Named<Uuid>,
) -> Result<Redirect, Trouble> {
    switch(&gateway, &who, SourceId::from_uuid(source), true).await?;
    Ok(Redirect::to("/sources"))
}
