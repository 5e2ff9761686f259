//! Presentations: slide by slide, the title as a heading, then text, tables and notes.

mod bullet;
mod slide;
mod table;

use model::Parsed;

use crate::archive::Archive;
use crate::builder::TextBuilder;
use crate::ooxml::{self, LeftOut, Relations, whole_part};
use crate::{Error, Format, Input, Limits};

use slide::Slide;

const FORMAT: Format = Format::Pptx;
const MAIN: &str = "ppt/presentation.xml";

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    let mut archive = Archive::open(input.bytes, FORMAT, input.limits)?;
    let mut out = TextBuilder::new(input.limits);
    ooxml::properties(&mut archive, FORMAT, input.limits, &mut out);
    let mut left_out = LeftOut::default();
    for name in slides(&mut archive, input.limits)? {
        let relations = relations(&mut archive, &name, input.limits, &mut out)?;
        match whole_part(&mut archive, &name, FORMAT, input.limits) {
            Ok(Some(root)) => {
                left_out.note(&root);
                Slide::new(&name, &relations, &mut out).write(&root)?;
            }
            Err(cause) => ooxml::gap(&name, cause, &mut out)?,
            Ok(None) => out.gap(None, format!("the slide `{name}` is missing from the file")),
        }
        let Some(name) = relations.first("notesSlide") else {
            continue;
        };
        if let Some(root) = ooxml::part_or_gap(&mut archive, name, FORMAT, input.limits, &mut out)?
        {
            let relations = self::relations(&mut archive, name, input.limits, &mut out)?;
            Slide::new(name, &relations, &mut out).write_notes(&root)?;
        }
    }
    left_out.warn(&mut out);
    Ok(out.finish(FORMAT))
}

/// What a part leads to; damage to that costs notes and links.
fn relations(
    archive: &mut Archive<'_>,
    part: &str,
    limits: &Limits,
    out: &mut TextBuilder,
) -> Result<Relations, Error> {
    Relations::of(archive, part, FORMAT, limits).or_else(|cause| {
        ooxml::gap(part, cause, out)?;
        Ok(Relations::default())
    })
}

/// Names of the slides in the order they are shown.
fn slides(archive: &mut Archive<'_>, limits: &Limits) -> Result<Vec<String>, Error> {
    let root = whole_part(archive, MAIN, FORMAT, limits)?
        .ok_or_else(|| Error::damaged(FORMAT, "it has no presentation part"))?;
    let relations = Relations::of(archive, MAIN, FORMAT, limits)?;
    let list = root.child("p:sldIdLst");
    let ids = list.into_iter().flat_map(|list| list.children("p:sldId"));
    // `id` is a number of the slide's own; the relation's is `r:id`, kept second.
    let targets = ids.filter_map(|id| relations.get(id.related()?));
    Ok(targets.map(|relation| relation.target.clone()).collect())
}
