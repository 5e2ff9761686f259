//! The inspector: a page as it is printed with its chunks outlined, or the text where
//! there are no pages, and the chosen chunk beside it.
//!
//! Outlines are an SVG over the image in the page's own points: they scale with it and
//! need neither script nor inline style.

mod parts;
mod reading;
mod rows;
mod view;

use std::borrow::Borrow;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use catalog::Version;
use model::{PageSize, TenantId, VersionId};
use serde::Deserialize;
use uuid::Uuid;

use parts::Parts;
use reading::Block;
use view::{Chosen, ChunkLine, Paper, View};

use super::page::{Frame, Shown, Visitor, show};
use super::shown::{encoded, last_part, tokens};
use crate::auth::Read;
use crate::extract::{Asked, Named};
use crate::gateway::Gateway;
use crate::problem::Problem;

/// How many pages stand in the strip on either side of the one shown.
const STRIP: usize = 40;

pub fn routes() -> Router<Gateway> {
    Router::new().route("/versions/{version}", get(inspect))
}

#[derive(Debug, Deserialize)]
struct Looked {
    page: Option<usize>,
    /// `unit:ordinal`.
    chunk: Option<String>,
    #[serde(default)]
    q: String,
    /// As pages or as text, where there is a choice.
    view: Option<Shape>,
}

/// How a version is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Shape {
    Page,
    Text,
}

impl Shape {
    const fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Text => "text",
        }
    }
}

/// A choice that was made stays made.
fn parameter(view: Option<Shape>) -> &'static str {
    match view {
        None => "",
        Some(Shape::Page) => "&view=page",
        Some(Shape::Text) => "&view=text",
    }
}

#[derive(Template)]
#[template(path = "inspect.html")]
struct InspectPage {
    frame: Frame,
    name: String,
    version: Version,
    /// Whether tokens are.
    estimated: bool,
    q: String,
    page: usize,
    last: usize,
    shape: Shape,
    /// As it was asked for.
    view: Option<Shape>,
    /// Whether there is anything to choose between.
    has_pages: bool,
    /// Where the page is a print: how many chunks were not found on any.
    unplaced: Option<usize>,
    strip: Vec<usize>,
    paper: Option<Paper>,
    blocks: Vec<Block>,
    chunks: Vec<ChunkLine>,
    chosen: Option<Chosen>,
}

impl InspectPage {
    fn link(&self, page: impl Borrow<usize>) -> String {
        let page = page.borrow();
        let view = parameter(self.view);
        format!("?page={page}&q={}{view}", encoded(&self.q))
    }

    fn tokens(&self, number: impl Borrow<u32>) -> String {
        let number = u64::from(*number.borrow());
        tokens(number, &self.version.generation.spec.model)
    }

    /// What is turned over: a page, or a part of a text without pages.
    fn leaf(&self) -> &'static str {
        match self.paper {
            Some(_) => "page",
            None => "part",
        }
    }

    /// The same chunk, or the beginning, looked at the other way.
    fn turned(&self, view: Shape) -> String {
        let chunk = self.chosen.as_ref().map(Chosen::key);
        let chunk = chunk.map(|key| format!("&chunk={}", encoded(&key)));
        let (chunk, view) = (chunk.unwrap_or_default(), parameter(Some(view)));
        format!("?q={}{chunk}{view}", encoded(&self.q))
    }
}

async fn inspect(
    State(gateway): State<Gateway>,
    who: Visitor<Read>,
    Named(version): Named<Uuid>,
    Asked(looked): Asked<Looked>,
) -> Shown {
    let id = VersionId::from_uuid(version);
    let version = gateway.catalog().version(who.tenant, id).await?;
    let kb = gateway.catalog().kb(who.tenant, version.kb).await?;
    let (frame, _) = Frame::of_kb(&gateway, &who, "documents", &kb.name).await?;
    let sizes = gateway.catalog().pages(who.tenant, id).await?;
    let prints = sizes.is_empty() && gateway.engine().prints(&version);
    let has_pages = prints || !sizes.is_empty();
    // A print may take a while; the text is there.
    let usual = if prints { Shape::Text } else { Shape::Page };
    let shape = looked.view.unwrap_or(usual);
    if prints && shape == Shape::Text {
        gateway.engine().draw_ahead(&version);
    }
    let (view, blocks) = match shape {
        Shape::Page if prints => (print(&gateway, &version, &looked).await?, vec![]),
        Shape::Page if has_pages => (
            pages(&gateway, who.tenant, id, &looked, sizes).await?,
            vec![],
        ),
        Shape::Page | Shape::Text => part(&gateway, who.tenant, id, &looked).await?,
    };
    let name = version.title.clone().filter(|title| !title.is_empty());
    show(&InspectPage {
        frame,
        name: name.unwrap_or_else(|| last_part(&version.filename)),
        page: view.page,
        last: view.last,
        shape,
        view: looked.view,
        has_pages,
        unplaced: (prints && shape == Shape::Page).then(|| view.unplaced()),
        strip: strip(view.page, view.last),
        paper: view.paper(),
        blocks,
        chunks: view.lines(),
        chosen: view.chosen.map(|at| view.open(at)),
        estimated: version.generation.spec.model.estimates_tokens(),
        version,
        q: looked.q,
    })
}

async fn pages(
    gateway: &Gateway,
    tenant: TenantId,
    version: VersionId,
    looked: &Looked,
    sizes: Vec<PageSize>,
) -> Result<View, Problem> {
    let chunks = gateway.engine().chunks(tenant, version).await?;
    View::of_pages(looked, sizes, chunks)
}

/// The pages it is printed on, with what was found on them.
async fn print(gateway: &Gateway, version: &Version, looked: &Looked) -> Result<View, Problem> {
    let (sizes, chunks) = gateway.engine().printed(version).await?;
    View::of_pages(looked, sizes, chunks)
}

/// One part of the text as it reads: never more of it is loaded.
async fn part(
    gateway: &Gateway,
    tenant: TenantId,
    version: VersionId,
    looked: &Looked,
) -> Result<(View, Vec<Block>), Problem> {
    let units = gateway.catalog().units(tenant, version).await?;
    let parts = Parts::new(looked, units)?;
    let Some(unit) = parts.shown() else {
        return Ok((View::of_part(looked, &parts, Vec::new())?, Vec::new()));
    };
    let engine = gateway.engine();
    let chunks = engine.chunks_of_unit(tenant, version, unit).await?;
    let view = View::of_part(looked, &parts, chunks)?;
    if view.chunks.is_empty() {
        return Ok((view, Vec::new()));
    }
    let unit = engine.unit(tenant, version, unit).await?;
    let blocks = reading::blocks(&view, &unit);
    Ok((view, blocks))
}

/// The pages around the one shown.
fn strip(page: usize, last: usize) -> Vec<usize> {
    let first = page.saturating_sub(STRIP).max(1);
    (first..=last.min(page + STRIP)).collect()
}
