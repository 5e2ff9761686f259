//! What a sheet shows besides its cells: drawings and comments, counted and not read.

use super::FORMAT;
use crate::archive::Archive;
use crate::builder::TextBuilder;
use crate::ooxml::{self, LeftOut, Relations};
use crate::xml::{Token, Xml};
use crate::{Error, Limits};

/// Counts what hangs on a sheet. Damage to it costs nothing of the sheet.
pub(super) fn note(
    archive: &mut Archive<'_>,
    sheet: &str,
    limits: &Limits,
    left_out: &mut LeftOut,
    out: &mut TextBuilder,
) -> Result<(), Error> {
    let relations = match Relations::of(archive, sheet, FORMAT, limits) {
        Ok(relations) => relations,
        Err(cause) => return ooxml::gap(sheet, cause, out),
    };
    for name in relations.all("drawing").chain(relations.all("comments")) {
        count(archive, name, limits, left_out).or_else(|cause| ooxml::gap(name, cause, out))?;
    }
    Ok(())
}

fn count(
    archive: &mut Archive<'_>,
    name: &str,
    limits: &Limits,
    left_out: &mut LeftOut,
) -> Result<(), Error> {
    let Some(part) = archive.part(name)? else {
        return Ok(());
    };
    let mut xml = Xml::new(part, FORMAT, limits);
    let mut in_box = false;
    while let Some(token) = xml.next()? {
        let Token::Start(element) = token else {
            continue;
        };
        match element.name.as_str() {
            // It tells older readers once more what was counted.
            "mc:Fallback" => drop(xml.tree(element)?),
            "xdr:txBody" => in_box = true,
            "a:t" => left_out.text_boxes += usize::from(std::mem::take(&mut in_box)),
            "x:comment" => left_out.comments += 1,
            _ => left_out.note(&element),
        }
    }
    xml.ended()
}
