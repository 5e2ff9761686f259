//! Word documents.
//!
//! Paragraphs and tables in the order of the body; tracked changes as accepted;
//! comments left out; headers and footers as furniture; notes at the end.

mod block;
mod inline;
mod notes;
mod numbering;
mod styles;
mod symbol;
mod table;

use model::{AtomKind, Parsed};

use crate::archive::Archive;
use crate::builder::{Piece, TextBuilder};
use crate::ooxml::{self, LeftOut, Relations};
use crate::xml::{Element, Xml};
use crate::{Error, Format, Input, Limits};

use block::Body;
use numbering::Numbering;
use styles::Styles;

const FORMAT: Format = Format::Docx;

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    let mut archive = Archive::open(input.bytes, FORMAT, input.limits)?;
    let mut out = TextBuilder::new(input.limits);
    ooxml::properties(&mut archive, FORMAT, input.limits, &mut out);
    let main = main_part(&mut archive, input.limits)?;
    let relations = Relations::of(&mut archive, &main, FORMAT, input.limits)?;
    let mut part = |kind: &str| match relations.first(kind) {
        Some(name) => ooxml::part_or_gap(&mut archive, name, FORMAT, input.limits, &mut out)
            .map(|root| root.map(|root| (name, root))),
        None => Ok(None),
    };
    let styles = Styles::read(part("styles")?.as_ref().map(|(_, root)| root));
    let numbering = Numbering::read(part("numbering")?.as_ref().map(|(_, root)| root));
    let (footnotes, endnotes) = (part("footnotes")?, part("endnotes")?);
    furniture(&mut archive, &relations, "header", input.limits, &mut out)?;
    let before = out.position();
    let mut body = Body::new(&main, &relations, &styles, numbering, &mut out);
    let mut left_out = LeftOut::default();
    let read = read_body(&mut archive, &main, input.limits, |block| {
        left_out.note(block);
        body.block(block)
    });
    let cited = body.finish()?;
    left_out.warn(&mut out);
    ooxml::gap_unless_all(&main, read, before, &mut out)?;
    notes::emit(&cited, footnotes.as_ref(), endnotes.as_ref(), &mut out)?;
    furniture(&mut archive, &relations, "footer", input.limits, &mut out)?;
    Ok(out.finish(FORMAT))
}

fn main_part(archive: &mut Archive<'_>, limits: &Limits) -> Result<String, Error> {
    let package = Relations::of(archive, "", FORMAT, limits)?;
    let named = package.first("officeDocument").map(str::to_owned);
    match named {
        Some(name) if archive.has(&name) => Ok(name),
        _ if archive.has("word/document.xml") => Ok("word/document.xml".to_owned()),
        _ => Err(Error::damaged(FORMAT, "it has no main document part")),
    }
}

fn read_body(
    archive: &mut Archive<'_>,
    main: &str,
    limits: &Limits,
    block: impl FnMut(&Element) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(part) = archive.part(main)? else {
        return Err(Error::damaged(FORMAT, "it has no main document part"));
    };
    let mut xml = Xml::new(part, FORMAT, limits);
    ooxml::blocks(&mut xml, is_wrapper, block)
}

fn is_wrapper(name: &str) -> bool {
    matches!(
        name,
        "w:document" | "w:body" | "w:background" | "w:sdt" | "w:sdtContent" | "w:customXml"
    )
}

/// Headers and footers of all sections, each text once.
fn furniture(
    archive: &mut Archive<'_>,
    relations: &Relations,
    kind: &str,
    limits: &Limits,
    out: &mut TextBuilder,
) -> Result<(), Error> {
    let mut seen = Vec::new();
    for name in relations.all(kind) {
        let Some(root) = ooxml::part_or_gap(archive, name, FORMAT, limits, out)? else {
            continue;
        };
        let text = inline::plain(&root);
        if root.name.starts_with("w:") && root.name != "w:document" && !seen.contains(&text) {
            let piece = Piece::new(AtomKind::Furniture, text.as_str());
            out.push(piece.from_part(name, root.source))?;
            seen.push(text);
        }
    }
    Ok(())
}
