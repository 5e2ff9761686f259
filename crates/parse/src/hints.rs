//! What the sender says about a file. Content decides; these break ties.

use serde::{Deserialize, Serialize};

use crate::Format;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hints {
    pub filename: Option<String>,
    pub media_type: Option<String>,
}

impl Hints {
    pub fn of_filename(name: impl Into<String>) -> Self {
        Self {
            filename: Some(name.into()),
            media_type: None,
        }
    }

    /// What the name or the claimed type suggests; the name is the more specific of the two.
    pub(crate) fn suggested(&self) -> Option<Format> {
        let by_name = self.extension().and_then(|ext| of_extension(&ext));
        by_name.or_else(|| of_media_type(self.media_type.as_deref()?))
    }

    /// Whether the name ends in that of a kind of file, known or not: `12.3` does not.
    pub(crate) fn has_extension(&self) -> bool {
        let is_kind = |extension: String| {
            let mut letters = extension.chars();
            letters.clone().any(char::is_alphabetic) && !letters.any(char::is_whitespace)
        };
        self.extension().is_some_and(is_kind)
    }

    fn extension(&self) -> Option<String> {
        let name = self.filename.as_deref()?.rsplit(['/', '\\']).next()?;
        let (_, extension) = name.rsplit_once('.')?;
        Some(extension.to_ascii_lowercase())
    }
}

fn of_extension(extension: &str) -> Option<Format> {
    Some(match extension {
        "pdf" => Format::Pdf,
        "docx" | "docm" | "dotx" | "dotm" => Format::Docx,
        "pptx" | "pptm" | "ppsx" | "potx" => Format::Pptx,
        "xlsx" | "xlsm" => Format::Xlsx,
        "odt" | "ott" => Format::Odt,
        "epub" => Format::Epub,
        "rtf" => Format::Rtf,
        "html" | "htm" | "xhtml" | "xht" => Format::Html,
        "eml" => Format::Eml,
        "json" => Format::Json,
        "jsonl" | "ndjson" => Format::JsonLines,
        "csv" | "tsv" => Format::Csv,
        "md" | "markdown" | "mdown" | "mkd" | "mdx" => Format::Markdown,
        "txt" | "text" | "log" => Format::Text,
        _ => return None,
    })
}

fn of_media_type(claimed: &str) -> Option<Format> {
    let essence = claimed.split(';').next()?.trim().to_ascii_lowercase();
    let same = |format: &&Format| format.media_type() == essence;
    Format::ALL
        .iter()
        .find(same)
        .copied()
        .or(match essence.as_str() {
            "application/xhtml+xml" => Some(Format::Html),
            "text/x-markdown" => Some(Format::Markdown),
            "text/rtf" => Some(Format::Rtf),
            "text/tab-separated-values" => Some(Format::Csv),
            "application/jsonl" | "application/x-ndjson" => Some(Format::JsonLines),
            _ => None,
        })
}
