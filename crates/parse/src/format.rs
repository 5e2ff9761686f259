//! Which format a file is in. Content decides; name and claimed type break ties
//! between formats that are all text.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, Hints, sniff};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    Pdf,
    Docx,
    Pptx,
    Xlsx,
    Odt,
    Epub,
    Rtf,
    Html,
    Eml,
    Json,
    JsonLines,
    Csv,
    Markdown,
    Text,
}

impl Format {
    pub const ALL: &'static [Self] = &[
        Self::Pdf,
        Self::Docx,
        Self::Pptx,
        Self::Xlsx,
        Self::Odt,
        Self::Epub,
        Self::Rtf,
        Self::Html,
        Self::Eml,
        Self::Json,
        Self::JsonLines,
        Self::Csv,
        Self::Markdown,
        Self::Text,
    ];

    /// The format of a whole file.
    pub fn detect(bytes: &[u8], hints: &Hints) -> Result<Self, Error> {
        sniff::whole(bytes, hints)
    }

    /// The format of a file of which only the beginning is at hand ([`Self::HEAD_BYTES`]
    /// of it, or all). `None` when the rest is needed: archives keep their table at the end.
    ///
    /// Where it answers, it answers as [`Self::detect`] does.
    pub fn detect_head(head: &[u8], hints: &Hints) -> Result<Option<Self>, Error> {
        sniff::head(head, hints)
    }

    /// As much as detection ever looks at, archives aside.
    pub const HEAD_BYTES: usize = 64 << 10;

    /// Whether [`crate::Stream`] reads it in slices, with flat memory.
    pub const fn streams(self) -> bool {
        matches!(
            self,
            Self::Text | Self::Markdown | Self::Csv | Self::JsonLines
        )
    }

    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Pdf => "application/pdf",
            Self::Docx => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            Self::Pptx => {
                "application/vnd.openxmlformats-officedocument.presentationml.presentation"
            }
            Self::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            Self::Odt => "application/vnd.oasis.opendocument.text",
            Self::Epub => "application/epub+zip",
            Self::Rtf => "application/rtf",
            Self::Html => "text/html",
            Self::Eml => "message/rfc822",
            Self::Json => "application/json",
            Self::JsonLines => "application/x-ndjson",
            Self::Csv => "text/csv",
            Self::Markdown => "text/markdown",
            Self::Text => "text/plain",
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Pdf => "PDF",
            Self::Docx => "DOCX",
            Self::Pptx => "PPTX",
            Self::Xlsx => "XLSX",
            Self::Odt => "ODT",
            Self::Epub => "EPUB",
            Self::Rtf => "RTF",
            Self::Html => "HTML",
            Self::Eml => "EML",
            Self::Json => "JSON",
            Self::JsonLines => "JSON lines",
            Self::Csv => "CSV",
            Self::Markdown => "Markdown",
            Self::Text => "plain text",
        }
    }

    pub fn names() -> String {
        let names: Vec<&str> = Self::ALL.iter().map(|format| format.name()).collect();
        names.join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
