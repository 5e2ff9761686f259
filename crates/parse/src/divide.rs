//! Where a table or a paragraph without end is divided into atoms.
//!
//! By what the rows or lines say, not by how many there are before them: then one
//! more or less moves no division but those beside it, and whoever cuts at atoms
//! finds the same cuts as before (see `docs/adr/0125-endless-tables-and-paragraphs-are-divided-by-content.md`).

use model::hash;

/// What is no longer is not divided.
const WHOLE: usize = 8 << 10;
/// One row or line is chosen in so many bytes, …
const BETWEEN: u64 = 4 << 10;
/// … and divides if none was chosen so shortly before it. What counts is the last one chosen, not the
/// last division, so that nothing depends on where divisions were before.
const APART: usize = BETWEEN as usize / 4;
/// Where nothing is chosen an atom ends here.
const MOST: usize = 32 << 10;
/// A row counts for no less, so that short ones make no tables of hundreds.
const ROW: usize = 160;

/// Takes the rows of a table or the lines of a paragraph, one after another.
#[derive(Debug, Default)]
pub(crate) struct Divider {
    /// Whether some of it is in an atom already.
    goes_on: bool,
    /// Of what is in none.
    size: usize,
    /// What came since a row or line was chosen.
    since: usize,
}

impl Divider {
    /// For the rest of what was divided.
    pub(crate) fn resumed(goes_on: bool) -> Self {
        Self {
            goes_on,
            ..Self::default()
        }
    }

    pub(crate) fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Whether an atom ends behind this row.
    pub(crate) fn row(&mut self, cells: &[String]) -> bool {
        let bytes = cells.iter().map(String::len).sum::<usize>();
        self.push(bytes.max(ROW), cells.iter().map(String::as_bytes))
    }

    /// Whether an atom ends behind this line.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        self.push(line.len() + 1, [line.as_bytes()])
    }

    fn push<'a>(&mut self, size: usize, parts: impl IntoIterator<Item = &'a [u8]>) -> bool {
        self.size += size;
        self.since += size;
        let may_end = self.goes_on || self.size >= WHOLE;
        let share = (u64::MAX / BETWEEN).saturating_mul(size as u64);
        let chosen = may_end && hash::short(parts) <= share;
        let ends = self.size >= MOST || chosen && self.since >= APART;
        if ends {
            *self = Self::resumed(true);
        } else if chosen {
            self.since = 0;
        }
        ends
    }
}
