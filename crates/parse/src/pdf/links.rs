//! Where the words of a page lead to.
//!
//! A page says of rectangles on it that they lead somewhere. Every word in one is given its
//! target; once the words have become text, their places in it are looked up. What a hostile
//! file claims is bounded in number, size and work, and its targets are never opened.

use std::collections::HashMap;
use std::ops::Range;

use hayro_interpret::kurbo::{Affine, Point};
use hayro_syntax::object::{Array, Dict, MaybeRef, Name, Object, String as PdfString};
use hayro_syntax::page::Page;

use super::destinations::Destinations;
use super::fragment::Fragment;
use super::glyph::Rect;
use super::line::Line;
use super::script::is_hyphen;
use crate::TextBuilder;
use crate::builder::Leads;
use crate::target::safe_target;

/// Names a target in [`Links`].
pub(super) type TargetId = u32;

/// Of one page that are looked at, links or not.
const MAX_ON_PAGE: usize = 2_000;
/// Of the document.
const MAX_IN_ALL: usize = 200_000;
/// Of one link that goes over several lines.
const MAX_RECTS: usize = 32;
/// Of all targets together.
const MAX_TARGET_BYTES: usize = 4 << 20;
/// Comparisons of words with rectangles, for one page.
const MAX_WORK: usize = 4_000_000;
/// How far a word may have moved in its text: behind a marker, or by a hyphen.
const REACH: usize = 64;
/// Letters by which one word is told from another.
const TELLING: usize = 4;

/// The targets of a document, each kept once.
pub(super) struct Links<'d, 'a> {
    destinations: &'d Destinations<'a>,
    targets: Targets,
}

#[derive(Debug, Default)]
pub(super) struct Targets {
    all: Vec<String>,
    known: HashMap<String, TargetId>,
    bytes: usize,
    seen: usize,
    /// Not of a kind that is passed on, or too many.
    left_out: usize,
}

/// A rectangle of a page that leads somewhere.
#[derive(Debug, Clone, Copy)]
struct Spot {
    rect: Rect,
    target: TargetId,
}

impl<'d, 'a> Links<'d, 'a> {
    pub(super) fn new(destinations: &'d Destinations<'a>) -> Self {
        Self {
            destinations,
            targets: Targets::default(),
        }
    }

    pub(super) fn into_targets(self) -> Targets {
        self.targets
    }

    /// Tells the words of a page where they lead to.
    pub(super) fn mark(&mut self, page: &Page<'a>, words: &mut [Fragment]) {
        if words.is_empty() {
            return;
        }
        let spots = self.spots(page);
        let most = MAX_WORK / words.len();
        self.targets.left_out += spots.len().saturating_sub(most);
        for spot in spots.iter().take(most) {
            for word in words.iter_mut() {
                let (x, y) = word.centre();
                if word.link.is_none() && spot.rect.holds(x, y) {
                    word.link = Some(spot.target);
                }
            }
        }
    }

    fn spots(&mut self, page: &Page<'a>) -> Vec<Spot> {
        let to_page = Affine::new(page.initial_transform(true).as_coeffs());
        let mut spots = Vec::new();
        let all = page.raw().get::<Array<'a>>(b"Annots");
        for (nth, item) in all.iter().flat_map(Array::raw_iter).enumerate() {
            if nth == MAX_ON_PAGE || self.targets.seen == MAX_IN_ALL {
                // How many more there are is not worth counting.
                self.targets.left_out += 1;
                break;
            }
            self.targets.seen += 1;
            let note = match item {
                MaybeRef::Ref(id) => page.xref().get::<Dict<'a>>(id.into()),
                MaybeRef::NotRef(Object::Dict(note)) => Some(note),
                MaybeRef::NotRef(_) => None,
            };
            let kind = |note: &Dict<'a>| note.get::<Name<'a>>(b"Subtype");
            let is_link = |note: &Dict<'a>| kind(note).as_deref() == Some(b"Link");
            let Some(note) = note.filter(is_link) else {
                continue;
            };
            if let Some(target) = self.target(&note) {
                let rects = rects(&note, to_page).into_iter();
                spots.extend(rects.map(|rect| Spot { rect, target }));
            }
        }
        spots
    }

    fn target(&mut self, note: &Dict<'a>) -> Option<TargetId> {
        let action = note.get::<Dict<'a>>(b"A");
        let address = action.and_then(|action| action.get::<PdfString<'_>>(b"URI"));
        let target = match address {
            Some(address) => safe_target(&String::from_utf8_lossy(address.as_bytes())),
            None => {
                let page = self.destinations.page(note)?;
                Some(format!("#page={page}"))
            }
        };
        self.targets.keep(target)
    }
}

impl Targets {
    pub(super) fn get(&self, id: TargetId) -> &str {
        &self.all[id as usize]
    }

