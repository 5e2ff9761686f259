//! Units tile: runs of sections of bounded size, each of which can be chunked on its own.
//!
//! In: a parsed document. Out: its units in reading order; their texts, put one
//! after another, are the document's text. A document that fits is one unit, one
//! without anything to index has none. Cuts are made at the outermost headings that
//! serve, then at atoms, inside an atom only when it is too large by itself; content
//! decides between equals (see `cut`), so an edit moves only the cuts beside it, and
//! a unit is named after what it begins with.

mod name;
mod places;

use model::{Atom, Parsed, Span, Unit};

use crate::cut::{self, Sizes};
use crate::structure::{Headings, one_line};
use name::Names;

/// Half a hundred chunks or so: small enough to be lost and done again, large enough
/// that marking it done costs nothing beside embedding it.
pub const UNIT_BYTES: u64 = 64 * 1024;

const SIZES: Sizes = Sizes {
    limit: UNIT_BYTES,
    floor: UNIT_BYTES / 4,
    halve: false,
};

pub fn units(parsed: &Parsed) -> Vec<Unit> {
    units_of(parsed, SIZES)
}

fn units_of(parsed: &Parsed, sizes: Sizes) -> Vec<Unit> {
    if !parsed.atoms.iter().any(|atom| atom.kind.is_indexed()) {
        return Vec::new();
    }
    let whole = parsed.text.len() as u64;
    let places = places::places(parsed, sizes.limit);
    let mut ends: Vec<u64> = cut::choose(&places, 0..whole, sizes)
        .into_iter()
        .map(|at| places[at].at)
        .collect();
    ends.push(whole);
    tile(parsed, &ends)
}

/// Cuts the document at the given bytes.
fn tile(parsed: &Parsed, ends: &[u64]) -> Vec<Unit> {
    let mut names = Names::default();
    let mut headings = Headings::default();
    let mut atoms = Atoms::new(&parsed.atoms);
    let mut from = Span {
        byte_start: 0,
        byte_end: 0,
        char_start: 0,
        char_end: 0,
    };
    let mut units = Vec::with_capacity(ends.len());
    for (index, &end) in ends.iter().enumerate() {
        let span = span_after(&from, end, &parsed.text);
        let atoms = atoms.up_to(&span, &parsed.text);
        let mut before = headings.clone();
        if let Some(level) = atoms.first().and_then(places::level) {
            before.leave(level);
        }
        walk(&mut headings, &atoms, &parsed.text);
        let text = parsed.text[span.bytes()].to_owned();
        units.push(Unit {
            name: names.name(index, &before.path(), &atoms, &parsed.text),
            index: index as u32,
            span,
            text,
            atoms,
            heading_path: before.path(),
            heading_levels: before.levels(),
        });
        from = span;
    }
    units
}

fn walk(headings: &mut Headings, atoms: &[Atom], text: &str) {
    for atom in atoms {
        if let Some(level) = places::level(atom) {
            headings.enter(level, one_line(&text[atom.span.bytes()]));
        }
    }
}

/// From where the last one ended.
fn span_after(last: &Span, end: u64, text: &str) -> Span {
    let bytes = last.byte_end as usize..end as usize;
    Span {
        byte_start: last.byte_end,
        byte_end: end,
        char_start: last.char_end,
        char_end: last.char_end + text[bytes].chars().count() as u64,
    }
}

/// Hands out atoms in order, dividing the one a cut goes through.
struct Atoms<'a> {
    rest: &'a [Atom],
    /// What is left of an atom that was divided.
    left: Option<Atom>,
}

impl<'a> Atoms<'a> {
    fn new(rest: &'a [Atom]) -> Self {
        Self { rest, left: None }
    }

    fn up_to(&mut self, unit: &Span, text: &str) -> Vec<Atom> {
        let mut taken = Vec::new();
        while let Some(atom) = self.left.take().or_else(|| self.next_before(unit)) {
            if atom.span.byte_end <= unit.byte_end {
                taken.push(atom);
                continue;
            }
            let (head, rest) = divide(atom, unit, text);
            taken.push(head);
            self.left = Some(rest);
            break;
        }
        taken
    }

    fn next_before(&mut self, unit: &Span) -> Option<Atom> {
        let (first, rest) = self.rest.split_first()?;
        if first.span.byte_start >= unit.byte_end {
            return None;
        }
        self.rest = rest;
        Some(first.clone())
    }
}

/// Both parts keep what the whole was; its boxes stay with both, as no one knows which are whose.
fn divide(atom: Atom, unit: &Span, text: &str) -> (Atom, Atom) {
    let bytes = atom.span.byte_start as usize..unit.byte_end as usize;
    let char_mid = atom.span.char_start + text[bytes].chars().count() as u64;
    let (mut head, mut rest) = (atom.clone(), atom);
    head.span.byte_end = unit.byte_end;
    head.span.char_end = char_mid;
    rest.span.byte_start = unit.byte_end;
    rest.span.char_start = char_mid;
    (head, rest)
}

#[cfg(test)]
mod tests;
