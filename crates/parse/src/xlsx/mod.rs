//! Workbooks: each sheet under its name, its rows in tables of a few rows that
//! repeat the first row as their header.

mod besides;
mod cell;
mod dates;
mod merged;
mod sheet;

use model::{AtomKind, Parsed};

use crate::archive::Archive;
use crate::builder::{Piece, TextBuilder};
use crate::ooxml::{self, LeftOut, Relations, whole_part};
use crate::xml::{Element, Token, Xml};
use crate::{Error, Format, Input, Limits};

const FORMAT: Format = Format::Xlsx;
const MAIN: &str = "xl/workbook.xml";

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    let limits = input.limits;
    let mut archive = Archive::open(input.bytes, FORMAT, limits)?;
    let mut out = TextBuilder::new(limits);
    ooxml::properties(&mut archive, FORMAT, limits, &mut out);
    let workbook = whole_part(&mut archive, MAIN, FORMAT, limits)?.ok_or_else(|| {
        Error::damaged(
            FORMAT,
            "it has no workbook part (a binary workbook is not read)",
        )
    })?;
    let relations = Relations::of(&mut archive, MAIN, FORMAT, limits)?;
    let strings = shared_strings(&mut archive, relations.first("sharedStrings"), limits)?;
    let styles = match relations.first("styles") {
        Some(name) => ooxml::part_or_gap(&mut archive, name, FORMAT, limits, &mut out)?,
        None => None,
    };
    let cells = cell::Cells::new(strings, styles.as_ref(), &workbook);
    let hidden: Vec<&str> = hidden_sheets(&workbook).collect();
    if !hidden.is_empty() {
        let names = hidden.join("`, `");
        out.warn(format!("hidden sheets were not read: `{names}`"));
    }
    let mut left_out = LeftOut::default();
    for (sheet, target) in sheets(&workbook, &relations) {
        let name = sheet.attribute("name").unwrap_or_default();
        let heading = Piece::new(AtomKind::Heading { level: 1 }, name);
        out.push(heading.from_part(MAIN, sheet.source))?;
        let merged = archive.part_ahead(&target).map(merged::find);
        let read = match archive.part(&target) {
            Ok(Some(part)) => {
                let merged = merged.unwrap_or_default();
                let mut tables = sheet::Tables::new(&target, &cells, merged, &mut out);
                let read = tables.read(&mut Xml::new(part, FORMAT, limits));
                left_out.formulas += tables.unvalued();
                read
            }
            Err(cause) => Err(cause),
            Ok(None) => {
                let reason = format!("the sheet `{target}` is missing from the file");
                out.gap(None, reason);
                Ok(())
            }
        };
        read.or_else(|cause| ooxml::gap(&target, cause, &mut out))?;
        besides::note(&mut archive, &target, limits, &mut left_out, &mut out)?;
    }
    left_out.warn(&mut out);
    Ok(out.finish(FORMAT))
}

/// The sheets a reader sees, and their parts.
fn sheets<'w>(workbook: &'w Element, relations: &Relations) -> Vec<(&'w Element, String)> {
    let shown = all_sheets(workbook).filter(|sheet| !is_hidden(sheet));
    shown
        .filter_map(|sheet| {
            let target = &relations.get(sheet.related()?)?.target;
            Some((sheet, target.clone()))
        })
        .collect()
}

fn hidden_sheets(workbook: &Element) -> impl Iterator<Item = &str> {
    let hidden = all_sheets(workbook).filter(|sheet| is_hidden(sheet));
    hidden.filter_map(|sheet| sheet.attribute("name"))
}

fn all_sheets(workbook: &Element) -> impl Iterator<Item = &Element> {
    let list = workbook.child("x:sheets");
    list.into_iter().flat_map(|list| list.children("x:sheet"))
}

fn is_hidden(sheet: &Element) -> bool {
    matches!(sheet.attribute("state"), Some("hidden" | "veryHidden"))
}

fn shared_strings(
    archive: &mut Archive<'_>,
    name: Option<&str>,
    limits: &Limits,
) -> Result<Vec<String>, Error> {
    let mut strings = Vec::new();
    let Some(part) = name.map(|name| archive.part(name)).transpose()?.flatten() else {
        return Ok(strings);
    };
    let mut xml = Xml::new(part, FORMAT, limits);
    let mut bytes = 0;
    while let Some(token) = xml.next()? {
        if let Token::Start(element) = token
            && element.name == "x:si"
        {
            let text = cell::rich_text(&xml.tree(element)?);
            bytes += text.len() as u64 + 24;
            strings.push(text);
            if bytes > limits.text_bytes {
                return Err(Error::OverBudget {
                    budget: crate::Budget::TextBytes,
                    limit: limits.text_bytes,
                });
            }
        }
    }
    Ok(strings)
}
