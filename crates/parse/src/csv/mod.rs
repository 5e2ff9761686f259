//! CSV: tables of a few rows each, every one under the file's header.

mod record;

use model::{Parsed, Table};

use crate::builder::{Piece, TextBuilder};
use crate::divide::{Divider, Done};
use crate::stream::{self, Blocks, Line, Memory};
use crate::{Error, Format, Input};
use record::Reader;

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    stream::whole(Format::Csv, input.bytes, input.limits)
}

/// Collects records into tables.
pub(crate) struct Records {
    reader: Option<Reader>,
    header: Option<Vec<String>>,
    /// Whether a table under the header has been handed on.
    header_used: bool,
    rows: Vec<Vec<String>>,
    divider: Divider,
    source: Option<(u64, u64)>,
}

impl Records {
    pub(crate) fn new(memory: &Memory) -> Self {
        let done = Done {
            some: memory.header.is_some(),
            ..Done::default()
        };
        Self {
            reader: memory.separator.map(Reader::new),
            header: memory.header.clone(),
            header_used: memory.header.is_some(),
            rows: Vec::new(),
            divider: Divider::resumed(done),
            source: None,
        }
    }

    fn record(&mut self, record: Vec<String>, out: &mut TextBuilder) -> Result<(), Error> {
        if record.iter().all(|cell| cell.trim().is_empty()) {
            return Ok(());
        }
        if self.header.is_none() {
            self.header = Some(record);
            return Ok(());
        }
        let ends = self.divider.row(&record);
        self.rows.push(record);
        if ends {
            self.flush(out)?;
        }
        Ok(())
    }

    fn flush(&mut self, out: &mut TextBuilder) -> Result<(), Error> {
        let Some((start, end)) = self.source.take() else {
            return Ok(());
        };
        let mut rows = vec![self.header_above()];
        rows.append(&mut self.rows);
        self.header_used = true;
        let table = Table {
            header_rows: 1,
            rows,
        };
        out.push(Piece::table(table).from_source(start, end))
    }
}

/// A header no longer than this is repeated above every table.
const REPEATED_WHOLE: usize = 4 << 10;

impl Records {
    /// The header, cut short where it has stood above a table already and would make far more of
    /// this one than its rows.
    fn header_above(&self) -> Vec<String> {
        let header = self.header.clone().unwrap_or_default();
        let size = |cells: &[String]| cells.iter().map(String::len).sum::<usize>();
        let most = self.rows.iter().map(|row| size(row)).sum::<usize>();
        let most = most.max(REPEATED_WHOLE);
        if !self.header_used || size(&header) <= most {
            return header;
        }
        let share = most / header.len();
        let cut = |cell: String| cell[..cell.floor_char_boundary(share)].to_owned();
        header.into_iter().map(cut).collect()
    }
}

impl Blocks for Records {
    fn line(&mut self, line: Line<'_>, out: &mut TextBuilder) -> Result<(), Error> {
        if self.reader.is_none() {
            if line.text.trim().is_empty() {
                return Ok(());
            }
            if let Some(named) = record::named_separator(line.text) {
                self.reader = Some(Reader::new(named));
                return Ok(());
            }
        }
        let separator = || record::separator(line.text);
        let reader = self.reader.get_or_insert_with(|| Reader::new(separator()));
        let start = self.source.map_or(line.start, |(start, _)| start);
        self.source = Some((start, line.end));
        match reader.line(line.text, line.cut) {
            Some(record) => self.record(record, out),
            None => Ok(()),
        }
    }

    fn end(&mut self, out: &mut TextBuilder) -> Result<(), Error> {
        if let Some(record) = self.reader.as_mut().and_then(Reader::end) {
            self.record(record, out)?;
        }
        self.flush(out)
    }

    fn held_from(&self) -> Option<u64> {
        self.source.map(|(start, _)| start)
    }

    /// Until a table has been handed on, a resumed stream reads the header again.
    fn memory(&self) -> Memory {
        Memory {
            header: self.header.clone().filter(|_| self.header_used),
            separator: self.reader.as_ref().map(Reader::separator),
            ..Memory::default()
        }
    }
}
