//! Plain text as mails have it: paragraphs at blank lines; lines after `>` are quoted.

use std::ops::Range;

use model::AtomKind;

use crate::Error;
use crate::builder::{Piece, TextBuilder};
use crate::html::Source;

pub(super) fn write(text: &str, source: &Source<'_>, out: &mut TextBuilder) -> Result<(), Error> {
    let mut paragraph = Paragraph::default();
    let mut at = 0;
    for raw in text.split_inclusive('\n') {
        let line = raw.trim_end();
        let (quoted, words) = unquoted(line);
        if words.is_empty() || quoted != paragraph.quoted {
            paragraph.flush(source, out)?;
        }
        if !words.is_empty() {
            paragraph.quoted = quoted;
            paragraph.add(words, at..at + line.len());
        }
        at += raw.len();
    }
    paragraph.flush(source, out)
}

/// A line without its marks of quotation, and whether it had any.
fn unquoted(line: &str) -> (bool, &str) {
    match line.starts_with('>') {
        true => (true, line.trim_start_matches(['>', ' '])),
        false => (false, line),
    }
}

#[derive(Default)]
struct Paragraph {
    text: String,
    quoted: bool,
    range: Range<usize>,
}

impl Paragraph {
    fn add(&mut self, words: &str, range: Range<usize>) {
        if self.text.is_empty() {
            self.range.start = range.start;
        } else {
            self.text.push('\n');
        }
        self.text.push_str(words);
        self.range.end = range.end;
    }

    fn flush(&mut self, source: &Source<'_>, out: &mut TextBuilder) -> Result<(), Error> {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return Ok(());
        }
        let kind = match self.quoted {
            true => AtomKind::Quote,
            false => AtomKind::Paragraph,
        };
        let place = source(self.range.start, self.range.end);
        out.push(Piece::new(kind, text).with_source(Some(place)))
    }
}
