//! Reads text formats from a stream, in slices, with flat memory.
//!
//! In: the bytes of a file in order, in pushes of any size. Out: slices of the
//! normalised text with their atoms; laid end to end they are what [`crate::parse`]
//! gives for the whole file. Each slice says where to resume: a stream made from
//! that checkpoint and fed from its source byte emits what is missing, nothing twice.

mod lines;

pub(crate) use lines::Line;

use lines::Lines;
use model::{Atom, Parsed, Warning};
use serde::{Deserialize, Serialize};

use crate::builder::{Position, TextBuilder};
use crate::encoding::{self, Charset};
use crate::{Error, Format, Limits, csv, json_lines, language, md, text};

/// A slice is handed out once it holds this much text.
const SLICE_BYTES: u64 = 256 << 10;

/// Where a stream can be taken up again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub format: Format,
    /// The first byte of the file that has not been turned into text.
    pub source_byte: u64,
    /// Where its text will begin.
    pub text: Position,
    /// Name of the encoding; `None` before enough has been seen to tell, `US-ASCII` where the
    /// next bytes that are not will tell.
    pub encoding: Option<String>,
    /// The escape in force there, in an encoding that has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<[u8; 3]>,
    /// Lines before it that held bytes which are no characters of the encoding.
    pub lost: u64,
    /// What addresses of links have taken of their budget.
    pub target_bytes: u64,
    /// What a format must remember of the part before, such as a table's header.
    pub memory: Memory,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    pub header: Option<Vec<String>>,
    pub separator: Option<char>,
    /// Whether a paragraph of which there is an atom already goes on.
    #[serde(default)]
    pub goes_on: bool,
    /// Whether no line of that paragraph had ended a sentence for long.
    #[serde(default)]
    pub unended: bool,
    /// The mark and length of the fence of a code block that has not ended.
    #[serde(default)]
    pub fence: Option<(char, usize)>,
    /// The records of a file that has a record on each line.
    #[serde(default)]
    pub records: Tally,
}

/// How many records there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub read: u64,
    pub skipped: u64,
    /// The number of the first that was skipped, counted from 1.
    pub first_skipped: Option<u64>,
    /// Whether the last one is too long and has not ended.
    pub overlong: bool,
}

/// A run of text with its atoms; spans are those of the whole version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    pub text: String,
    pub atoms: Vec<Atom>,
    /// What was said about the file since the slice before: title, properties, warnings.
    pub title: Option<String>,
    pub properties: std::collections::BTreeMap<String, String>,
    pub warnings: Vec<Warning>,
    /// As far as the first slice tells.
    pub language: Option<String>,
    pub resume: Checkpoint,
}

/// Turns lines into pieces. What it holds back is bounded by the format.
pub(crate) trait Blocks {
    fn line(&mut self, line: Line<'_>, out: &mut TextBuilder) -> Result<(), Error>;

    /// The file has ended.
    fn end(&mut self, out: &mut TextBuilder) -> Result<(), Error>;

    /// The first source byte of what is held back.
    fn held_from(&self) -> Option<u64>;

    fn memory(&self) -> Memory {
        Memory::default()
    }
}

/// Said of the encoding of a file as long as all of it is this.
const ASCII: &str = "US-ASCII";

pub struct Stream {
    format: Format,
    lines: Option<Lines>,
    /// Whether nothing but ASCII has been read as lines, so that the encoding is yet to be told.
    is_plain: bool,
    /// The beginning of the file, or of what is not ASCII in it, until the encoding can be told.
    head: Vec<u8>,
    start: Checkpoint,
    blocks: Box<dyn Blocks + Send>,
    out: TextBuilder,
}

impl Stream {
    /// For a format that [`Format::streams`].
    pub fn new(format: Format, limits: &Limits) -> Self {
        Self::resume(
            Checkpoint {
                format,
                source_byte: 0,
                text: Position::default(),
                encoding: None,
                shift: None,
                lost: 0,
                target_bytes: 0,
                memory: Memory::default(),
            },
            limits,
        )
    }

    pub fn resume(from: Checkpoint, limits: &Limits) -> Self {
        let is_plain = from.encoding.as_deref() == Some(ASCII);
        let charset = match is_plain {
            true => Some(Charset::utf_8()),
            false => from.encoding.as_deref().and_then(Charset::named),
        };
        let longest = longest_line(from.format);
        let lines = |charset| {
            Lines::new(charset, from.source_byte, longest)
                .shifted(from.shift)
                .having_lost(from.lost)
        };
        Self {
            format: from.format,
            lines: charset.map(lines),
            is_plain,
            head: Vec::new(),
            blocks: blocks(&from, limits),
            out: TextBuilder::at(limits, from.text).having_linked(from.target_bytes),
            start: from,
        }
    }

    /// Takes the next bytes of the file; answers once enough text has come together.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<Slice>, Error> {
        self.feed(bytes)?;
        let from = self.out.position().bytes - self.out.text.len() as u64;
        let full = self.out.position().bytes - from >= SLICE_BYTES;
        Ok(full.then(|| self.slice()))
    }

