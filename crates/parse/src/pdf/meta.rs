//! What the document says of itself.

use hayro_syntax::Pdf;
use hayro_syntax::object::{DateTime, Dict, String as PdfString};

use super::strings::clean;
use crate::TextBuilder;

pub(super) fn describe(pdf: &Pdf, builder: &mut TextBuilder) {
    let metadata = pdf.metadata();
    let text = |bytes: &Option<Box<[u8]>>| bytes.as_deref().and_then(clean);
    if let Some(title) = text(&metadata.title).filter(|title| is_title(title)) {
        builder.title(&title);
    }
    let fields = [
        ("author", text(&metadata.author)),
        ("subject", text(&metadata.subject)),
        ("keywords", text(&metadata.keywords)),
        ("creator", text(&metadata.creator)),
        ("producer", text(&metadata.producer)),
        ("created", metadata.creation_date.as_ref().map(date)),
        ("modified", metadata.modification_date.as_ref().map(date)),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            builder.property(name, &value);
        }
    }
    let root = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id());
    if let Some(tag) = root.and_then(|root| root.get::<PdfString<'_>>(b"Lang")) {
        builder.claimed_language(&String::from_utf8_lossy(tag.as_bytes()));
    }
}

/// Programs that were not told a title write the file's name or their own default.
fn is_title(text: &str) -> bool {
    let lower = text.to_lowercase();
    let file = [
        ".doc", ".docx", ".dvi", ".tex", ".indd", ".qxd", ".pdf", ".ps", ".odt", ".xls",
    ];
    !file.iter().any(|ending| lower.ends_with(ending))
        && !lower.starts_with("microsoft word - ")
        && !lower.starts_with("untitled")
}

/// RFC 3339, as far as the document says.
fn date(date: &DateTime) -> String {
    let offset = match (date.utc_offset_hour, date.utc_offset_minute) {
        (0, 0) => "Z".to_owned(),
        (hour, minute) => format!("{hour:+03}:{minute:02}"),
    };
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{offset}",
        date.year, date.month, date.day, date.hour, date.minute, date.second
    )
}
