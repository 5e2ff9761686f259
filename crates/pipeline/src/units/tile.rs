//! Units from a document that comes in slices, and is never whole in memory.
//!
//! Once more than a window's worth of text is held, the strongest place in the window
//! ends a stretch, and the stretch is cut into units. The slices' sizes decide nothing:
//! any slicing of a document gives the same units.

use std::collections::VecDeque;
use std::ops::Range;

use model::{Atom, Span, Unit};
use serde::{Deserialize, Serialize};

use crate::cut::{self, Place, Sizes};
use crate::structure::{Headings, one_line};
use crate::units::name::Names;
use crate::units::{LASTING, SIZES, places};

/// How many units' worth of text is held before some of it is given out.
const WINDOW: u64 = 8;

/// Takes a document's text and atoms in order. It can be stored between two slices and
/// brought back, so that reading goes on where it stopped.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tiler {
    sizes: Sizes,
    text: String,
    /// Those of `text`; their spans are of the whole document.
    atoms: Vec<Atom>,
    /// Where `text` begins.
    at: At,
    index: u32,
    headings: Headings,
    names: Names,
    indexed: bool,
}

/// A place in the whole document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct At {
    byte: u64,
    char: u64,
}

impl Default for Tiler {
    fn default() -> Self {
        Self::of(SIZES)
    }
}

impl Tiler {
    pub(super) fn of(sizes: Sizes) -> Self {
        Self {
            sizes,
            text: String::new(),
            atoms: Vec::new(),
            at: At::default(),
            index: 0,
            headings: Headings::default(),
            names: Names::default(),
            indexed: false,
        }
    }

    /// Takes the next slice; its atoms' spans are of the whole document.
    pub fn push(&mut self, text: &str, atoms: Vec<Atom>) -> Vec<Unit> {
        self.text.push_str(text);
        self.indexed |= atoms.iter().any(|atom| atom.kind.is_indexed());
        self.atoms.extend(atoms);
        if self.text.len() as u64 <= self.window() {
            return Vec::new();
        }
        self.give(false)
    }

    /// What no unit has been made of yet, text and atoms.
    pub fn held(&self) -> (&str, &[Atom]) {
        (&self.text, &self.atoms)
    }

    /// The document has ended.
    pub fn finish(mut self) -> Vec<Unit> {
        if !self.indexed {
            return Vec::new();
        }
        self.give(true)
    }

    fn window(&self) -> u64 {
        self.sizes.limit * WINDOW
    }

    /// Gives out one stretch after another, as long as an end for it is found; what is left of a
    /// document that has ended is the last.
    fn give(&mut self, ended: bool) -> Vec<Unit> {
        let text = std::mem::take(&mut self.text);
        let mut held = Held {
            text: &text,
            base: self.at.byte,
            atoms: std::mem::take(&mut self.atoms).into(),
        };
        let places = places::places(
            held.atoms.make_contiguous(),
            &text,
            held.base,
            self.sizes.limit,
        );
        let mut units = Vec::new();
        let mut rest = &places[..];
        while self.at.byte < held.end() {
            let stretch = Stretch {
                places: rest,
                extent: self.at.byte..held.end(),
                window: self.window(),
                floor: self.sizes.floor,
            };
            let last = ended.then_some(held.end());
            let Some(end) = stretch.end().or(last) else {
                break;
            };
            let inner = &rest[..rest.partition_point(|place| place.at < end)];
            rest = &rest[rest.partition_point(|place| place.at <= end)..];
            self.cut(inner, end, &mut held, &mut units);
        }
        self.text = text[(self.at.byte - held.base) as usize..].to_owned();
        self.atoms = held.atoms.into();
        units
    }

    fn cut(&mut self, places: &[Place], end: u64, held: &mut Held<'_>, units: &mut Vec<Unit>) {
        let chosen = cut::choose_lasting(places, self.at.byte..end, self.sizes, LASTING);
        let ends = chosen.into_iter().map(|at| places[at].at).chain([end]);
        units.extend(ends.map(|end| self.unit(end, held)));
    }

