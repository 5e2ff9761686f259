//! Tables without a grid: columns that only their alignment shows.
//!
//! In: lines of text in reading order, and the level rulings of the page. Out: the same lines
//! in runs, with those that make a table taken together. Between two rulings of one width,
//! as books set them, two columns are enough; without any it takes three, since labels with
//! their text, and text in columns, stand aligned as well. Where cells run over several lines,
//! `wrapped` takes them together first.

use model::Table;

use super::fragment::Fragment;
use super::glyph::Ruling;
use super::line::Line;
use super::table::Run;
use super::wrapped;

/// White between two cells, in font sizes.
const GAP: f32 = 1.0;
/// White that runs down between two columns.
pub(super) const GUTTER: f32 = 0.6;
const LEAST_ROWS: usize = 3;
/// Longer on average, they are lines of text.
const CELL_LETTERS: usize = 22;

/// Lines that stand at one height, as cells.
pub(super) struct Row {
    lines: Vec<Line>,
}

impl Row {
    pub(super) fn baseline(&self) -> f32 {
        self.lines[0].baseline
    }

    pub(super) fn size(&self) -> f32 {
        self.lines[0].size
    }

    fn takes(&self, line: &Line) -> bool {
        (line.baseline - self.baseline()).abs() < self.size() * 0.35
    }

    /// Listings are aligned on purpose, and turned text stands in no row.
    pub(super) fn may_be_cells(&self) -> bool {
        self.is_printed_level() && !self.lines.iter().any(|line| line.look.is_mono())
    }

    /// Whether it is part of the text, and runs as the page does.
    pub(super) fn is_printed_level(&self) -> bool {
        let mut lines = self.lines.iter();
        lines.all(|line| !line.artifact && line.angle == 0)
    }

    /// From left to right, words that stand close together.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let mut parts: Vec<&Fragment> = self.lines.iter().flat_map(|line| &line.parts).collect();
        parts.sort_by(|a, b| a.left.total_cmp(&b.left));
        let mut cells: Vec<Cell> = Vec::new();
        for part in parts {
            match cells.last_mut() {
                Some(cell) if part.left - cell.right < part.size * GAP => cell.push(part),
                _ => cells.push(Cell::of(part)),
            }
        }
        cells
    }
}

pub(super) struct Cell {
    pub(super) left: f32,
    pub(super) right: f32,
    pub(super) text: String,
}

impl Cell {
    fn of(part: &Fragment) -> Self {
        Self {
            left: part.left,
            right: part.right,
            text: part.text.clone(),
        }
    }

    fn push(&mut self, part: &Fragment) {
        if part.left - self.right > part.size * 0.08 {
            self.text.push(' ');
        }
        self.text.push_str(&part.text);
        self.right = self.right.max(part.right);
    }
}

pub(super) fn find(lines: Vec<Line>, rulings: &[Ruling]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut open: Vec<Row> = Vec::new();
    let rows = rows(lines);
    let mut tables = wrapped::find(&rows).into_iter().peekable();
    let mut rows = rows.into_iter().enumerate();
    while let Some((at, row)) = rows.next() {
        if let Some((taken, table)) = tables.next_if(|(taken, _)| taken.start == at) {
            close(&mut open, rulings, &mut runs);
            let more = rows.by_ref().take(taken.len() - 1).map(|(_, row)| row);
            let lines = std::iter::once(row).chain(more).flat_map(|row| row.lines);
            runs.push(Run::Table(table, lines.collect()));
            continue;
        }
        let fits = open.last().is_none_or(|last| follows(last, &row));
        let tabular = row.cells().len() >= 2 && row.may_be_cells();
        if !(fits && tabular) {
            close(&mut open, rulings, &mut runs);
        }
        if tabular {
            open.push(row);
        } else {
            append(&mut runs, row.lines);
        }
    }
    close(&mut open, rulings, &mut runs);
    runs
}

fn rows(lines: Vec<Line>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in lines {
        match rows.last_mut() {
            Some(row) if row.takes(&line) => row.lines.push(line),
            _ => rows.push(Row { lines: vec![line] }),
        }
    }
    rows
}

