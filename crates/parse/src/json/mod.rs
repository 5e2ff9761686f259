//! JSON: objects as sections, their values as lines of `name: value`.

mod value;
mod walk;

use model::Parsed;

use crate::builder::TextBuilder;
use crate::{Error, Format, Input, encoding};

pub(crate) use value::Value;
pub(crate) use walk::record;

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    let told = encoding::decode(input.bytes);
    let (text, places) = told.ok_or_else(|| Error::Unsupported {
        what: "a binary file of unknown kind".to_owned(),
    })?;
    let (value, damage) =
        Value::read_so_far(&text).map_err(|cause| Error::damaged(Format::Json, cause))?;
    let mut out = TextBuilder::new(input.limits);
    if let Some(title) = value.field("title").or(value.field("name")) {
        out.title(title);
    }
    let mut walk = walk::Walk {
        text: &text,
        places: &places,
        out: &mut out,
    };
    walk.section(&value, 1)?;
    if let Some(warning) = places.warning() {
        out.warn(warning);
    }
    if let Some(cause) = damage {
        // Without a word before the damage there is nothing to be read.
        if out.is_empty() {
            return Err(Error::damaged(Format::Json, cause));
        }
        out.gap(
            None,
            format!("the JSON is damaged and read no further: {cause}"),
        );
    }
    Ok(out.finish(Format::Json))
}
