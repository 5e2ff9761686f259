//! JSON lines: each record a paragraph of `name: value` lines. A record that
//! cannot be read is skipped and counted in a warning.

use model::{AtomKind, Parsed};

use crate::builder::{Piece, TextBuilder};
use crate::json::{self, Value};
use crate::stream::{self, Blocks, Line, Memory, Tally};
use crate::{Error, Format, Input};

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    stream::whole(Format::JsonLines, input.bytes, input.limits)
}

pub(crate) struct Records(Tally);

impl Records {
    pub(crate) fn new(memory: &Memory) -> Self {
        Self(memory.records)
    }

    fn skip(&mut self) {
        self.0.skipped += 1;
        self.0.first_skipped.get_or_insert(self.0.read);
    }
}

impl Blocks for Records {
    fn line(&mut self, line: Line<'_>, out: &mut TextBuilder) -> Result<(), Error> {
        let goes_on = std::mem::replace(&mut self.0.overlong, line.cut);
        if goes_on {
            return Ok(());
        }
        self.0.read += 1;
        if line.cut {
            self.skip();
            return Ok(());
        }
        if line.text.trim().is_empty() {
            return Ok(());
        }
        match Value::read(line.text) {
            Ok(value) => out.push(
                Piece::new(AtomKind::Paragraph, json::record(&value))
                    .from_source(line.start, line.end),
            ),
            Err(_) => {
                self.skip();
                Ok(())
            }
        }
    }

    fn end(&mut self, out: &mut TextBuilder) -> Result<(), Error> {
        if let Some(first) = self.0.first_skipped {
            let skipped = self.0.skipped;
            out.warn(format!(
                "records that are not JSON were skipped: {skipped}, the first on line {first}"
            ));
        }
        Ok(())
    }

    fn held_from(&self) -> Option<u64> {
        None
    }

    fn memory(&self) -> Memory {
        Memory {
            records: self.0,
            ..Memory::default()
        }
    }
}
