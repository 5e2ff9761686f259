//! JSON lines: each record a paragraph of `name: value` lines. A record that
//! cannot be read is skipped and counted in a warning.

use model::{AtomKind, Parsed};

use crate::builder::{Piece, TextBuilder};
use crate::json::{self, Value};
use crate::stream::{self, Blocks, Line};
use crate::{Error, Format, Input, Limits};

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    stream::whole(Format::JsonLines, input.bytes, input.limits)
}

pub(crate) struct Records {
    number: u64,
    skipped: u64,
    first_skipped: Option<u64>,
    /// Inside a record too long to be read whole.
    overlong: bool,
}

impl Records {
    pub(crate) fn new(_limits: &Limits) -> Self {
        Self {
            number: 0,
            skipped: 0,
            first_skipped: None,
            overlong: false,
        }
    }

    fn skip(&mut self) {
        self.skipped += 1;
        self.first_skipped.get_or_insert(self.number);
    }
}

impl Blocks for Records {
    fn line(&mut self, line: Line<'_>, out: &mut TextBuilder) -> Result<(), Error> {
        let goes_on = std::mem::replace(&mut self.overlong, line.cut);
        if goes_on {
            return Ok(());
        }
        self.number += 1;
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
        if let Some(first) = self.first_skipped {
            let skipped = self.skipped;
            out.warn(format!(
                "records that are not JSON were skipped: {skipped}, the first on line {first}"
            ));
        }
        Ok(())
    }

    fn held_from(&self) -> Option<u64> {
        None
    }
}
