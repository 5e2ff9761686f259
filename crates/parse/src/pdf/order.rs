//! The order in which a page's lines are read.
//!
//! Most programs print in the order of reading, columns included, and that order is
//! better than any guess from geometry. Some print parts late: links, floats, what lies
//! in front. So lines are settled one by one: a line stays behind the one printed before
//! it unless it jumps back up within that one's column; then it goes where it stands on
//! the page, below what is above it. Columns printed row by row are taken apart before that.

use super::columns;
use super::glyph::Ruling;
use super::line::Line;

/// More lines than this are a drawing; settling them one by one would take for ever.
const MAX_SETTLED: usize = 4000;

/// In: lines as printed. Out: lines as read; what runs in another direction comes last.
pub(super) fn reading_order(lines: Vec<Line>, rulings: &[Ruling]) -> Vec<Line> {
    let Some(main) = main_angle(&lines) else {
        return lines;
    };
    let (mut along, mut turned): (Vec<Line>, Vec<Line>) =
        lines.into_iter().partition(|line| line.angle == main);
    if along.len() <= MAX_SETTLED {
        let runs = columns::runs(along, rulings).into_iter();
        along = runs.flat_map(settle).collect();
    }
    turned.sort_by_key(|line| line.angle);
    along.extend(turned);
    along
}

/// The direction most letters run in.
fn main_angle(lines: &[Line]) -> Option<i16> {
    let letters = |angle: i16| -> u32 {
        let same = lines.iter().filter(|line| line.angle == angle);
        same.map(|line| line.look.letters).sum()
    };
    let mut angles: Vec<i16> = lines.iter().map(|line| line.angle).collect();
    angles.sort_unstable();
    angles.dedup();
    angles.into_iter().max_by_key(|angle| letters(*angle))
}

fn settle(lines: Vec<Line>) -> Vec<Line> {
    let mut settled: Vec<Line> = Vec::with_capacity(lines.len());
    // Where the line printed last has been put.
    let mut last = 0;
    let heads = columns::heads(&lines);
    for (line, is_head) in lines.into_iter().zip(heads) {
        let follows = |before: &[Line]| is_head || follows(&line, before);
        let at = match settled.get(last) {
            Some(_) if follows(&settled[..=last]) && !passes(&line, &settled, last) => last + 1,
            _ => place_of(&line, &settled),
        };
        settled.insert(at, line);
        last = at;
    }
    settled
}

/// Below the line before it, or at the head of a column to its right.
fn follows(line: &Line, settled: &[Line]) -> bool {
    let Some(before) = settled.last() else {
        return false;
    };
    let below = line.baseline > before.baseline + before.size * 0.3;
    let beside = line.left >= before.right - before.size * 0.5;
    below || (beside && ends_a_column(settled))
}

/// Whether the last of these lines closes a column of running text: not one of labels or
/// cells, which are read by rows. Lines centred under each other are no cells either, but an
/// author with an address.
fn ends_a_column(settled: &[Line]) -> bool {
    let Some(last) = settled.last() else {
        return false;
    };
    let above = settled
        .iter()
        .rev()
        .filter(|line| line.overlaps_across(last));
    let column: Vec<&Line> = above.take(4).collect();
    let close = |pair: &&[&Line]| pair[0].baseline - pair[1].baseline < pair[1].size * 2.6;
    let dense = 1 + column.windows(2).take_while(close).count();
    let widths = column.iter().map(|line| line.right - line.left);
    let wide = widths.fold(0.0, f32::max) > last.size * 12.0;
    let whole = dense == column.len() && dense >= 3;
    (whole && wide) || (dense >= 3 && is_centred(&column[..dense]))
}

/// Whether lines of different lengths share their middle.
fn is_centred(lines: &[&Line]) -> bool {
    let last = lines[0];
    let middle = |line: &Line| (line.left + line.right) / 2.0;
    let shared = |line: &&Line| (middle(line) - middle(last)).abs() < last.size * 0.3;
    let longer = |line: &&Line| (line.left - last.left).abs() > last.size * 0.5;
    lines.iter().all(shared) && lines.iter().any(longer)
}

/// Whether something printed earlier stands between the line before and this one, or is the
/// label this one stands beside.
fn passes(line: &Line, settled: &[Line], last: usize) -> bool {
    let after = &settled[last + 1..];
    let next = after.iter().find(|next| next.overlaps_across(line));
    next.is_some_and(|next| next.baseline < line.baseline - line.size * 0.3)
        || (!continues(line, &settled[last]) && (0..after.len()).any(|at| leads(after, at, line)))
}

/// Whether a line goes on with running text: what stands beside it is no label of its own.
fn continues(line: &Line, before: &Line) -> bool {
    let flush = (line.left - before.left).abs() < line.size * 0.5;
    let tight = line.baseline - before.baseline < line.size * 1.6;
    let long = before.right - before.left > line.size * 24.0;
    flush && tight && long && before.right > line.right - line.size * 6.0
}

/// Whether a line stands to the left in the same row and is no part of a column of its own:
/// some programs print such labels before all texts of the page.
fn leads(settled: &[Line], at: usize, line: &Line) -> bool {
    let label = &settled[at];
    let beside = label.left < line.left && line.left - label.right < line.size * 8.0;
    if !beside || !is_row(label, line) {
        return false;
    }
    let wide = |line: &Line| line.right - line.left > line.size * 12.0;
    let column = |other: &Line| {
        let step = (other.baseline - label.baseline).abs();
        step < label.size * 1.6 && other.overlaps_across(label) && (wide(label) || wide(other))
    };
    let around = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
    !around.filter_map(|at| settled.get(at)).any(column)
}

fn is_row(a: &Line, b: &Line) -> bool {
    (a.baseline - b.baseline).abs() < b.size * 0.4
}

/// Behind the last line that stands above it in its column, or to its left in its row.
fn place_of(line: &Line, settled: &[Line]) -> usize {
    let row = |other: &Line| is_row(other, line);
    let above = |other: &Line| other.baseline < line.baseline && other.overlaps_across(line);
    let before = |other: &&Line| {
        if row(other) {
            other.left < line.left && line.left - other.right < line.size * 8.0
        } else {
            above(other)
        }
    };
    // The lowest of those above, not the last of them: columns end at the same height.
    let lowest = settled
        .iter()
        .enumerate()
        .filter(|(_, other)| before(other))
        .max_by(|(_, a), (_, b)| a.baseline.total_cmp(&b.baseline));
    match lowest {
        Some((at, above)) => {
            // What stands in the rows between belongs to the line above: a label's text.
            let between = |other: &&Line| {
                other.baseline >= above.baseline - above.size * 0.4
                    && other.baseline < line.baseline - line.size * 0.4
            };
            at + 1 + settled[at + 1..].iter().take_while(between).count()
        }
        // Nothing above: before whatever stands below it.
        None => settled
            .iter()
            .position(|other| other.baseline > line.baseline && other.overlaps_across(line))
            .unwrap_or(settled.len()),
    }
}

pub(super) fn median(values: impl Iterator<Item = f32>) -> Option<f32> {
    let mut all: Vec<f32> = values.collect();
    all.sort_by(f32::total_cmp);
    all.get(all.len() / 2).copied()
}
