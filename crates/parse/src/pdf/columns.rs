//! Columns of text, whichever way a page prints them.
//!
//! Most programs print one column after the other, and then their order is the best there is:
//! it is only told where the printing turns from the foot of a column to the head of the next.
//! Some go across: the first line of each column, the second of each. Where the printing
//! crosses one and the same strip of white again and again, and full lines of words stand on
//! both sides of it, the strip is a gutter and the sides are read one after the other. Tables
//! have such strips too; their cells fill no lines.

use std::ops::Range;

use super::glyph::Ruling;
use super::line::Line;
use super::order::median;

/// White between two columns, in font sizes: wider than any word space.
const WHITE: f32 = 0.8;
/// How often the printing crosses a gutter at least. In the order of columns it crosses once,
/// and a few times more for what is printed late.
const CROSSINGS: usize = 4;
const LEAST_LINES: usize = 4;
/// A narrower column is one of labels or cells, in font sizes.
const NARROWEST: f32 = 9.0;
/// Where the printing itself goes down the columns, they may be narrower.
const NARROWEST_PRINTED: f32 = 7.0;
/// Columns within columns, each cut in two.
const MAX_DEPTH: u8 = 3;

/// In: lines as printed. Out: the same in runs to be read one after the other, each in the
/// order of its printing.
pub(super) fn runs(lines: Vec<Line>, rulings: &[Ruling]) -> Vec<Vec<Line>> {
    part(lines, rulings, MAX_DEPTH)
}

/// For each line, in the order of printing, whether it is the head of a column that goes on with
/// the one which the line before it ends. What ends a column says little: a note, a caption,
/// a formula, a list of short items. The text on both sides of the white between them tells.
pub(super) fn heads(lines: &[Line]) -> Vec<bool> {
    let turns = lines
        .windows(2)
        .map(|pair| turns(&pair[0], &pair[1], lines));
    std::iter::once(false).chain(turns).collect()
}

fn turns(foot: &Line, head: &Line, lines: &[Line]) -> bool {
    let rise = foot.baseline - head.baseline;
    let beside = head.left >= foot.right - foot.size * 0.5;
    if !beside || rise < foot.size * LEAST_LINES as f32 * 0.8 {
        return false;
    }
    let reach = head.baseline - head.size * 0.3..foot.baseline + foot.size * 0.3;
    let within = || lines.iter().filter(|line| reach.contains(&line.baseline));
    let Some(gutter) = white_between(foot.right, head.left, within()) else {
        return false;
    };
    if gutter.end - gutter.start < foot.size * WHITE {
        return false;
    }
    let (left, right): (Vec<&Line>, Vec<&Line>) =
        within().partition(|line| line.left < gutter.start);
    reads_as_text(&left, NARROWEST_PRINTED) && reads_as_text(&right, NARROWEST_PRINTED)
}

/// The widest strip between two places that no line reaches into. A foot may be shorter than
/// the lines above it and a head stand in, so it is looked for.
fn white_between<'l>(
    from: f32,
    to: f32,
    lines: impl Iterator<Item = &'l Line>,
) -> Option<Range<f32>> {
    let mut spans: Vec<(f32, f32)> = lines
        .map(|line| (line.left, line.right))
        .filter(|(left, right)| *left < to && *right > from)
        .collect();
    spans.push((to, to));
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut reached, mut widest) = (from, from..from);
    for (left, right) in spans {
        if left - reached > widest.end - widest.start {
            widest = reached..left;
        }
        reached = reached.max(right);
    }
    (widest.end > widest.start).then_some(widest)
}

fn part(lines: Vec<Line>, rulings: &[Ruling], depth: u8) -> Vec<Vec<Line>> {
    let Some(bands) = bands(&lines, rulings, depth) else {
        return vec![lines];
    };
    let (mut runs, mut across) = (Vec::new(), Vec::new());
    for band in bands {
        if !band.is_columns {
            across.extend(band.printed);
        } else {
            runs.extend(in_print_order(std::mem::take(&mut across)));
            runs.extend(part(band.left, rulings, depth - 1));
            runs.extend(part(band.right, rulings, depth - 1));
        }
    }
    runs.extend(in_print_order(across));
    runs
}

/// The bands of a page that has columns in one of them.
fn bands(lines: &[Line], rulings: &[Ruling], depth: u8) -> Option<Vec<Band>> {
    let gutter = gutter(lines).filter(|_| depth > 0)?;
    let mut bands = Bands::new(gutter, lines, rulings);
    for line in lines {
        bands.take(line.clone());
    }
    let mut all = bands.all;
    for band in &mut all {
        let rows = band.left.len().min(band.right.len());
        let is_text = |side: &[Line]| {
            reads_as_text(&side.iter().collect::<Vec<_>>(), NARROWEST)
                || bands_within(side, rulings, depth)
        };
        band.is_columns = band.crossings >= CROSSINGS.max(rows / 8)
            && is_text(&band.left)
            && is_text(&band.right);
    }
    all.iter().any(|band| band.is_columns).then_some(all)
}

