//! Tables without a grid whose cells run over several lines.
//!
//! In: rows of lines in reading order. Out: which of them make such a table, and its cells. It
//! begins with a row that has something in every column, its head; what follows belongs to it
//! as long as it keeps to those columns. A line goes on with the cell above it where it stands
//! as close to it as lines do, a new row stands further off or has something in every column.
//! In doubt it is no table: its words are read in any case.

use std::ops::Range;

use model::Table;

use super::aligned::{GUTTER, Row, leads_to_a_page};
use super::order::median;

const LEAST_COLUMNS: usize = 3;
const LEAST_ROWS: usize = 3;
/// More on one page are a drawing.
const MOST_ROWS: usize = 400;
/// One column at least names or counts something; text in columns has none like it.
const SHORT_CELL: usize = 22;
/// How much further than usual a line stands off at least when a new row begins.
const FURTHER: f32 = 1.15;

/// The tables, by the rows they are made of.
pub(super) fn find(rows: &[Row]) -> Vec<(Range<usize>, Table)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < rows.len() {
        let Some(area) = Area::from(&rows[at..]) else {
            at += 1;
            continue;
        };
        match area.table() {
            Some((count, table)) => {
                found.push((at..at + count, table));
                at += count;
            }
            None => at += area.rows.len(),
        }
    }
    found
}

/// Rows that keep to the columns of the first.
struct Area<'r> {
    rows: &'r [Row],
    columns: Vec<(f32, f32)>,
    cells: Vec<Placed>,
}

struct Placed {
    baseline: f32,
    column: usize,
    text: String,
}

/// What stands at one height, by columns; nothing where a column has nothing there.
struct Level {
    baseline: f32,
    cells: Vec<String>,
}

impl Level {
    fn filled(&self) -> usize {
        self.cells.iter().filter(|cell| !cell.is_empty()).count()
    }

    fn is_full(&self) -> bool {
        self.filled() == self.cells.len()
    }

    fn append(&mut self, below: Self) {
        for (cell, more) in self.cells.iter_mut().zip(below.cells) {
            join(cell, &more);
        }
    }
}

impl<'r> Area<'r> {
    fn from(rows: &'r [Row]) -> Option<Self> {
        let head = rows.first().filter(|row| row.may_be_cells())?;
        let columns: Vec<(f32, f32)> = head.cells().iter().map(|c| (c.left, c.right)).collect();
        if columns.len() < LEAST_COLUMNS {
            return None;
        }
        let mut area = Self {
            rows: &rows[..0],
            columns,
            cells: Vec::new(),
        };
        let (top, mut bottom) = (head.baseline() - head.size() * 0.4, head.baseline());
        for (at, row) in rows.iter().enumerate().take(MOST_ROWS) {
            let within = row.baseline() > top && row.baseline() < bottom + row.size() * 2.6;
            let alike = (row.size() - head.size()).abs() < head.size() * 0.2;
            if !(within && alike && row.is_printed_level() && area.take(row)) {
                break;
            }
            bottom = bottom.max(row.baseline());
            area.rows = &rows[..=at];
        }
        (!area.rows.is_empty()).then_some(area)
    }

    /// Takes a row in, unless something in it reaches from one column into another.
    fn take(&mut self, row: &Row) -> bool {
        let mut columns = self.columns.clone();
        let mut placed = Vec::new();
        for cell in row.cells() {
            let apart = |(left, right): &(f32, f32)| (left - cell.right).max(cell.left - right);
            let near = columns.iter().map(apart).enumerate();
            let Some((at, _)) = near.min_by(|(_, a), (_, b)| a.total_cmp(b)) else {
                return false;
            };
            let column = &mut columns[at];
            *column = (column.0.min(cell.left), column.1.max(cell.right));
            placed.push(Placed {
                baseline: row.baseline(),
                column: at,
                text: cell.text,
            });
        }
        let gutter = row.size() * GUTTER;
        let parted = columns.windows(2).all(|two| two[1].0 - two[0].1 >= gutter);
        if parted {
            self.columns = columns;
            self.cells.extend(placed);
        }
        parted
    }

