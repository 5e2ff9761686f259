//! Where a document may be cut into units, and how gladly.

use model::hash::short;
use model::{Atom, AtomKind};

use crate::cut::Place;

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
/// How many headings may follow each other before what they are about.
const DEEP: usize = 7;

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
    let text_of = |atom: &Atom| {
        let bytes = atom.span.byte_start - base..atom.span.byte_end - base;
        &text[bytes.start as usize..bytes.end as usize]
    };
    for (at, atom) in atoms.iter().enumerate() {
        let text = text_of(atom);
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
                hash: opening_hash(&atoms[at..], text_of),
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
                hash: short([start(line(&text[at..]))]),
            });
            since = at;
        }
        before = [before[1], char];
    }
}

/// Of what tells the first atom from others of its kind. One heading may stand in many places, so it
/// is told by what follows, too; tables under one header all begin with it: a row tells them apart.
pub(crate) fn opening_hash<'t>(atoms: &[Atom], text_of: impl Fn(&Atom) -> &'t str) -> u64 {
    let mut parts = Vec::new();
    for atom in atoms
        .iter()
        .filter(|atom| atom.kind.is_indexed())
        .take(DEEP)
    {
        let text = text_of(atom);
        parts.push(start(match atom.kind {
            AtomKind::Table(_) => text.splitn(3, '\n').nth(2).map_or(text, line),
            _ => text.trim_start(),
        }));
        if level(atom).is_none() {
            break;
        }
    }
    short(parts)
}

fn line(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default()
}

/// As much of it as matters.
fn start(text: &str) -> &[u8] {
    &text.as_bytes()[..text.len().min(OPENING)]
}
