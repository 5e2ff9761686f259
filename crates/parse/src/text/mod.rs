//! Plain text: paragraphs at blank lines, headings where a line is underlined.

use model::{AtomKind, Parsed};

use crate::builder::{Piece, TextBuilder};
use crate::divide::{Divider, Done};
use crate::stream::{self, Blocks, Line, Memory};
use crate::{Error, Format, Input};

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    stream::whole(Format::Text, input.bytes, input.limits)
}

/// Collects lines into paragraphs.
#[derive(Default)]
pub(crate) struct Paragraphs {
    text: String,
    source: Option<(u64, u64)>,
    divider: Divider,
}

impl Blocks for Paragraphs {
    fn line(&mut self, line: Line<'_>, out: &mut TextBuilder) -> Result<(), Error> {
        if is_blank(line.text) {
            return self.end(out);
        }
        self.text.push_str(line.text);
        if !line.cut {
            self.text.push('\n');
        }
        self.source = Some((self.source.map_or(line.start, |(start, _)| start), line.end));
        // The end of a page is the end of a paragraph.
        if line.ends_page {
            return self.end(out);
        }
        if self.divider.line(line.text) {
            self.flush(out)?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut TextBuilder) -> Result<(), Error> {
        self.divider = Divider::default();
        self.flush(out)
    }

    fn held_from(&self) -> Option<u64> {
        self.source.map(|(start, _)| start)
    }

    fn memory(&self) -> Memory {
        let done = self.divider.done();
        Memory {
            goes_on: done.some,
            unended: done.unended,
            ..Memory::default()
        }
    }
}

impl Paragraphs {
    pub(crate) fn new(memory: &Memory) -> Self {
        let done = Done {
            some: memory.goes_on,
            unended: memory.unended,
        };
        Self {
            divider: Divider::resumed(done),
            ..Self::default()
        }
    }

    fn flush(&mut self, out: &mut TextBuilder) -> Result<(), Error> {
        let Some((start, end)) = self.source.take() else {
            return Ok(());
        };
        let piece = match underlined(&self.text) {
            Some((level, title)) => Piece::new(AtomKind::Heading { level }, title),
            None => Piece::new(AtomKind::Paragraph, self.text.as_str()),
        };
        out.push(piece.from_source(start, end))?;
        self.text.clear();
        Ok(())
    }
}

/// Without anything to see; a NUL is not.
fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c == '\0')
}

/// A title with a line of `=`, `-` or `~` under it (and perhaps above), as in
/// plain-text manuals.
fn underlined(paragraph: &str) -> Option<(u8, &str)> {
    let mut lines = paragraph.lines();
    let mut title = lines.next()?;
    if let Some(over) = rule(title) {
        title = lines.next()?;
        (rule(lines.clone().next()?)? == over).then_some(())?;
    }
    let mark = rule(lines.next()?)?;
    let alone = lines.next().is_none() && rule(title).is_none();
    let level = match mark {
        '=' => 1,
        '-' => 2,
        _ => 3,
    };
    (alone && title.len() <= 120).then(|| (level, title.trim()))
}

fn rule(line: &str) -> Option<char> {
    let line = line.trim();
    let first = line.chars().next()?;
    let ruled = matches!(first, '=' | '-' | '~' | '*' | '^');
    (ruled && line.len() >= 3 && line.chars().all(|c| c == first)).then_some(first)
}
