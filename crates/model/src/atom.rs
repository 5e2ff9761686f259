//! What a parser finds: the smallest pieces of a document that mean something.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::{PageBox, Span};

/// A document as its parser read it.
///
/// `text` is the normalised UTF-8 text of the version (NFC, `\n` line ends, no
/// NUL). Atoms are in reading order and do not overlap; what lies between two of
/// them is white space.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Parsed {
    /// Media type decided by content, such as `application/pdf`.
    pub media_type: String,
    pub text: String,
    pub atoms: Vec<Atom>,
    /// Empty for formats without pages.
    pub pages: Vec<PageSize>,
    pub title: Option<String>,
    /// ISO 639-1 where it could be told.
    pub language: Option<String>,
    /// What the document says of itself: author, created, subject…
    pub properties: BTreeMap<String, String>,
    /// What could not be read, by place: disclosed wherever the document is shown.
    pub gaps: Vec<Gap>,
    pub warnings: Vec<Warning>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Atom {
    pub kind: AtomKind,
    /// Where it stands in [`Parsed::text`].
    pub span: Span,
    /// On which rectangles of which pages it is printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boxes: Vec<PageBox>,
    /// The bytes of the source it came from; `None` where pages and boxes say it (PDF).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceRange>,
    /// What it can be linked to by, such as an HTML id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// Where its words lead to, in the order of the words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
}

/// Words that lead somewhere. Nobody has been there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Where the words stand in [`Parsed::text`].
    pub span: Span,
    pub text: String,
    /// An address of a scheme that runs nothing, or `#page=12` within the document.
    pub target: String,
}

/// A half-open range of bytes that holds what an atom says, in the source's own encoding and
/// with whatever markup stands between the words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRange {
    /// The part of an archive the range is of, unpacked, such as `word/document.xml`; `None`
    /// where it is of the file itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    pub start: u64,
    pub end: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AtomKind {
    /// Level 1 is the outermost.
    Heading {
        level: u8,
    },
    Paragraph,
    ListItem {
        /// 0 is the outermost list.
        depth: u8,
        /// The number or letter as printed; `None` for a bullet.
        marker: Option<String>,
    },
    Table(Table),
    Code {
        language: Option<String>,
    },
    Quote,
    /// A picture; the text is its alternative text or what it says.
    Figure,
    Caption,
    Footnote {
        marker: String,
    },
    Formula,
    /// Running heads, page numbers, navigation: kept and marked, never indexed.
    Furniture,
}

impl AtomKind {
    pub fn is_indexed(&self) -> bool {
        !matches!(self, Self::Furniture)
    }
}

/// A table's cells by row. The atom's text is its Markdown form.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    pub header_rows: u32,
    pub rows: Vec<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PageSize {
    pub width: f32,
    pub height: f32,
}

/// A part of the document that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// First and last page, counted from 1, where pages are known.
    pub pages: Option<(u32, u32)>,
    pub reason: String,
}

/// Something a reader should know that did not cost any text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    pub message: String,
}
