//! The inspector: a page as it is printed with its chunks outlined, or the text where
//! there are no pages, and the chosen chunk beside it.
//!
//! Outlines are an SVG over the image in the page's own points: they scale with it and
//! need neither script nor inline style.

use std::borrow::Borrow;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use catalog::Version;
use index::StoredChunk;
use model::{PageBox, PageSize, VersionId};
use serde::Deserialize;
use uuid::Uuid;

use super::marks::{Piece, pieces};
use super::page::{Frame, Shown, Visitor, show};
use super::search::pages as page_words;
use super::shown::{encoded, last_part};
use crate::auth::Read;
use crate::extract::{Asked, Named};
use crate::gateway::Gateway;
use crate::problem::Problem;

/// How many chunks a screen of text shows, where there are no pages.
const SCREEN: usize = 40;
/// How many page numbers stand on either side of the one shown.
const STRIP: usize = 4;

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
}

#[derive(Template)]
#[template(path = "inspect.html")]
struct InspectPage {
    frame: Frame,
    name: String,
    version: Version,
    q: String,
    page: usize,
    last: usize,
    strip: Vec<usize>,
    paper: Option<Paper>,
    chunks: Vec<ChunkLine>,
    chosen: Option<Chosen>,
}

impl InspectPage {
    fn link(&self, page: impl Borrow<usize>) -> String {
        let page = page.borrow();
        format!("?page={page}&q={}", encoded(&self.q))
    }
}

/// A printed page and where its chunks stand on it.
struct Paper {
    width: f32,
    height: f32,
}

struct ChunkLine {
    href: String,
    chosen: bool,
    /// On this page, in points.
    boxes: Vec<Outline>,
    text: String,
    first_words: String,
    tokens: u32,
}

struct Outline {
    x: f32,
    y: f32,
    width: f32,
    height: f32,
}

struct Chosen {
    pieces: Vec<Piece>,
    heading: String,
    tokens: u32,
    chars: [u64; 2],
    pages: String,
    unit: String,
    ordinal: u32,
    searchable: bool,
    before: Option<String>,
    after: Option<String>,
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
    let chunks = gateway.engine().chunks(who.tenant, id).await?;
    let view = View::new(&looked, sizes, chunks)?;
    let chosen = view.chosen.map(|at| view.open(at));
    let name = version.title.clone().filter(|title| !title.is_empty());
    show(&InspectPage {
        frame,
        name: name.unwrap_or_else(|| last_part(&version.filename)),
        page: view.page,
        last: view.last(),
        strip: strip(view.page, view.last()),
        paper: view.paper(),
        chunks: view.lines(),
        chosen,
        version,
        q: looked.q,
    })
}

/// What is to be shown: which page, which chunk.
struct View {
    sizes: Vec<PageSize>,
    chunks: Vec<StoredChunk>,
    page: usize,
    chosen: Option<usize>,
    q: String,
}

impl View {
    fn new(
        looked: &Looked,
        sizes: Vec<PageSize>,
        chunks: Vec<StoredChunk>,
    ) -> Result<Self, Problem> {
        let chosen = match &looked.chunk {
            None => None,
            Some(wanted) => {
                let at = chunks.iter().position(|chunk| key(chunk) == *wanted);
                Some(at.ok_or_else(|| Problem::not_found("chunk", wanted))?)
            }
        };
        let mut view = Self {
            sizes,
            chunks,
            page: 1,
            chosen,
            q: looked.q.clone(),
        };
        let at_chunk = chosen.map(|at| view.page_of(at));
        view.page = looked.page.or(at_chunk).unwrap_or(1);
        if (1..=view.last()).contains(&view.page) {
            Ok(view)
        } else {
            Err(Problem::not_found("page", view.page))
        }
    }

    fn last(&self) -> usize {
        match self.sizes.len() {
            0 => self.chunks.len().div_ceil(SCREEN).max(1),
            pages => pages,
        }
    }

    fn page_of(&self, at: usize) -> usize {
        match self.chunks[at].chunk.pages.first() {
            Some(page) if !self.sizes.is_empty() => *page as usize,
            _ if self.sizes.is_empty() => at / SCREEN + 1,
            _ => 1,
        }
    }

    fn paper(&self) -> Option<Paper> {
        let size = self.sizes.get(self.page - 1)?;
        Some(Paper {
            width: size.width,
            height: size.height,
        })
    }

    fn lines(&self) -> Vec<ChunkLine> {
        let all = self.chunks.iter().enumerate();
        all.filter(|(at, _)| self.is_here(*at))
            .map(|(at, _)| self.line(at))
            .collect()
    }

    fn is_here(&self, at: usize) -> bool {
        if self.sizes.is_empty() {
            return at / SCREEN + 1 == self.page;
        }
        let pages = &self.chunks[at].chunk.pages;
        pages.iter().any(|page| *page as usize == self.page)
    }

    fn line(&self, at: usize) -> ChunkLine {
        let stored = &self.chunks[at];
        let chunk = &stored.chunk;
        let here = |place: &&PageBox| place.page as usize == self.page;
        let first: String = chunk.text.chars().take(90).collect();
        ChunkLine {
            href: self.href(at, self.page),
            chosen: self.chosen == Some(at),
            boxes: chunk.boxes.iter().filter(here).map(outline).collect(),
            text: self.unrepeated(at).to_owned(),
            first_words: first,
            tokens: chunk.tokens,
        }
    }

    /// The chunk's text without what the one before it has shown already.
    fn unrepeated(&self, at: usize) -> &str {
        let chunk = &self.chunks[at].chunk;
        let shown = match at.checked_sub(1) {
            Some(before) => self.chunks[before].chunk.span.byte_end,
            None => 0,
        };
        let skip = shown.saturating_sub(chunk.span.byte_start) as usize;
        chunk.text.get(skip..).unwrap_or(&chunk.text)
    }

    fn href(&self, at: usize, page: usize) -> String {
        let chunk = key(&self.chunks[at]);
        let (chunk, q) = (encoded(&chunk), encoded(&self.q));
        format!("?page={page}&chunk={chunk}&q={q}")
    }

    fn open(&self, at: usize) -> Chosen {
        let stored = &self.chunks[at];
        let chunk = &stored.chunk;
        let marks = pipeline::query::highlights(&self.q, &chunk.text);
        let neighbour = |at: usize| self.href(at, self.page_of(at));
        Chosen {
            pieces: pieces(&chunk.text, &marks),
            heading: chunk.heading_path.join(" › "),
            tokens: chunk.tokens,
            chars: [chunk.span.char_start, chunk.span.char_end],
            pages: page_words(&chunk.pages),
            unit: stored.id.unit.to_string(),
            ordinal: stored.id.ordinal,
            searchable: stored.has_vector && stored.has_text,
            before: at.checked_sub(1).map(neighbour),
            after: (at + 1 < self.chunks.len()).then(|| neighbour(at + 1)),
        }
    }
}

fn key(stored: &StoredChunk) -> String {
    format!("{}:{}", stored.id.unit, stored.id.ordinal)
}

fn outline(place: &PageBox) -> Outline {
    Outline {
        x: place.left,
        y: place.top,
        width: (place.right - place.left).max(1.0),
        height: (place.bottom - place.top).max(1.0),
    }
}

/// The numbers around the page shown, the first and the last.
fn strip(page: usize, last: usize) -> Vec<usize> {
    let near = |number: &usize| *number == 1 || *number == last || number.abs_diff(page) <= STRIP;
    (1..=last).filter(near).collect()
}
