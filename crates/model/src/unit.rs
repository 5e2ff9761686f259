//! The shape over the atoms: sections nest, units tile.

use serde::{Deserialize, Serialize};

use crate::{Atom, Span, UnitName};

/// A heading and what stands under it, up to the next heading of its level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Empty for what precedes the first heading.
    pub heading: String,
    pub level: u8,
    /// Indices into the document's atoms.
    pub atoms: std::ops::Range<usize>,
    pub children: Vec<Section>,
}

/// A slice of a version that can be chunked on its own; the artifact one Extract reads.
///
/// Spans of atoms are those of the whole version; `text` is its slice at `span`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    pub name: UnitName,
    /// Position among the units of its version.
    pub index: u32,
    pub span: Span,
    pub text: String,
    pub atoms: Vec<Atom>,
    /// Headings in force where the unit begins, outermost first; its own first heading not among them.
    pub heading_path: Vec<String>,
    /// The level of each of them, so that a heading within the unit knows which it ends.
    #[serde(default)]
    pub heading_levels: Vec<u8>,
}
