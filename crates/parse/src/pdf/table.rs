//! Tables that are ruled: where lines cross, there are cells.
//!
//! In: a page's lines of text in reading order, and its rulings. Out: the same lines,
//! with those inside a grid taken out and put into its cells.

use model::Table;

use super::fragment::Fragment;
use super::glyph::{Rect, Ruling};
use super::line::Line;
use super::prose::{self, Vocabulary};

/// How far apart rulings may be and still meet.
const TOUCH: f32 = 2.5;
/// Words of one sentence stand no further apart, in font sizes.
const WORDS_APART: f32 = 0.5;
/// Beyond this, rulings are a drawing.
const MAX_RULINGS: usize = 3000;

/// A run of a page's content.
pub(super) enum Run {
    Lines(Vec<Line>),
    Table(Table, Vec<Line>),
}

/// Where rulings cross: the edges of rows and of columns.
#[derive(Debug)]
struct Grid {
    rows: Vec<f32>,
    columns: Vec<f32>,
    uprights: Vec<Ruling>,
}

pub(super) fn find(lines: Vec<Line>, rulings: &[Ruling], vocabulary: &Vocabulary) -> Vec<Run> {
    let mut grids = grids(rulings);
    grids.retain(|grid| grid.holds_table(&lines));
    let mut runs: Vec<Run> = Vec::new();
    let mut places: Vec<Option<usize>> = vec![None; grids.len()];
    for line in lines {
        let grid = grids.iter().position(|grid| grid.holds(&line));
        match grid {
            None => match runs.last_mut() {
                Some(Run::Lines(open)) => open.push(line),
                _ => runs.push(Run::Lines(vec![line])),
            },
            Some(grid) => {
                let at = *places[grid].get_or_insert_with(|| {
                    runs.push(Run::Table(Table::default(), Vec::new()));
                    runs.len() - 1
                });
                if let Run::Table(_, inside) = &mut runs[at] {
                    inside.push(line);
                }
            }
        }
    }
    for (grid, at) in grids.iter().zip(places) {
        if let Some(Run::Table(table, inside)) = at.map(|at| &mut runs[at]) {
            *table = grid.table(inside, vocabulary);
        }
    }
    runs
}

/// Rulings that touch, directly or through others, make one grid.
fn grids(rulings: &[Ruling]) -> Vec<Grid> {
    if rulings.len() > MAX_RULINGS {
        return Vec::new();
    }
    let mut group: Vec<usize> = (0..rulings.len()).collect();
    for a in 0..rulings.len() {
        for b in a + 1..rulings.len() {
            if group[a] != group[b] && touch(&rulings[a], &rulings[b]) {
                let (from, to) = (group[b], group[a]);
                group
                    .iter_mut()
                    .filter(|g| **g == from)
                    .for_each(|g| *g = to);
            }
        }
    }
    let mut names = group.clone();
    names.sort_unstable();
    names.dedup();
    let members = |name: usize| {
        let all = rulings.iter().zip(&group);
        all.filter(move |(_, group)| **group == name)
            .map(|(ruling, _)| ruling)
    };
    let edges = |name: usize, level: bool| {
        let edges = members(name).filter(|ruling| ruling.level == level);
        distinct(edges.map(|ruling| ruling.at).collect())
    };
    names
        .into_iter()
        .map(|name| Grid {
            rows: edges(name, true),
            columns: edges(name, false),
            uprights: members(name).filter(|r| !r.level).copied().collect(),
        })
        .filter(|grid| grid.rows.len() >= 3 && grid.columns.len() >= 3)
        .collect()
}

fn touch(a: &Ruling, b: &Ruling) -> bool {
    let within = |at: f32, r: &Ruling| at >= r.from - TOUCH && at <= r.to + TOUCH;
    if a.level == b.level {
        let apart = a.from > b.to + TOUCH || b.from > a.to + TOUCH;
        (a.at - b.at).abs() < TOUCH && !apart
    } else {
        within(a.at, b) && within(b.at, a)
    }
}

fn distinct(mut places: Vec<f32>) -> Vec<f32> {
    places.sort_by(f32::total_cmp);
    places.dedup_by(|next, before| *next - *before < TOUCH * 1.5);
    places
}

