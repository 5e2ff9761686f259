//! Rich text: paragraphs, headings by style or outline level, tables, notes.

mod code_page;
mod reader;
mod table;
mod token;

use model::Parsed;

use crate::builder::TextBuilder;
use crate::{Error, Format, Input};

const FORMAT: Format = Format::Rtf;

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    let mut out = TextBuilder::new(input.limits);
    let mut reader = reader::Reader::new(&mut out, input.limits);
    let mut tokens = token::Tokens::new(input.bytes);
    let mut start = tokens.position();
    while let Some(token) = tokens.next() {
        reader.token(token, (start, tokens.position()))?;
        start = tokens.position();
    }
    reader.finish()?;
    Ok(out.finish(FORMAT))
}
