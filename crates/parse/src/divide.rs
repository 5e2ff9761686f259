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

/// Lines are wrapped prose, and only those are chosen that end a sentence, until none has for so long.
const UNENDED: usize = WHOLE;

/// Takes the rows of a table or the lines of a paragraph, one after another.
#[derive(Debug, Default)]
pub(crate) struct Divider {
    /// What is in an atom already.
    done: Done,
    /// Of what is in none.
    size: usize,
    /// What came since a row or line was chosen.
    since: usize,
    /// What came since a line ended a sentence.
    unended: usize,
}

/// How much of a table or paragraph is in atoms already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Done {
    pub some: bool,
    /// Whether no line had ended a sentence for long.
    pub unended: bool,
}

impl Divider {
    /// For the rest of what was divided.
    pub(crate) fn resumed(done: Done) -> Self {
        Self {
            done,
            unended: if done.unended { UNENDED } else { 0 },
            ..Self::default()
        }
    }

    pub(crate) fn done(&self) -> Done {
        self.done
    }

    /// Whether an atom ends behind this row.
    pub(crate) fn row(&mut self, cells: &[String]) -> bool {
        let bytes = cells.iter().map(String::len).sum::<usize>().max(ROW);
        self.push(bytes, bytes, cells.iter().map(String::as_bytes))
    }

    /// Whether an atom ends behind this line. The lines of a wrapped sentence are as one, chosen by the
    /// last of them.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        let size = line.len() + 1;
        let before = self.unended;
        let ends = ends_sentence(line);
        self.unended = if ends { 0 } else { before + size };
        let weight = match ends {
            true if before < UNENDED => before + size,
            false if self.unended < UNENDED => 0,
            _ => size,
        };
        self.push(size, weight, [line.as_bytes()])
    }

    /// What weighs nothing is not chosen.
    fn push<'a>(
        &mut self,
        size: usize,
        weight: usize,
        parts: impl IntoIterator<Item = &'a [u8]>,
    ) -> bool {
        self.size += size;
        self.since += size;
        let may_end = weight > 0 && (self.done.some || self.size >= WHOLE);
        let share = (u64::MAX / BETWEEN).saturating_mul(weight as u64);
        let chosen = may_end && hash::short(parts) <= share;
        let ends = self.size >= MOST || chosen && self.since >= APART;
        if ends {
            *self = Self::resumed(Done {
                some: true,
                unended: self.unended >= UNENDED,
            });
        } else if chosen {
            self.since = 0;
        }
        ends
    }
}

fn ends_sentence(line: &str) -> bool {
    line.trim_end()
        .trim_end_matches(['"', '\'', '”', '’', ')', ']', '»', '」', '』'])
        .ends_with(['.', '!', '?', '…', '。', '！', '？', '।', '؟'])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbered words in lines of a dozen; every so many words a full stop.
    fn wrapped(lines: usize, sentence: usize) -> Vec<String> {
        let word = |n: usize| match n % sentence {
            0 => format!("word{n}."),
            _ => format!("word{n}"),
        };
        let line = |at: usize| (at * 12..at * 12 + 12).map(word).collect::<Vec<_>>();
        (0..lines).map(|at| line(at).join(" ")).collect()
    }

    fn divisions(divider: &mut Divider, lines: &[String]) -> Vec<usize> {
        (0..lines.len())
            .filter(|at| divider.line(&lines[*at]))
            .collect()
    }

    #[test]
    fn wrapped_prose_is_divided_where_a_line_ends_a_sentence() {
        let lines = wrapped(4000, 17);
        let divisions = divisions(&mut Divider::default(), &lines);
        assert!(divisions.len() > 40, "{divisions:?}");
        for at in divisions {
            assert!(lines[at].ends_with('.'), "{}", lines[at]);
        }
    }

    #[test]
    fn what_goes_on_behind_a_division_is_divided_as_the_whole() {
        let lines = [wrapped(800, 17), wrapped(800, usize::MAX), wrapped(400, 12)].concat();
        let mut divider = Divider::default();
        let whole = divisions(&mut divider, &lines);
        let mut done = Divider::default();
        for (nth, at) in whole.iter().enumerate() {
            let from = nth.checked_sub(1).map_or(0, |before| whole[before] + 1);
            divisions(&mut done, &lines[from..=*at]);
            let rest = divisions(&mut Divider::resumed(done.done()), &lines[at + 1..]);
            let rest: Vec<_> = rest.iter().map(|inner| at + 1 + inner).collect();
            assert_eq!(rest, whole[nth + 1..]);
        }
    }
}