    fn levels(&self) -> Vec<Level> {
        let mut cells: Vec<&Placed> = self.cells.iter().collect();
        cells.sort_by(|a, b| a.baseline.total_cmp(&b.baseline));
        let reach = self.rows[0].size() * 0.35;
        let mut levels: Vec<Level> = Vec::new();
        for cell in cells {
            match levels.last_mut() {
                Some(level) if cell.baseline - level.baseline < reach => {
                    join(&mut level.cells[cell.column], &cell.text);
                }
                _ => {
                    let mut cells = vec![String::new(); self.columns.len()];
                    cells[cell.column].push_str(&cell.text);
                    levels.push(Level {
                        baseline: cell.baseline,
                        cells,
                    });
                }
            }
        }
        levels
    }

    /// The table these rows make, and how many of them it takes.
    fn table(&self) -> Option<(usize, Table)> {
        let levels = self.levels();
        let spacing = Spacing::of(&levels)?;
        let mut rows: Vec<Level> = Vec::new();
        let (mut above, mut wrapped) = (f32::MIN, 0);
        for level in levels {
            let (step, baseline) = (level.baseline - above, level.baseline);
            match rows.last_mut() {
                Some(row) if spacing.goes_on(&level, step) => {
                    row.append(level);
                    wrapped += 1;
                }
                // A line of its own after the last row is text again.
                Some(_) if level.filled() == 1 => break,
                _ => rows.push(level),
            }
            above = baseline;
        }
        let reach = |row: &&Row| row.baseline() < above + row.size() * 0.35;
        let count = self.rows.iter().take_while(reach).count();
        let whole = !self.rows[count..].iter().any(|row| reach(&row));
        (whole && wrapped >= 2 && reads_as_table(&rows)).then(|| {
            let rows = rows.into_iter().map(|row| row.cells).collect();
            let table = Table {
                header_rows: 1,
                rows,
            };
            (count, table)
        })
    }
}

/// How far apart lines stand within a cell, and whether rows stand further.
struct Spacing {
    within: f32,
    rows_stand_off: bool,
}

impl Spacing {
    /// Told by the levels that have nothing in some column, against those that are full.
    fn of(levels: &[Level]) -> Option<Self> {
        let steps = |full: bool| {
            let pairs = levels.windows(2);
            let pairs = pairs.filter(move |pair| pair[1].is_full() == full);
            pairs.map(|pair| pair[1].baseline - pair[0].baseline)
        };
        let (within, between) = (median(steps(false))?, median(steps(true))?);
        Some(Self {
            within,
            rows_stand_off: between > within * FURTHER,
        })
    }

    /// Whether a level so far below another goes on with its cells.
    fn goes_on(&self, level: &Level, step: f32) -> bool {
        let is_tight = step < self.within * FURTHER;
        let named = !level.cells[0].is_empty() && level.filled() > 1;
        // What the first column names may go on in rows of their own: nearly all is filled.
        let nearly_full = level.filled() * 4 >= level.cells.len() * 3;
        is_tight && (self.rows_stand_off || !(named || nearly_full))
    }
}

/// Most cells filled, in every column but the first, which may name several rows, one column of
/// short ones, and no dots that lead to a page number. A gap in a justified line makes a column that hardly any other line has.
fn reads_as_table(rows: &[Level]) -> bool {
    let columns = rows.first().map_or(0, |row| row.cells.len());
    let filled: usize = rows.iter().map(Level::filled).sum();
    let all = || rows.iter().flat_map(|row| &row.cells);
    let is_short = |column: &usize| {
        let cells = rows.iter().map(|row| row.cells[*column].chars().count());
        cells.sum::<usize>() <= rows.len() * SHORT_CELL
    };
    let is_kept_to = |column: usize| {
        let below = rows.iter().skip(1);
        let kept = below.filter(|row| !row.cells[column].is_empty()).count();
        kept >= 2 && kept * 2 >= rows.len() - 1
    };
    rows.len() >= LEAST_ROWS
        && (1..columns).all(is_kept_to)
        && filled * 10 >= rows.len() * columns * 7
        && (0..columns).any(|column| is_short(&column))
        && !all().any(|cell| leads_to_a_page(cell))
}

fn join(cell: &mut String, more: &str) {
    if !cell.is_empty() && !more.is_empty() {
        cell.push(' ');
    }
    cell.push_str(more);
}
