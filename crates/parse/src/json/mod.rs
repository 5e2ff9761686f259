//! JSON: objects as sections, their values as lines of `name: value`.

mod walk;

use model::Parsed;

use crate::builder::TextBuilder;
use crate::{Error, Format, Input, encoding};

pub(crate) use walk::record;

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    let (text, _) = encoding::decode(input.bytes).ok_or_else(|| Error::Unsupported {
        what: "a binary file of unknown kind".to_owned(),
    })?;
    let value: serde_json::Value =
        serde_json::from_str(&text).map_err(|cause| Error::damaged(Format::Json, cause))?;
    let mut out = TextBuilder::new(input.limits);
    walk::document(&value, &mut out)?;
    Ok(out.finish(Format::Json))
}
