//! How much of the machine one document may use.

use serde::{Deserialize, Serialize};

/// Budgets of one parse, enforced while reading: what a file declares about its
/// own sizes is never believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub pages: u32,
    /// Over all compressed parts of the file together.
    pub inflated_bytes: u64,
    /// Of the normalised text.
    pub text_bytes: u64,
    pub atoms: u64,
    /// Of elements, lists, tables or objects within each other.
    pub nesting: u32,
    /// Of an archive such as DOCX or EPUB.
    pub entries: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            pages: 20_000,
            inflated_bytes: 512 << 20,
            text_bytes: 64 << 20,
            atoms: 2_000_000,
            nesting: 256,
            entries: 10_000,
        }
    }
}
