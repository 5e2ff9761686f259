//! OpenDocument texts: headings, paragraphs, lists, tables and notes of the content part;
//! headers and footers of the styles part as furniture.

mod block;
mod inline;
mod list;
mod styles;
mod table;

use model::{AtomKind, Parsed};

use crate::archive::Archive;
use crate::builder::{Piece, TextBuilder};
use crate::ooxml;
use crate::xml::{Element, Xml};
use crate::{Error, Format, Input};

use block::Body;
use styles::Styles;

const FORMAT: Format = Format::Odt;
const CONTENT: &str = "content.xml";
const STYLES: &str = "styles.xml";

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    let mut archive = Archive::open(input.bytes, FORMAT, input.limits)?;
    let mut out = TextBuilder::new(input.limits);
    let mut part =
        |name: &str| ooxml::part_or_gap(&mut archive, name, FORMAT, input.limits, &mut out);
    if part("META-INF/manifest.xml")?.is_some_and(|manifest| is_encrypted(&manifest)) {
        return Err(Error::Encrypted { format: FORMAT });
    }
    let (meta, shared) = (part("meta.xml")?, part(STYLES)?);
    if let Some(meta) = &meta {
        about(meta, &mut out);
    }
    let mut styles = Styles::default();
    if let Some(shared) = &shared {
        styles.read(shared);
        furniture(shared, "style:header", &mut out)?;
    }
    let Some(part) = archive.part(CONTENT)? else {
        return Err(Error::damaged(FORMAT, "it has no content part"));
    };
    let mut xml = Xml::new(part, FORMAT, input.limits);
    let before = out.position();
    let mut body = Body::new(styles, &mut out);
    let read = ooxml::blocks(&mut xml, is_wrapper, |block| body.block(block));
    body.finish()?;
    ooxml::gap_unless_all(CONTENT, read, before, &mut out)?;
    if let Some(shared) = &shared {
        furniture(shared, "style:footer", &mut out)?;
    }
    Ok(out.finish(FORMAT))
}

fn is_wrapper(name: &str) -> bool {
    matches!(
        name,
        "office:document-content" | "office:body" | "office:text" | "text:section"
    )
}

fn is_encrypted(manifest: &Element) -> bool {
    let mut found = Vec::new();
    manifest.find_all("manifest:encryption-data", &mut found);
    !found.is_empty()
}

fn about(meta: &Element, out: &mut TextBuilder) {
    let mut stack: Vec<&Element> = vec![meta];
    while let Some(element) = stack.pop() {
        stack.extend(element.elements());
        match element.name.as_str() {
            "dc:title" => out.title(&element.text()),
            "dc:creator" => out.property("author", &element.text()),
            "dc:language" => out.claimed_language(&element.text()),
            "dc:date" => out.property("modified", &element.text()),
            "dc:subject" => out.property("subject", &element.text()),
            _ => {}
        }
    }
}

/// Headers or footers of all kinds of pages, each text once.
fn furniture(styles: &Element, kind: &str, out: &mut TextBuilder) -> Result<(), Error> {
    let mut found = Vec::new();
    for suffix in ["", "-left", "-first"] {
        styles.find_all(&format!("{kind}{suffix}"), &mut found);
    }
    let mut seen = Vec::new();
    for element in found {
        let text = inline::lines(element);
        if !seen.contains(&text) {
            let piece = Piece::new(AtomKind::Furniture, text.as_str());
            out.push(piece.from_part(STYLES, element.source))?;
            seen.push(text);
        }
    }
    Ok(())
}
