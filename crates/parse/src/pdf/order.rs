//! The order in which a page's lines are read.
//!
//! Most programs print in the order of reading, columns included, and then that
//! order is better than any guess from geometry. Where it visibly is not (lines jump
//! up again and again), the page is cut along its white space instead.

use super::line::Line;

/// In: lines as printed. Out: lines as read; what runs in another direction comes last.
pub(super) fn reading_order(lines: Vec<Line>) -> Vec<Line> {
    let Some(main) = main_angle(&lines) else {
        return lines;
    };
    let (mut along, mut turned): (Vec<Line>, Vec<Line>) =
        lines.into_iter().partition(|line| line.angle == main);
    if !printed_in_order(&along) {
        along = cut(along, 0);
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

/// Whether few lines jump back up within their own column.
fn printed_in_order(lines: &[Line]) -> bool {
    let text: Vec<&Line> = lines.iter().filter(|line| !line.artifact).collect();
    let jumps = text
        .windows(2)
        .filter(|pair| {
            let (a, b) = (pair[0], pair[1]);
            let up = b.baseline < a.baseline - a.size * 0.5;
            let new_column = b.left >= a.right - a.size;
            up && !new_column
        })
        .count();
    // Heads and feet are often printed first or last: a few jumps are everyday.
    jumps <= 3 + text.len() / 12
}

/// Cuts a region along its widest white space, columns before rows, and reads the parts in order.
fn cut(lines: Vec<Line>, depth: usize) -> Vec<Line> {
    if lines.len() < 2 || depth > 40 {
        return by_rows(lines);
    }
    if let Some(at) = gutter(&lines) {
        let (left, right): (Vec<Line>, Vec<Line>) =
            lines.into_iter().partition(|line| line.left < at);
        let mut all = cut(left, depth + 1);
        all.extend(cut(right, depth + 1));
        return all;
    }
    match widest_break(&lines) {
        Some(at) => {
            let (above, below): (Vec<Line>, Vec<Line>) =
                lines.into_iter().partition(|line| line.baseline < at);
            let mut all = cut(above, depth + 1);
            all.extend(cut(below, depth + 1));
            all
        }
        None => by_rows(lines),
    }
}

/// From top to bottom, and from left to right within a row.
fn by_rows(mut lines: Vec<Line>) -> Vec<Line> {
    lines.sort_by(|a, b| a.baseline.total_cmp(&b.baseline));
    let mut from = 0;
    while from < lines.len() {
        let (first, size) = (lines[from].baseline, lines[from].size);
        let row = |line: &&Line| line.baseline - first < size * 0.4;
        let count = lines[from..].iter().take_while(row).count();
        lines[from..from + count].sort_by(|a, b| a.left.total_cmp(&b.left));
        from += count;
    }
    lines
}

/// An upright strip no line crosses, with text worth a column on both sides.
fn gutter(lines: &[Line]) -> Option<f32> {
    let mut spans: Vec<(f32, f32)> = lines.iter().map(|l| (l.left, l.right)).collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let size = median(lines.iter().map(|line| line.size))?;
    let mut reach = spans[0].1;
    let mut best: Option<(f32, f32)> = None;
    for (left, right) in spans {
        let gap = left - reach;
        if gap > size * 0.9 && best.is_none_or(|(width, _)| gap > width) && columns(lines, left) {
            best = Some((gap, left - gap / 2.0));
        }
        reach = reach.max(right);
    }
    best.map(|(_, at)| at)
}

/// Whether both sides of a strip are taller than they need to be for a stray word.
fn columns(lines: &[Line], at: f32) -> bool {
    let rows = |left: bool| {
        let side = lines.iter().filter(|line| (line.left < at) == left);
        let mut rows: Vec<i32> = side.map(|line| line.baseline.round() as i32).collect();
        rows.sort_unstable();
        rows.dedup();
        rows.len()
    };
    rows(true) >= 3 && rows(false) >= 3
}

/// The baseline below which the widest level strip of white space lies.
fn widest_break(lines: &[Line]) -> Option<f32> {
    let mut spans: Vec<(f32, f32)> = lines.iter().map(|l| (l.top(), l.bottom())).collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut reach = spans[0].1;
    let mut best: Option<(f32, f32)> = None;
    for (top, bottom) in spans {
        let gap = top - reach;
        if gap > 0.0 && best.is_none_or(|(width, _)| gap > width) {
            best = Some((gap, top));
        }
        reach = reach.max(bottom);
    }
    best.map(|(_, at)| at)
}

pub(super) fn median(values: impl Iterator<Item = f32>) -> Option<f32> {
    let mut all: Vec<f32> = values.collect();
    all.sort_by(f32::total_cmp);
    all.get(all.len() / 2).copied()
}
