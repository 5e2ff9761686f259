//! Rich text: paragraphs, headings by style or outline level, tables, notes.

mod reader;
mod token;

use model::Parsed;

use crate::builder::TextBuilder;
use crate::{Error, Format, Input};

const FORMAT: Format = Format::Rtf;

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    let mut out = TextBuilder::new(input.limits);
    let mut reader = reader::Reader::new(&mut out, input.limits);
    for token in token::Tokens::new(input.bytes) {
        reader.token(token)?;
    }
    reader.finish()?;
    Ok(out.finish(FORMAT))
}
