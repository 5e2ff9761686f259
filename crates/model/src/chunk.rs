//! A passage with its place.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{ContentHash, PageBox, Span};

/// A passage of a unit. The normalised text cut at `span` is `text`, always.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chunk {
    /// Position within the unit.
    pub ordinal: u32,
    pub span: Span,
    /// The atoms it is cut from, of those of its unit. Chunks stored by earlier builds know none.
    #[serde(default)]
    pub atoms: Range<u32>,
    pub text: String,
    /// Exact, in the embedding model's own tokens, of its text.
    pub tokens: u32,
    /// Outermost heading first.
    pub heading_path: Vec<String>,
    /// Pages it is printed on, counted from 1, ascending; empty where there are none.
    pub pages: Vec<u32>,
    pub boxes: Vec<PageBox>,
}

impl Chunk {
    pub fn text_hash(&self) -> ContentHash {
        ContentHash::of(self.text.as_bytes())
    }
}
