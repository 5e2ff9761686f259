//! What is to be shown of a version: which page, which chunk, what stands there.

use index::StoredChunk;
use model::{PageBox, PageSize};

use super::parts::{Elsewhere, Parts};
use super::{Looked, Shape, parameter};
use crate::problem::Problem;
use crate::ui::marks::{Piece, pieces};
use crate::ui::search::pages as page_words;
use crate::ui::shown::encoded;

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
    /// Empty where the text is shown.
    sizes: Vec<PageSize>,
    /// In reading order: all of them, or those of the part shown where there are no pages.
    pub chunks: Vec<StoredChunk>,
    pub page: usize,
    pub last: usize,
    pub chosen: Option<usize>,
    pub q: String,
    asked: Option<Shape>,
    /// What stands before the first of these chunks, and after the last.
    around: [Option<Elsewhere>; 2],
}

impl View {
    pub fn of_pages(
        looked: &Looked,
        sizes: Vec<PageSize>,
        chunks: Vec<StoredChunk>,
    ) -> Result<Self, Problem> {
        let mut view = Self {
            page: 1,
            last: sizes.len(),
            chosen: chosen(looked, &chunks)?,
            sizes,
            chunks,
            q: looked.q.clone(),
            asked: looked.view,
            around: [None, None],
        };
        let at_chunk = view.chosen.map(|at| view.page_of(at));
        view.page = looked.page.or(at_chunk).unwrap_or(1);
        if (1..=view.last).contains(&view.page) {
            Ok(view)
        } else {
            Err(Problem::not_found("page", view.page))
        }
    }

    pub fn of_part(
        looked: &Looked,
        parts: &Parts,
        chunks: Vec<StoredChunk>,
    ) -> Result<Self, Problem> {
        Ok(Self {
            sizes: Vec::new(),
            page: parts.page,
            last: parts.last(),
            chosen: chosen(looked, &chunks)?,
            chunks,
            q: looked.q.clone(),
            asked: looked.view,
            around: [parts.before(), parts.after()],
        })
    }

    fn page_of(&self, at: usize) -> usize {
        let first = self.chunks[at].chunk.pages.first();
        match self.sizes.is_empty() {
            true => self.page,
            false => first.map_or(1, |page| *page as usize),
        }
    }

    /// How many chunks stand on no page that is known.
    pub fn unplaced(&self) -> usize {
        let nowhere = |stored: &&StoredChunk| stored.chunk.pages.is_empty();
        self.chunks.iter().filter(nowhere).count()
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
    fn here(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.chunks.len()).filter(|at| self.is_here(*at))
    }

    fn is_here(&self, at: usize) -> bool {
        let pages = &self.chunks[at].chunk.pages;
        self.sizes.is_empty() || pages.iter().any(|page| *page as usize == self.page)
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
        self.link(&(page, key(&self.chunks[at])))
    }

    fn link(&self, (page, chunk): &Elsewhere) -> String {
        let (chunk, q) = (encoded(chunk), encoded(&self.q));
        let view = parameter(self.asked);
        format!("?page={page}&chunk={chunk}&q={q}{view}")
    }

    pub fn open(&self, at: usize) -> Chosen {
        let stored = &self.chunks[at];
        let chunk = &stored.chunk;
        let marks = pipeline::query::highlights(&self.q, &chunk.text);
        let here = |at: usize| {
            let key = key(self.chunks.get(at)?);
            Some((self.page_of(at), key))
        };
        let [before, after] = self.around.clone();
        let before = at.checked_sub(1).and_then(here).or(before);
        Chosen {
            pieces: pieces(&chunk.text, &marks),
            heading: chunk.heading_path.join(" › "),
            tokens: chunk.tokens,
            chars: [chunk.span.char_start, chunk.span.char_end],
            pages: page_words(&chunk.pages),
            unit: stored.id.unit.to_string(),
            ordinal: stored.id.ordinal,
            searchable: stored.has_vector && stored.has_text,
            before: before.map(|place| self.link(&place)),
            after: here(at + 1).or(after).map(|place| self.link(&place)),
        }
    }
}

/// Which of these chunks is asked for.
fn chosen(looked: &Looked, chunks: &[StoredChunk]) -> Result<Option<usize>, Problem> {
    let Some(wanted) = &looked.chunk else {
        return Ok(None);
    };
    let at = chunks.iter().position(|chunk| key(chunk) == *wanted);
    at.map(Some)
        .ok_or_else(|| Problem::not_found("chunk", wanted))
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
