//! A knowledge base's documents, and one document with its versions.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::Redirect;
use axum::routing::{get, post};
use catalog::{
    Active, DocumentFilter, DocumentRow, Kb, Listed, Page, Removal, RunFilter, Status, Version,
};
use futures::future::try_join_all;
use model::{DocumentId, VersionId};
use serde::Deserialize;
use uuid::Uuid;

use super::page::{Filled, Frame, Shown, Trouble, Visitor, show};
use super::runs::RunLine;
use super::shown::{Moment, State as Word, count, document_name, document_state, encoded, size};
use crate::auth::{Manage, Principal, Read};
use crate::extract::{Asked, Named};
use crate::gateway::Gateway;
use crate::problem::Problem;

const ROWS: u32 = 50;

pub fn routes() -> Router<Gateway> {
    Router::new()
        .route("/kb/{kb}", get(library))
        .route("/documents/{document}", get(document))
        .route("/documents/{document}/rollback", post(rollback))
        .route("/documents/{document}/deactivate", post(deactivate))
}

#[derive(Debug, Default, Deserialize)]
struct Looked {
    #[serde(default)]
    text: String,
    /// `ready`, `failed`, `inactive` or `all`; else all but the inactive.
    #[serde(default)]
    show: String,
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "library.html")]
struct LibraryPage {
    frame: Frame,
    status: Status,
    text: String,
    shown: String,
    lines: Vec<DocumentLine>,
    next: Option<String>,
}

struct DocumentLine {
    id: DocumentId,
    name: String,
    uri: String,
    state: Word,
    size: String,
    pages: u32,
    /// How many of its parts could not be read.
    gaps: u64,
    chunks: String,
    versions: u32,
    updated: Moment,
    inspect: Option<VersionId>,
}

async fn library(
    State(gateway): State<Gateway>,
    who: Visitor<Read>,
    Named(kb): Named<String>,
    Asked(looked): Asked<Looked>,
) -> Shown {
    let (frame, kb) = Frame::of_kb(&gateway, &who, "documents", &kb).await?;
    let listed = listed(&gateway, &who, &kb, &looked).await?;
    let next = listed.next.map(|cursor| following(&looked, &cursor));
    show(&LibraryPage {
        frame,
        status: gateway.catalog().status(who.tenant, gateway.now()).await?,
        lines: listed.items.into_iter().map(DocumentLine::from).collect(),
        next,
        text: looked.text,
        shown: looked.show,
    })
}

fn following(looked: &Looked, cursor: &str) -> String {
    let (text, shown) = (encoded(&looked.text), encoded(&looked.show));
    format!("?text={text}&show={shown}&cursor={}", encoded(cursor))
}

async fn listed(
    gateway: &Gateway,
    who: &Principal,
    kb: &Kb,
    looked: &Looked,
) -> Result<Listed<DocumentRow>, Problem> {
    let (active, state) = match looked.show.as_str() {
        "inactive" => (Active::Inactive, None),
        "failed" => (Active::All, Some(catalog::DocumentState::Failed)),
        "ready" => (Active::Active, None),
        "all" => (Active::All, None),
        _ => (Active::Current, None),
    };
    let text = looked.text.trim();
    let filter = DocumentFilter {
        kb: Some(kb.id),
        active,
        state,
        text: (!text.is_empty()).then(|| text.to_owned()),
        ..DocumentFilter::default()
    };
    let page = Page {
        after: looked.cursor.clone(),
        limit: ROWS,
    };
    Ok(gateway
        .catalog()
        .documents(who.tenant, filter, page)
        .await?)
}

impl From<DocumentRow> for DocumentLine {
    fn from(row: DocumentRow) -> Self {
        Self {
            id: row.id,
            name: document_name(&row),
            uri: row.source_uri.to_string(),
            state: document_state(&row),
            size: row.size.map(size).unwrap_or_default(),
            pages: row.pages,
            gaps: row.gaps.len() as u64,
            chunks: count(row.chunks),
            versions: row.versions,
            updated: Moment(row.updated_at),
            inspect: row.active,
        }
    }
}

#[derive(Template)]
#[template(path = "document.html")]
struct DocumentPage {
    frame: Frame,
    id: DocumentId,
    name: String,
    row: DocumentRow,
    state: Word,
    versions: Listed<VersionLine>,
    runs: Listed<RunLine>,
}

/// Where the lists are to go on.
#[derive(Debug, Deserialize)]
struct Turned {
    versions: Option<String>,
    runs: Option<String>,
}

const fn after(cursor: Option<String>) -> Page {
    Page {
        after: cursor,
        limit: ROWS,
    }
}

struct VersionLine {
    id: VersionId,
    active: bool,
    can_answer: bool,
    version: Version,
    size: String,
    pages: u64,
    created: Moment,
}

async fn document(
    State(gateway): State<Gateway>,
    who: Visitor<Read>,
    Named(document): Named<Uuid>,
    Asked(turned): Asked<Turned>,
) -> Shown {
    let id = DocumentId::from_uuid(document);
    let catalog = gateway.catalog();
    let row = catalog.document(who.tenant, id).await?;
    let kb = catalog.kb(who.tenant, row.kb).await?;
    let (frame, _) = Frame::of_kb(&gateway, &who, "documents", &kb.name).await?;
    let versions = catalog.versions(who.tenant, id, after(turned.versions));
    let versions = versions.await?;
    let lines = versions.items.into_iter();
    let lines = lines.map(|version| version_line(&gateway, &who, &row, version));
    let filter = RunFilter {
        document: Some(id),
        ..RunFilter::default()
    };
    let runs = catalog.runs(who.tenant, filter, after(turned.runs)).await?;
    show(&DocumentPage {
        frame,
        id,
        name: document_name(&row),
        state: document_state(&row),
        versions: Listed {
            items: try_join_all(lines).await?,
            next: versions.next,
        },
        row,
        runs: runs.map(RunLine::from),
    })
}

async fn version_line(
    gateway: &Gateway,
    who: &Principal,
    row: &DocumentRow,
    version: Version,
) -> Result<VersionLine, Problem> {
    let pages = gateway.catalog().pages(who.tenant, version.id).await?;
    let done = [
        catalog::VersionState::Ready,
        catalog::VersionState::Superseded,
    ];
    Ok(VersionLine {
        id: version.id,
        active: row.active == Some(version.id),
        can_answer: done.contains(&version.state),
        size: size(version.size),
        pages: pages.len() as u64,
        created: Moment(version.created_at),
        version,
    })
}

#[derive(Deserialize)]
struct RollbackForm {
    version: Uuid,
}

async fn rollback(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Named(document): Named<Uuid>,
    Filled(form): Filled<RollbackForm>,
) -> Result<Redirect, Trouble> {
    let (id, version) = (
        DocumentId::from_uuid(document),
        VersionId::from_uuid(form.version),
    );
    let catalog = gateway.catalog();
    catalog
        .rollback(who.tenant, id, version, who.user, gateway.now())
        .await?;
    Ok(Redirect::to(&format!("/documents/{document}")))
}

async fn deactivate(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Named(document): Named<Uuid>,
) -> Result<Redirect, Trouble> {
    let removal = Removal {
        order: None,
        by: who.user,
    };
    let id = DocumentId::from_uuid(document);
    let catalog = gateway.catalog();
    catalog
        .deactivate(who.tenant, id, removal, gateway.now())
        .await?;
    Ok(Redirect::to(&format!("/documents/{document}")))
}
