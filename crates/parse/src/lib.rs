//! Bytes to atoms.
//!
//! In: the bytes of a file, hints about it and budgets. Out: its normalised text
//! and its atoms in reading order, or an error that says what the matter is. The
//! same bytes give the same atoms. Nothing a document names is opened, fetched or
//! run. A library underneath may still panic, hang or eat memory on a hostile
//! file: callers who do not trust the file run this in a sandboxed child.
//!
//! Each format is a folder of one shape: a `parse` from [`Input`] to `Parsed`.

mod archive;
mod builder;
mod cell;
mod divide;
mod encoding;
mod error;
mod format;
mod hints;
mod language;
mod limits;
mod listing;
mod math;
mod normal;
mod numerals;
mod ooxml;
mod prose;
mod render;
mod sniff;
mod stream;
mod target;
mod xml;

mod csv;
mod docx;
mod eml;
mod epub;
mod html;
mod json;
mod json_lines;
mod md;
mod odt;
pub mod pdf;
mod pptx;
mod rtf;
mod text;
mod xlsx;

use std::ops::Range;

use model::Parsed;

pub use builder::{Leads, Piece, Position, TextBuilder};
pub use error::{Budget, Error};
pub use format::Format;
pub use hints::Hints;
pub use limits::Limits;
pub use normal::{collapsed, normal};
pub use render::{Markdown, to_markdown, to_text};
pub use stream::{Checkpoint, Memory, Slice, Stream, Tally};

/// What a format is given to read.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    pub bytes: &'a [u8],
    pub hints: &'a Hints,
    pub limits: &'a Limits,
    pub options: &'a Options,
}

/// Which part of a document is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// Of a format with pages (PDF) these only, counted from 0; page numbers in
    /// the answer are those of the whole document. A format without pages ignores it.
    pub pages: Option<Range<u32>>,
    /// Pages to pass over, counted from 0: what was found to hurt.
    #[serde(default)]
    pub skip: Vec<u32>,
    /// Words recognised on pages that are pictures.
    #[serde(default)]
    pub recognised: Vec<pdf::Recognised>,
}

/// Reads a whole document.
pub fn parse(bytes: &[u8], hints: &Hints, limits: &Limits) -> Result<Parsed, Error> {
    parse_part(bytes, hints, limits, &Options::default())
}

/// Reads the part of a document that `options` names.
pub fn parse_part(
    bytes: &[u8],
    hints: &Hints,
    limits: &Limits,
    options: &Options,
) -> Result<Parsed, Error> {
    let format = Format::detect(bytes, hints)?;
    let input = Input {
        bytes,
        hints,
        limits,
        options,
    };
    match format {
        Format::Pdf => pdf::parse(&input),
        Format::Docx => docx::parse(&input),
        Format::Pptx => pptx::parse(&input),
        Format::Xlsx => xlsx::parse(&input),
        Format::Odt => odt::parse(&input),
        Format::Epub => epub::parse(&input),
        Format::Rtf => rtf::parse(&input),
        Format::Html => html::parse(&input),
        Format::Eml => eml::parse(&input),
        Format::Json => json::parse(&input),
        Format::JsonLines => json_lines::parse(&input),
        Format::Csv => csv::parse(&input),
        Format::Markdown => md::parse(&input),
        Format::Text => text::parse(&input),
    }
}
