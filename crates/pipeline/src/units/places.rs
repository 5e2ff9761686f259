//! Where a document may be cut into units, and how gladly.

use model::{Atom, AtomKind};

use crate::cut::{Place, hash};

/// Headings are ranked by their level, 1 to 6 and beyond.
const ATOM: u8 = 200;
const LINE: u8 = 201;
const SENTENCE: u8 = 202;
/// After a colon, as for chunks.
const ANNOUNCED: u8 = 203;
const WORD: u8 = 204;
const ANYWHERE: u8 = 205;

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
    let mut announced = false;
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
                rank: match heading {
                    Some(level) => level.min(ATOM - 1),
                    None if announced => ANNOUNCED,
                    None => ATOM,
                },
                hash: opening_hash(text),
            });
        }
        if text.len() as u64 > limit {
            within(text, atom.span.byte_start, &mut places);
        }
        above = heading;
        announced = text.trim_end().ends_with(':');
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
                hash: opening_hash(&text[at..]),
            });
            since = at;
        }
        before = [before[1], char];
    }
}

/// Of the first line that is not empty, or as much of it as matters.
pub(crate) fn opening_hash(text: &str) -> u64 {
    let line = text.trim_start().split('\n').next().unwrap_or_default();
    hash(&line.as_bytes()[..line.len().min(OPENING)])
}
