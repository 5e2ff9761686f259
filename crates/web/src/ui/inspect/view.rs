//! What is to be shown of a version: which page, which chunk, what stands there.

use index::StoredChunk;
use model::{PageBox, PageSize};

use super::{Looked, Shape};
use crate::problem::Problem;
use crate::ui::marks::{Piece, pieces};
use crate::ui::search::pages as page_words;
use crate::ui::shown::encoded;

/// How many chunks a screen of text shows, where there are no pages.
const SCREEN: usize = 40;

/// The size of a printed page, in points.
pub struct Paper {
    pub width: f32,
    pub height: f32,
}

pub struct ChunkLine {
    pub href: String,
    pub chosen: bool,
    /// On this page, in points.
    pub boxes: Vec<Outline>,
    pub first_words: String,
    pub tokens: u32,
}

pub struct Outline {
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub height: f32,
}

pub struct Chosen {
    pub pieces: Vec<Piece>,
    pub heading: String,
    pub tokens: u32,
    pub chars: [u64; 2],
    pub pages: String,
    pub unit: String,
    pub ordinal: u32,
    pub searchable: bool,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl Chosen {
    pub fn key(&self) -> String {
        format!("{}:{}", self.unit, self.ordinal)
    }
}

pub struct View {
    pub sizes: Vec<PageSize>,
    /// In reading order.
    pub chunks: Vec<StoredChunk>,
    pub page: usize,
    pub chosen: Option<usize>,
    pub q: String,
    shape: Shape,
}

impl View {
    pub fn new(
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
            shape: looked.view,
        };
        let at_chunk = chosen.map(|at| view.page_of(at));
        view.page = looked.page.or(at_chunk).unwrap_or(1);
        if (1..=view.last()).contains(&view.page) {
            Ok(view)
        } else {
            Err(Problem::not_found("page", view.page))
        }
    }

    pub fn last(&self) -> usize {
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

    pub fn paper(&self) -> Option<Paper> {
        let size = self.sizes.get(self.page - 1)?;
        Some(Paper {
            width: size.width,
            height: size.height,
        })
    }

    pub fn lines(&self) -> Vec<ChunkLine> {
        self.here().map(|at| self.line(at)).collect()
    }

    /// The chunks that stand on the page shown.
    pub fn here(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.chunks.len()).filter(|at| self.is_here(*at))
    }

    fn is_here(&self, at: usize) -> bool {
        if self.sizes.is_empty() {
            return at / SCREEN + 1 == self.page;
        }
        let pages = &self.chunks[at].chunk.pages;
        pages.iter().any(|page| *page as usize == self.page)
    }

    fn line(&self, at: usize) -> ChunkLine {
        let chunk = &self.chunks[at].chunk;
        let here = |place: &&PageBox| place.page as usize == self.page;
        ChunkLine {
            href: self.href(at, self.page),
            chosen: self.chosen == Some(at),
            boxes: chunk.boxes.iter().filter(here).map(outline).collect(),
            first_words: chunk.text.chars().take(90).collect(),
            tokens: chunk.tokens,
        }
    }

    pub fn href(&self, at: usize, page: usize) -> String {
        let chunk = key(&self.chunks[at]);
        let (chunk, q) = (encoded(&chunk), encoded(&self.q));
        let shape = self.shape.parameter();
        format!("?page={page}&chunk={chunk}&q={q}{shape}")
    }

    pub fn open(&self, at: usize) -> Chosen {
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