    /// The file has ended: the last slice, which may be empty.
    pub fn finish(mut self) -> Result<Slice, Error> {
        self.drain()?;
        Ok(self.slice())
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.lines.is_some() && !self.is_plain {
            return self.lines_of(bytes);
        }
        let bytes = match self.is_plain && self.head.is_empty() {
            true => self.plain_lines_of(bytes)?,
            false => bytes,
        };
        self.head.extend_from_slice(bytes);
        if self.head.len() >= Format::HEAD_BYTES {
            self.tell()?;
        }
        Ok(())
    }

    /// Reads as lines what is ASCII, and answers with the rest.
    fn plain_lines_of<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], Error> {
        let plain = bytes.iter().position(|b| !b.is_ascii());
        let (plain, rest) = bytes.split_at(plain.unwrap_or(bytes.len()));
        self.lines_of(plain)?;
        Ok(rest)
    }

    /// Tells the encoding by what has been kept for it, and reads that.
    fn tell(&mut self) -> Result<(), Error> {
        match self.lines.is_some() {
            true => self.tell_behind_ascii(),
            false => self.open(),
        }
    }

    fn open(&mut self) -> Result<(), Error> {
        let head = std::mem::take(&mut self.head);
        let sample = &head[..head.len().min(Format::HEAD_BYTES)];
        let told = encoding::detect_with_mark(sample);
        let (charset, mark) = told.ok_or_else(|| Error::Unsupported {
            what: "a binary file of unknown kind".to_owned(),
        })?;
        let start = self.start.source_byte + mark as u64;
        let plain = encoding::plain_beginning(sample, charset, mark);
        self.is_plain = plain.is_some();
        let charset = plain.map_or(charset, |_| Charset::utf_8());
        self.lines = Some(Lines::new(charset, start, longest_line(self.format)));
        self.feed(&head[mark..])
    }

    fn tell_behind_ascii(&mut self) -> Result<(), Error> {
        let head = std::mem::take(&mut self.head);
        let lines = self.lines.as_mut().expect("lines of ASCII came before");
        let sample = &head[..head.len().min(Format::HEAD_BYTES)];
        let sample = [lines.last(encoding::CONTEXT), sample].concat();
        lines.go_on_in(encoding::detect_behind_ascii(&sample));
        self.is_plain = false;
        self.lines_of(&head)
    }

    fn lines_of(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let (blocks, out) = (&mut self.blocks, &mut self.out);
        let lines = self.lines.as_mut().expect("opened before lines are read");
        lines.push(bytes, &mut |line| blocks.line(line, out))
    }

    fn drain(&mut self) -> Result<(), Error> {
        if self.lines.is_none() {
            self.open()?;
        }
        // The rest of a text that was plain for long, or of one that was opened just now.
        if !self.head.is_empty() {
            self.tell_behind_ascii()?;
        }
        let (blocks, out) = (&mut self.blocks, &mut self.out);
        let lines = self.lines.as_mut().expect("just opened");
        lines.end(&mut |line| blocks.line(line, out))?;
        blocks.end(out)?;
        if let Some(warning) = lines.charset().warning(lines.lost()) {
            out.warn(warning);
        }
        Ok(())
    }

    fn slice(&mut self) -> Slice {
        let resume = self.checkpoint();
        let first = self.out.position().bytes == self.out.text.len() as u64;
        let (text, atoms) = self.out.take();
        let language = first.then(|| language::of_text(&text, &atoms)).flatten();
        let said = std::mem::take(&mut self.out.parsed);
        Slice {
            text,
            atoms,
            title: said.title,
            properties: said.properties,
            warnings: said.warnings,
            language,
            resume,
        }
    }

    fn checkpoint(&self) -> Checkpoint {
        let lines = self.lines.as_ref();
        let read = lines.map_or(self.start.source_byte, Lines::position);
        let source_byte = self.blocks.held_from().unwrap_or(read);
        Checkpoint {
            format: self.format,
            source_byte,
            text: self.out.position(),
            encoding: lines.map(|lines| match self.is_plain {
                true => ASCII.to_owned(),
                false => lines.charset().name().to_owned(),
            }),
            shift: lines.and_then(|lines| lines.shift_at(source_byte)),
            lost: lines.map_or(0, |lines| lines.lost_until(source_byte)),
            target_bytes: self.out.target_bytes(),
            memory: self.blocks.memory(),
        }
    }
}

fn blocks(from: &Checkpoint, limits: &Limits) -> Box<dyn Blocks + Send> {
    match from.format {
        Format::Markdown => Box::new(md::Segments::new(from, limits)),
        Format::Csv => Box::new(csv::Records::new(&from.memory)),
        Format::JsonLines => Box::new(json_lines::Records::new(&from.memory)),
        _ => Box::new(text::Paragraphs::new(&from.memory)),
    }
}

/// A line longer than this is read in pieces.
fn longest_line(format: Format) -> usize {
    match format {
        Format::JsonLines => 16 << 20,
        Format::Markdown | Format::Csv => 1 << 20,
        _ => 64 << 10,
    }
}

/// A whole file through the same reader, so both ways give the same atoms.
pub(crate) fn whole(format: Format, bytes: &[u8], limits: &Limits) -> Result<Parsed, Error> {
    let mut stream = Stream::new(format, limits);
    if !bytes.is_empty() {
        stream.feed(bytes)?;
        stream.drain()?;
    }
    Ok(stream.out.finish(format))
}

#[cfg(test)]
mod tests;
