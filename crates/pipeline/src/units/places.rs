//! Where a document may be cut into units, and how gladly.

use model::{Atom, AtomKind};

use crate::cut::{Place, hash};

/// Headings are ranked by their level, 1 to 6 and beyond.
const ATOM: u8 = 200;
const LINE: u8 = 201;
const SENTENCE: u8 = 202;
const WORD: u8 = 203;
const ANYWHERE: u8 = 204;

/// How much of a text tells it from others.
const OPENING: usize = 2048;

pub(super) fn level(atom: &Atom) -> Option<u8> {
    match atom.kind {
        AtomKind::Heading { level } => Some(level.max(1)),
        _ => None,
    }
}

/// `text` begins at byte `base` of the document the atoms' spans are of.
pub(super) fn places(atoms: &[Atom], text: &str, base: u64, limit: u64) -> Vec<Place> {
    let mut places = Vec::new();
    // What a place would part from what it stands under; the beginning is not a place.
    let mut above = Some(0);
    for atom in atoms {
        let bytes = atom.span.byte_start - base..atom.span.byte_end - base;
        let text = &text[bytes.start as usize..bytes.end as usize];
        if !atom.kind.is_indexed() || text.is_empty() {
            continue;
        }
        let heading = level(atom);
        if above.is_none_or(|above| heading.is_some_and(|level| level <= above)) {
            places.push(Place {
                at: atom.span.byte_start,
                rank: heading.map_or(ATOM, |level| level.min(ATOM - 1)),
                hash: hash(opening(text).as_bytes()),
            });
        }
        if text.len() as u64 > limit {
            within(text, atom.span.byte_start, &mut places);
        }
        above = heading;
    }
    places
}

/// Places inside an atom that is too large by itself.
fn within(text: &str, base: u64, places: &mut Vec<Place>) {
    let mut since = 0;
    let mut before = [' ', ' '];
    for (at, char) in text.char_indices() {
        let rank = match before {
            [_, '\n'] => LINE,
            ['.' | '!' | '?', ' '] | [_, '。' | '！' | '？'] => SENTENCE,
            [_, last] if last.is_whitespace() => WORD,
            _ => ANYWHERE,
        };
        // Lines and sentences count everywhere, the rest only where those are far apart.
        if at > 0 && !char.is_whitespace() && (rank <= SENTENCE || at - since >= OPENING) {
            places.push(Place {
                at: base + at as u64,
                rank,
                hash: hash(opening(&text[at..]).as_bytes()),
            });
            since = at;
        }
        before = [before[1], char];
    }
}

/// The first line, or as much of it as matters.
fn opening(text: &str) -> &str {
    let line = text.split('\n').next().unwrap_or_default();
    let line = if line.trim().is_empty() { text } else { line };
    let mut end = line.len().min(OPENING);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    &line[..end]
}
