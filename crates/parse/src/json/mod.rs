//! JSON: objects as sections, their values as lines of `name: value`.

mod value;
mod walk;

use model::Parsed;

use crate::builder::TextBuilder;
use crate::{Error, Format, Input, encoding};

pub(crate) use value::Json;
pub(crate) use walk::record;

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    let (text, _) = encoding::decode(input.bytes).ok_or_else(|| Error::Unsupported {
        what: "a binary file of unknown kind".to_owned(),
    })?;
    let value: Json =
        serde_json::from_str(&text).map_err(|cause| Error::damaged(Format::Json, cause))?;
    let mut out = TextBuilder::new(input.limits);
    if let Some(title) = value.field("title").or(value.field("name")) {
        out.title(title);
    }
    walk::document(&value, &mut out)?;
    Ok(out.finish(Format::Json))
}