/// Whether one side of a gutter is columns again.
fn bands_within(side: &[Line], rulings: &[Ruling], depth: u8) -> bool {
    let within = bands(side, rulings, depth - 1);
    within.is_some_and(|all| {
        let other = all.iter().filter(|band| !band.is_columns);
        other.map(|band| band.printed.len()).sum::<usize>() * 2 < side.len()
    })
}

/// A line, and how many were printed before it.
type Printed = (usize, Line);

fn in_print_order(mut lines: Vec<Printed>) -> Option<Vec<Line>> {
    lines.sort_by_key(|(at, _)| *at);
    (!lines.is_empty()).then(|| lines.into_iter().map(|(_, line)| line).collect())
}

/// The place that the printing crosses most often.
fn gutter(lines: &[Line]) -> Option<f32> {
    let mut ends: Vec<(f32, i32)> = Vec::new();
    let mut cross = |from: f32, to: f32, size: f32| {
        if to - from > size * WHITE {
            ends.extend([(from, 1), (to, -1)]);
        }
    };
    for line in lines {
        for pair in line.parts.windows(2) {
            cross(pair[0].right, pair[1].left, line.size);
        }
    }
    for pair in lines.windows(2) {
        let (a, b) = (&pair[0], &pair[1]);
        cross(a.right, b.left, a.size);
        cross(b.right, a.left, a.size);
    }
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut open, mut most, mut place) = (0, 0, None);
    for (at, end) in ends.windows(2).map(|pair| (pair, pair[0].1)) {
        open += end;
        if open > most {
            (most, place) = (open, Some((at[0].0 + at[1].0) / 2.0));
        }
    }
    place.filter(|_| most >= CROSSINGS as i32)
}

/// What stands between two things that reach over the gutter.
#[derive(Default)]
struct Band {
    printed: Vec<Printed>,
    left: Vec<Line>,
    right: Vec<Line>,
    crossings: usize,
    /// Whether the line printed last stands on the right.
    last: Option<bool>,
    is_columns: bool,
}

impl Band {
    fn push(&mut self, line: Line, right: bool) {
        self.crossings += usize::from(self.last.is_some_and(|last| last != right));
        self.last = Some(right);
        match right {
            true => self.right.push(line),
            false => self.left.push(line),
        }
    }
}

/// Whether most lines are full ones, close under each other, of words.
fn reads_as_text(lines: &[&Line], narrowest: f32) -> bool {
    let count = lines.len();
    let size = median(lines.iter().map(|line| line.size));
    let Some(size) = size.filter(|_| count >= LEAST_LINES) else {
        return false;
    };
    let widths = || lines.iter().map(|line| line.right - line.left);
    // A heading may be set wider than the text under it, hardly two.
    let mut sorted: Vec<f32> = widths().collect();
    sorted.sort_by(f32::total_cmp);
    let width = sorted[(count * 9 / 10).min(count - 2)];
    let full = widths().filter(|one| *one > width * 0.7).count();
    let torn = lines.iter().filter(|line| line.cells() > 1).count();
    let mut heights: Vec<f32> = lines.iter().map(|line| line.baseline).collect();
    heights.sort_by(f32::total_cmp);
    let step = median(heights.windows(2).map(|pair| pair[1] - pair[0]));
    width > size * narrowest
        && full * 2 >= count
        && torn * 4 <= count
        && step.is_some_and(|step| step < size * 2.2)
        && is_mostly_letters(lines)
}

fn is_mostly_letters(lines: &[&Line]) -> bool {
    let words = lines.iter().flat_map(|line| &line.parts);
    let (mut chars, mut letters) = (0, 0);
    for c in words.flat_map(|word| word.text.chars()) {
        chars += 1;
        letters += usize::from(c.is_alphabetic());
    }
    letters * 10 > chars * 6
}

/// A page from top to bottom, cut wherever something reaches over the gutter.
struct Bands {
    gutter: f32,
    /// The heights of what reaches over.
    cuts: Vec<f32>,
    /// Between them, and in their places: bands at even places, what cuts them at odd ones.
    all: Vec<Band>,
    printed: usize,
}

impl Bands {
    fn new(gutter: f32, lines: &[Line], rulings: &[Ruling]) -> Self {
        let reaches = |line: &&Line| line.is_over(gutter, WHITE);
        let lines = lines.iter().filter(reaches).map(|line| line.baseline);
        let over = |ruling: &&Ruling| ruling.level && ruling.from < gutter && ruling.to > gutter;
        let rulings = rulings.iter().filter(over).map(|ruling| ruling.at);
        let mut cuts: Vec<f32> = lines.chain(rulings).collect();
        cuts.sort_by(f32::total_cmp);
        cuts.dedup();
        let all = (0..=cuts.len() * 2).map(|_| Band::default()).collect();
        Self {
            gutter,
            cuts,
            all,
            printed: 0,
        }
    }

    fn take(&mut self, line: Line) {
        let above = self.cuts.partition_point(|cut| *cut < line.baseline);
        let over = line.is_over(self.gutter, WHITE);
        let band = &mut self.all[above * 2 + usize::from(over)];
        band.printed.push((self.printed, line.clone()));
        self.printed += 1;
        if !over {
            let (left, right) = line.parted_at(self.gutter);
            left.into_iter().for_each(|line| band.push(line, false));
            right.into_iter().for_each(|line| band.push(line, true));
        }
    }
}