    fn unit(&mut self, end: u64, held: &mut Held<'_>) -> Unit {
        let text = held.text(self.at.byte..end);
        let span = Span {
            byte_start: self.at.byte,
            byte_end: end,
            char_start: self.at.char,
            char_end: self.at.char + text.chars().count() as u64,
        };
        let atoms = held.atoms(&span);
        let mut before = self.headings.clone();
        if let Some(level) = atoms.first().and_then(places::level) {
            before.leave(level);
        }
        self.walk(&atoms, held);
        let (first, index) = (self.index == 0, self.index);
        self.index += 1;
        self.at = At {
            byte: span.byte_end,
            char: span.char_end,
        };
        let opening = atoms.iter().find(|atom| atom.kind.is_indexed());
        let opening = opening.map(|atom| (places::level(atom), held.of(atom)));
        Unit {
            name: self.names.name(first, &before.path(), opening),
            index,
            span,
            text: text.to_owned(),
            atoms,
            heading_path: before.path(),
            heading_levels: before.levels(),
        }
    }

    fn walk(&mut self, atoms: &[Atom], held: &Held<'_>) {
        for atom in atoms {
            if let Some(level) = places::level(atom) {
                self.headings.enter(level, one_line(held.of(atom)));
            }
        }
    }
}

/// What is held, from which a stretch may be taken.
struct Stretch<'a> {
    places: &'a [Place],
    extent: Range<u64>,
    window: u64,
    floor: u64,
}

impl Stretch<'_> {
    /// The strongest place in the window, once the window is full; the first one after a
    /// window that has none.
    fn end(&self) -> Option<u64> {
        let start = self.extent.start;
        if self.extent.end - start <= self.window {
            return None;
        }
        let seen = self
            .places
            .partition_point(|place| place.at - start <= self.window);
        let (seen, beyond) = self.places.split_at(seen);
        let window = start..start + self.window;
        let far_enough = |at: &usize| seen[*at].at - start >= self.floor;
        let lasting = |at: &usize| cut::stands_out(seen, *at, &window, LASTING);
        let strength = |at: &usize| (seen[*at].strength(), *at);
        let candidates = (0..seen.len()).filter(far_enough);
        let strongest = candidates.clone().filter(lasting).min_by_key(strength);
        strongest
            .or_else(|| candidates.min_by_key(strength))
            .map(|at| &seen[at])
            .or(beyond.first())
            .map(|place| place.at)
    }
}

/// Text and atoms in hand, of which atoms are taken from the front.
struct Held<'a> {
    text: &'a str,
    /// Where the text begins in the document.
    base: u64,
    atoms: VecDeque<Atom>,
}

impl<'a> Held<'a> {
    fn end(&self) -> u64 {
        self.base + self.text.len() as u64
    }

    fn text(&self, bytes: Range<u64>) -> &'a str {
        &self.text[(bytes.start - self.base) as usize..(bytes.end - self.base) as usize]
    }

    fn of(&self, atom: &Atom) -> &'a str {
        self.text(atom.span.byte_start..atom.span.byte_end)
    }

    /// The atoms of a unit; one that goes on after it is divided.
    fn atoms(&mut self, unit: &Span) -> Vec<Atom> {
        let mut taken = Vec::new();
        while self
            .atoms
            .front()
            .is_some_and(|atom| atom.span.byte_start < unit.byte_end)
        {
            let mut atom = self.atoms.pop_front().expect("just looked at");
            if atom.span.byte_end > unit.byte_end {
                let rest = divide(&mut atom, unit);
                self.atoms.push_front(rest);
            }
            taken.push(atom);
        }
        taken
    }
}

/// Ends an atom where the unit ends and answers with its rest. Both keep what the whole was,
/// its boxes too, as no one knows which are whose.
fn divide(atom: &mut Atom, unit: &Span) -> Atom {
    let mut rest = atom.clone();
    atom.span.byte_end = unit.byte_end;
    atom.span.char_end = unit.char_end;
    rest.span.byte_start = unit.byte_end;
    rest.span.char_start = unit.char_end;
    atom.links
        .retain(|link| link.span.byte_start < unit.byte_end);
    rest.links
        .retain(|link| link.span.byte_start >= unit.byte_end);
    rest
}