fn follows(last: &Row, next: &Row) -> bool {
    let step = next.baseline() - last.baseline();
    let alike = (next.size() - last.size()).abs() < last.size() * 0.1;
    alike && step > 0.0 && step < last.size() * 2.6
}

fn close(open: &mut Vec<Row>, rulings: &[Ruling], runs: &mut Vec<Run>) {
    let rows = std::mem::take(open);
    let table = table(&rows, rulings);
    let lines = rows.into_iter().flat_map(|row| row.lines);
    match table {
        Some(table) => runs.push(Run::Table(table, lines.collect())),
        None => append(runs, lines.collect()),
    }
}

fn append(runs: &mut Vec<Run>, lines: Vec<Line>) {
    match runs.last_mut() {
        Some(Run::Lines(open)) => open.extend(lines),
        _ if lines.is_empty() => {}
        _ => runs.push(Run::Lines(lines)),
    }
}

fn table(rows: &[Row], rulings: &[Ruling]) -> Option<Table> {
    if rows.len() < LEAST_ROWS {
        return None;
    }
    let cells: Vec<Vec<Cell>> = rows.iter().map(Row::cells).collect();
    let columns = columns(&cells, rows[0].size() * GUTTER);
    let least = if is_ruled(rows, rulings) { 2 } else { 3 };
    if columns.len() < least || !reads_as_table(&cells, columns.len()) {
        return None;
    }
    let filled = cells.into_iter().map(|row| fill(row, &columns));
    Some(Table {
        header_rows: 1,
        rows: filled.collect(),
    })
}

/// Where something stands in any row; the white between is common to all.
fn columns(rows: &[Vec<Cell>], gutter: f32) -> Vec<(f32, f32)> {
    let mut spans: Vec<(f32, f32)> = rows
        .iter()
        .flatten()
        .map(|cell| (cell.left, cell.right))
        .collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut columns: Vec<(f32, f32)> = Vec::new();
    for (left, right) in spans {
        match columns.last_mut() {
            Some(column) if left - column.1 < gutter => column.1 = column.1.max(right),
            _ => columns.push((left, right)),
        }
    }
    columns
}

/// Short cells in most places, and no dots that lead to a page number.
fn reads_as_table(rows: &[Vec<Cell>], columns: usize) -> bool {
    let all = || rows.iter().flatten();
    let count = all().count();
    let letters: usize = all().map(|cell| cell.text.chars().count()).sum();
    let full = rows.iter().filter(|row| row.len() == columns).count();
    letters <= count * CELL_LETTERS
        && count * 10 >= rows.len() * columns * 7
        && full * 2 >= rows.len()
        && !all().any(|cell| leads_to_a_page(&cell.text))
}

pub(super) fn leads_to_a_page(text: &str) -> bool {
    text.contains(". . .") || text.contains("....")
}

/// Whether rulings of one width stand over and under these rows.
fn is_ruled(rows: &[Row], rulings: &[Ruling]) -> bool {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return false;
    };
    let em = first.size();
    let level = || rulings.iter().filter(|ruling| ruling.level);
    let near = |ruling: &Ruling, from: f32, to: f32| (from..=to).contains(&ruling.at);
    let mut over = level().filter(|r| near(r, first.baseline() - em * 3.0, first.baseline()));
    over.any(|above| {
        let alike = |r: &Ruling| (r.from - above.from).abs() < 3.0 && (r.to - above.to).abs() < 3.0;
        level().any(|r| near(r, last.baseline(), last.baseline() + em * 2.5) && alike(r))
    })
}

fn fill(row: Vec<Cell>, columns: &[(f32, f32)]) -> Vec<String> {
    let mut filled = vec![String::new(); columns.len()];
    for cell in row {
        let middle = (cell.left + cell.right) / 2.0;
        let at = columns.partition_point(|(_, right)| *right < middle);
        let text = &mut filled[at.min(columns.len() - 1)];
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&cell.text);
    }
    filled
}