    /// What was not passed on is said.
    pub(super) fn disclose(&self, builder: &mut TextBuilder) {
        if self.left_out > 0 {
            builder.warn(format!(
                "{} links were left out: their targets are of no kind that is shown, or they are \
                 too many",
                self.left_out
            ));
        }
    }

    fn keep(&mut self, target: Option<String>) -> Option<TargetId> {
        let room = MAX_TARGET_BYTES - self.bytes;
        let Some(target) = target.filter(|target| target.len() <= room) else {
            self.left_out += 1;
            return None;
        };
        if let Some(id) = self.known.get(&target) {
            return Some(*id);
        }
        let id = self.all.len() as TargetId;
        self.bytes += target.len();
        self.all.push(target.clone());
        self.known.insert(target, id);
        Some(id)
    }
}

/// The places of a link on its page: one for each line, where it says so.
fn rects(note: &Dict<'_>, to_page: Affine) -> Vec<Rect> {
    let place = |corners: &[(f64, f64)]| {
        let corners = corners.iter().map(|corner| to_page * Point::from(*corner));
        Rect::around(corners.map(|p| (p.x, p.y)))
    };
    let quads = note.get::<Array<'_>>(b"QuadPoints");
    let numbers: Vec<f64> = quads
        .iter()
        .flat_map(Array::iter::<f64>)
        .take(MAX_RECTS * 8)
        .collect();
    let (quads, _) = numbers.as_chunks::<8>();
    if !quads.is_empty() {
        let corners = |quad: &[f64; 8]| {
            quad.as_chunks::<2>()
                .0
                .iter()
                .map(|p| (p[0], p[1]))
                .collect()
        };
        let all = quads
            .iter()
            .map(|quad| -> Vec<(f64, f64)> { corners(quad) });
        return all.map(|corners| place(&corners)).collect();
    }
    let rect = note.get::<[f64; 4]>(b"Rect");
    let rect = rect.map(|[left, bottom, right, top]| place(&[(left, bottom), (right, top)]));
    rect.into_iter().collect()
}

/// A word beside which another leads somewhere, or which does so itself.
#[derive(Debug)]
pub(super) struct Word {
    text: Box<str>,
    link: Option<TargetId>,
}

/// The words of these lines as they are read, if any of them leads somewhere.
pub(super) fn words(lines: &[Line]) -> Vec<Word> {
    let linked = |line: &Line| line.parts.iter().any(|word| word.link.is_some());
    if !lines.iter().any(linked) {
        return Vec::new();
    }
    let word = |word: &Fragment| Word {
        text: word.text.as_str().into(),
        link: word.link,
    };
    lines.iter().flat_map(Line::words).map(word).collect()
}

/// Where in the text made of these words stand those that lead somewhere.
pub(super) fn places(words: &[Word], text: &str, targets: &Targets) -> Vec<Leads> {
    let mut found: Vec<Leads> = Vec::new();
    let (mut at, mut last) = (0, None);
    for word in words {
        let Some(place) = place_of(&word.text, text, at) else {
            continue;
        };
        at = place.end;
        match (word.link, found.last_mut()) {
            (Some(link), Some(before)) if last == Some(link) => before.words.end = place.end,
            (Some(link), _) => found.push(Leads {
                words: place,
                target: targets.get(link).to_owned(),
            }),
            (None, _) => {}
        }
        last = word.link;
    }
    found
}

/// What stands between the words of two cells, and between two rows, or in the rule.
fn is_edge_of_cell(c: char) -> bool {
    c.is_whitespace() || matches!(c, '|' | '-')
}

/// Where a word stands: next, or soon behind that if it is long enough to be told from others.
/// A line's end may have cost it its hyphen.
fn place_of(word: &str, text: &str, from: usize) -> Option<Range<usize>> {
    let next = text.len() - text[from..].trim_start().len();
    let starts = |word: &str| !word.is_empty() && text[next..].starts_with(word);
    let bare = word.trim_end_matches(is_hyphen);
    let in_cell = text.len() - text[next..].trim_start_matches(is_edge_of_cell).len();
    let is_next = |word: &str| !word.is_empty() && text[in_cell..].starts_with(word);
    if text.starts_with('|') && !starts(word) && is_next(word) {
        return Some(in_cell..in_cell + word.len());
    }
    if let Some(word) = [word, bare].into_iter().find(|word| starts(word)) {
        return Some(next..next + word.len());
    }
    if bare.chars().count() < TELLING {
        return None;
    }
    let until = text.ceil_char_boundary((next + word.len() + REACH).min(text.len()));
    let at = next + text[next..until].find(bare)?;
    Some(at..at + bare.len())
}
