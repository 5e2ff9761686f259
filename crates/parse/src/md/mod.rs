//! Markdown: CommonMark with the GitHub extensions, front matter and mathematics.
//!
//! A long file is read in segments that begin where a block surely does, so memory
//! stays flat; a file of ordinary length is one segment.

mod carried;
mod front_matter;
mod html_text;
mod walk;

use carried::Carried;
use model::Parsed;

use crate::builder::TextBuilder;
use crate::stream::{self, Blocks, Checkpoint, Line, Memory};
use crate::{Error, Format, Input, Limits};

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    stream::whole(Format::Markdown, input.bytes, input.limits)
}

/// From here on a segment ends at the next heading, …
const END_AT_HEADING: usize = 256 << 10;
/// … from here at any block, …
const END_AT_BLOCK: usize = 512 << 10;
/// … and here in any case.
const END_ANYWHERE: usize = 1 << 20;

/// Collects lines into segments and reads each when it is complete.
pub(crate) struct Segments {
    segment: Segment,
    carried: Carried,
    /// What the next segment begins in.
    begun_in: Memory,
    after_blank: bool,
    is_first: bool,
    limits: Limits,
}

/// A run of lines, each with its place in the source.
#[derive(Default)]
pub(crate) struct Segment {
    pub(crate) text: String,
    lines: Vec<LinePlace>,
}

struct LinePlace {
    offset: usize,
    start: u64,
    end: u64,
    exact: bool,
}

impl Segment {
    fn add(&mut self, line: Line<'_>) {
        self.lines.push(LinePlace {
            offset: self.text.len(),
            start: line.start,
            end: line.end,
            exact: line.exact,
        });
        self.text.push_str(line.text);
        if !line.cut {
            self.text.push('\n');
        }
    }

    /// A line from before the segment, once more: it has no place of its own in it.
    fn repeat(&mut self, line: &str, start: u64) {
        self.add(Line {
            text: line,
            start,
            end: start,
            exact: false,
            cut: false,
            ends_page: false,
        });
    }

    /// The source bytes of a range of the text; whole lines where the encoding is not ours.
    pub(crate) fn source(&self, range: &std::ops::Range<usize>) -> (u64, u64) {
        let end = range.start + self.text[range.clone()].trim_end().len();
        let (first, last) = (
            self.line_at(range.start),
            self.line_at(end.saturating_sub(1)),
        );
        let from = match first.exact {
            true => first.start + (range.start - first.offset) as u64,
            false => first.start,
        };
        let to = match last.exact {
            true => last.start + (end - last.offset) as u64,
            false => last.end,
        };
        (from, to.min(last.end).max(from))
    }

    fn line_at(&self, offset: usize) -> &LinePlace {
        let after = self.lines.partition_point(|line| line.offset <= offset);
        &self.lines[after.saturating_sub(1)]
    }
}

impl Segments {
    pub(crate) fn new(from: &Checkpoint, limits: &Limits) -> Self {
        Self {
            segment: Segment::default(),
            carried: Carried::of(from.memory.fence, from.memory.header.clone()),
            begun_in: from.memory.clone(),
            after_blank: true,
            is_first: from.source_byte == 0,
            limits: *limits,
        }
    }

    fn ends_before(&self, line: &str) -> bool {
        let length = self.segment.text.len();
        let block = self.carried.fence().is_none() && self.after_blank;
        let heading = block && line.starts_with('#');
        // An indented line, a list item or a quote may belong to what stands before it.
        let fresh =
            block && line.starts_with(|c: char| c.is_alphabetic() || matches!(c, '#' | '`'));
        (length >= END_AT_HEADING && heading)
            || (length >= END_AT_BLOCK && fresh)
            || length >= END_ANYWHERE
    }

    fn flush(&mut self, out: &mut TextBuilder) -> Result<(), Error> {
        let segment = std::mem::take(&mut self.segment);
        let head = self.carried.head();
        self.begun_in = Memory {
            fence: self.carried.fence(),
            header: (!head.is_empty()).then(|| head.to_vec()),
            ..Memory::default()
        };
        if !segment.lines.is_empty() {
            walk::segment(&segment, self.is_first, &self.limits, out)?;
            self.is_first = false;
        }
        Ok(())
    }
}

impl Blocks for Segments {
    fn line(&mut self, line: Line<'_>, out: &mut TextBuilder) -> Result<(), Error> {
        self.carried.expect(line.text);
        if self.ends_before(line.text) {
            self.flush(out)?;
        }
        if self.segment.lines.is_empty() {
            let head = self.begun_in.header.iter().flatten();
            head.for_each(|above| self.segment.repeat(above, line.start));
        }
        self.carried.track(line.text);
        self.after_blank = line.text.trim().is_empty();
        self.segment.add(line);
        Ok(())
    }

    fn end(&mut self, out: &mut TextBuilder) -> Result<(), Error> {
        self.flush(out)
    }

    fn held_from(&self) -> Option<u64> {
        self.segment.lines.first().map(|line| line.start)
    }

    fn memory(&self) -> Memory {
        self.begun_in.clone()
    }
}
