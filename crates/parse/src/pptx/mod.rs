//! Presentations: slide by slide, the title as a heading, then text, tables and notes.

mod bullet;
mod slide;
mod table;

use model::Parsed;

use crate::archive::Archive;
use crate::builder::TextBuilder;
use crate::ooxml::{self, LeftOut, Relations, whole_part};
use crate::xml::Element;
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
        match whole_part(&mut archive, &name, FORMAT, input.limits) {
            Ok(Some(root)) => {
                left_out.note(&root);
                Slide::new(&name, &mut out).write(&root)?;
            }
            Err(cause) => ooxml::gap(&name, cause, &mut out)?,
            Ok(None) => out.gap(None, format!("the slide `{name}` is missing from the file")),
        }
        let notes = notes(&mut archive, &name, input.limits, &mut out)?;
        if let Some((name, root)) = notes {
            Slide::new(&name, &mut out).write_notes(&root)?;
        }
    }
    left_out.warn(&mut out);
    Ok(out.finish(FORMAT))
}

fn notes(
    archive: &mut Archive<'_>,
    slide: &str,
    limits: &Limits,
    out: &mut TextBuilder,
) -> Result<Option<(String, Element)>, Error> {
    let relations = Relations::of(archive, slide, FORMAT, limits).or_else(|cause| {
        ooxml::gap(slide, cause, out)?;
        Ok(Relations::default())
    })?;
    let Some(name) = relations.first("notesSlide") else {
        return Ok(None);
    };
    let root = ooxml::part_or_gap(archive, name, FORMAT, limits, out)?;
    Ok(root.map(|root| (name.to_owned(), root)))
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
