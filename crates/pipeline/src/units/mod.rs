//! Units tile: runs of sections of bounded size, each of which can be chunked on its own.
//!
//! In: a parsed document, whole or slice by slice. Out: its units in reading order;
//! their texts, put one after another, are the document's text. A document that fits
//! is one unit, one without anything to index has none. Cuts are made at the outermost
//! headings that serve, then at atoms, inside an atom only when it is too large by
//! itself; content decides between equals (see `cut`), so an edit moves only the cuts
//! beside it, and a unit is named after what it begins with.

mod join;
mod name;
mod places;
mod tile;

use model::{Parsed, Unit};

use crate::cut::Sizes;
pub use join::Joiner;
pub(crate) use places::opening_hash;
pub use tile::Tiler;

/// Half a hundred chunks or so: small enough to be lost and done again, large enough
/// that marking it done costs nothing beside embedding it.
pub const UNIT_BYTES: u64 = 64 * 1024;

const SIZES: Sizes = Sizes {
    limit: UNIT_BYTES,
    floor: UNIT_BYTES / 4,
    halve: false,
};

/// A unit begins where nothing stronger is this near, wherever that can be. Chunks know such a place
/// when they see one, and repeat nothing across it: whether a unit does begin there changes none.
pub(crate) const LASTING: u64 = UNIT_BYTES / 8;

pub fn units(parsed: &Parsed) -> Vec<Unit> {
    units_of(parsed, SIZES)
}

pub(crate) fn units_of(parsed: &Parsed, sizes: Sizes) -> Vec<Unit> {
    let mut tiler = Tiler::of(sizes);
    let mut units = tiler.push(&parsed.text, parsed.atoms.clone());
    units.extend(tiler.finish());
    units
}

#[cfg(test)]
mod tests;