impl Grid {
    fn rect(&self) -> Rect {
        let ends = |edges: &[f32]| (edges[0], edges[edges.len() - 1]);
        let ((top, bottom), (left, right)) = (ends(&self.rows), ends(&self.columns));
        Rect {
            left,
            top,
            right,
            bottom,
        }
    }

    fn holds(&self, line: &Line) -> bool {
        let middle = line.baseline - line.size * 0.3;
        let rect = self.rect();
        line.angle == 0
            && rect.holds(line.left + TOUCH, middle)
            && rect.holds(line.right - TOUCH, middle)
    }

    /// Frames and boxes are no tables: words must stand in most of the cells.
    fn holds_table(&self, lines: &[Line]) -> bool {
        let inside: Vec<Line> = lines
            .iter()
            .filter(|line| self.holds(line))
            .cloned()
            .collect();
        let cells = self.table(&inside, &Vocabulary::default()).rows;
        let all: usize = cells.iter().map(Vec::len).sum();
        let filled = cells
            .iter()
            .flatten()
            .filter(|cell| !cell.is_empty())
            .count();
        filled >= 4 && filled * 3 >= all && cells.iter().all(|row| row.len() >= 2)
    }

    /// Puts words of a cell that is merged over columns into the first of them. Columns may be
    /// told by other rows alone: without a sentence that runs on, they stay apart.
    fn merge(&self, row: usize, cells: &mut [Vec<&Fragment>]) {
        let middle = (self.rows[row] + self.rows[row + 1]) / 2.0;
        let is_ruled = |column: usize| {
            let is_here = |r: &Ruling| (r.at - self.columns[column]).abs() < TOUCH * 1.5;
            let mut here = self.uprights.iter().filter(|r| is_here(r));
            here.any(|r| r.from <= middle && middle <= r.to)
        };
        for column in (1..cells.len()).rev() {
            if !is_ruled(column) && goes_on(&cells[column - 1], &cells[column]) {
                let moved = std::mem::take(&mut cells[column]);
                cells[column - 1].extend(moved);
            }
        }
    }

    fn table(&self, lines: &[Line], vocabulary: &Vocabulary) -> Table {
        let (rows, columns) = (self.rows.len() - 1, self.columns.len() - 1);
        let mut words: Vec<Vec<Vec<&Fragment>>> = vec![vec![Vec::new(); columns]; rows];
        for part in lines.iter().flat_map(|line| &line.parts) {
            let row = interval(&self.rows, part.baseline - part.size * 0.3);
            let column = interval(&self.columns, (part.left + part.right) / 2.0);
            if let (Some(row), Some(column)) = (row, column) {
                words[row][column].push(part);
            }
        }
        for (row, cells) in words.iter_mut().enumerate() {
            self.merge(row, cells);
        }
        let cell = |words: Vec<&Fragment>| cell(words, vocabulary);
        let rows = words
            .into_iter()
            .map(|row| row.into_iter().map(cell).collect());
        let mut rows: Vec<Vec<String>> = rows.collect();
        rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
        Table {
            header_rows: 1.min(rows.len() as u32),
            rows,
        }
    }
}

/// Whether a sentence of one cell goes on in the next, as if there were no edge between them.
fn goes_on(before: &[&Fragment], next: &[&Fragment]) -> bool {
    let follows = |a: &Fragment, b: &Fragment| {
        let gap = b.left - a.right;
        (a.baseline - b.baseline).abs() < a.size * 0.2 && gap.abs() < a.size * WORDS_APART
    };
    before.iter().any(|a| next.iter().any(|b| follows(a, b)))
}

/// The text of a cell, line by line.
fn cell(mut words: Vec<&Fragment>, vocabulary: &Vocabulary) -> String {
    let row = |word: &Fragment| (word.baseline / word.size.max(1.0) * 1.5).round();
    words.sort_by(|a, b| row(a).total_cmp(&row(b)).then(a.left.total_cmp(&b.left)));
    let mut text = String::new();
    for line in words.chunk_by(|a, b| row(a) == row(b)) {
        let line: Vec<&str> = line.iter().map(|word| word.text.as_str()).collect();
        prose::append(&mut text, &line.join(" "), vocabulary);
    }
    text
}

/// Between which two edges a place lies.
fn interval(edges: &[f32], at: f32) -> Option<usize> {
    let after = edges.partition_point(|edge| *edge <= at);
    (after > 0 && after < edges.len()).then(|| after - 1)
}
