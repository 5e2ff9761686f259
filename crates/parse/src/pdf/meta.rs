//! What the document says of itself.

use hayro_syntax::Pdf;
use hayro_syntax::object::{DateTime, Dict, Stream, String as PdfString};

use super::inflate::Inflater;
use super::strings::clean;
use super::xmp::Xmp;
use crate::{Limits, TextBuilder};

/// Tells what the document's own dictionary says, and where that is silent its packet of XMP.
pub(super) fn describe(
    pdf: &Pdf,
    limits: &Limits,
    inflater: &mut Inflater,
    builder: &mut TextBuilder,
) {
    let root = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id());
    let packet = root.as_ref().and_then(|root| packet(root, inflater));
    let xmp = packet.map(|bytes| Xmp::of(&bytes, limits));
    let xmp = xmp.unwrap_or_default();
    let info = pdf.metadata();
    let text = |bytes: &Option<Box<[u8]>>| bytes.as_deref().and_then(clean);
    let titles = [text(&info.title), xmp.text("title")];
    if let Some(title) = titles.into_iter().flatten().find(|title| is_title(title)) {
        builder.title(&title);
    }
    let created = info.creation_date.as_ref().map(date);
    let modified = info.modification_date.as_ref().map(date);
    let keywords = xmp.text("Keywords").or_else(|| xmp.list("subject"));
    let fields = [
        ("author", text(&info.author), xmp.list("creator")),
        ("subject", text(&info.subject), xmp.text("description")),
        ("keywords", text(&info.keywords), keywords),
        ("creator", text(&info.creator), xmp.text("CreatorTool")),
        ("producer", text(&info.producer), xmp.text("Producer")),
        ("created", created, xmp.text("CreateDate")),
        ("modified", modified, xmp.text("ModifyDate")),
    ];
    for (name, older, newer) in fields {
        if let Some(value) = older.or(newer) {
            builder.property(name, &value);
        }
    }
    let tag = root.and_then(|root| root.get::<PdfString<'_>>(b"Lang"));
    let tag = tag.map(|tag| String::from_utf8_lossy(tag.as_bytes()).into_owned());
    if let Some(tag) = tag.or_else(|| xmp.text("language")) {
        builder.claimed_language(&tag);
    }
}

fn packet(root: &Dict<'_>, inflater: &mut Inflater) -> Option<Vec<u8>> {
    let stream = root.get::<Stream<'_>>(b"Metadata")?;
    inflater.turn();
    inflater.unpack(&stream)
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

#[cfg(test)]
mod tests {
    use crate::{Hints, Limits};

    #[test]
    fn a_document_described_by_xmp_alone_has_its_title_and_its_author() {
        let packet = "<x:xmpmeta xmlns:x='adobe:ns:meta/'>\
            <rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>\
            <rdf:Description xmlns:dc='http://purl.org/dc/elements/1.1/'>\
            <dc:title><rdf:Alt><rdf:li>Of mills</rdf:li></rdf:Alt></dc:title>\
            <dc:creator><rdf:Seq><rdf:li>Anna</rdf:li></rdf:Seq></dc:creator>\
            </rdf:Description></rdf:RDF></x:xmpmeta>";
        let length = packet.len();
        let bytes = samples::pdf::file(&[
            "<</Type/Catalog/Pages 2 0 R/Metadata 4 0 R>>".to_owned(),
            "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]>>".to_owned(),
            format!("<</Type/Metadata/Subtype/XML/Length {length}>>stream\n{packet}\nendstream"),
        ]);
        let parsed = crate::parse(&bytes, &Hints::default(), &Limits::default()).unwrap();
        assert_eq!(parsed.title.as_deref(), Some("Of mills"));
        assert_eq!(parsed.properties.get("author").unwrap(), "Anna");
    }
}
