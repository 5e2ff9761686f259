//! Fragments to lines: what stands side by side and was printed one after the other.

use super::bidi;
use super::fragment::{Fragment, Look};
use super::glyph::Rect;

/// How far letters reach above and below the baseline, in font sizes.
const ASCENT: f32 = 0.78;
const DESCENT: f32 = 0.22;

/// A printed line, parts from left to right.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) parts: Vec<Fragment>,
    pub(super) left: f32,
    pub(super) right: f32,
    pub(super) baseline: f32,
    pub(super) size: f32,
    pub(super) angle: i16,
    pub(super) look: Look,
    pub(super) artifact: bool,
}

impl Line {
    pub(super) fn of(fragment: Fragment) -> Self {
        Self {
            left: fragment.left,
            right: fragment.right,
            baseline: fragment.baseline,
            size: fragment.size,
            angle: fragment.angle,
            look: fragment.look,
            artifact: fragment.artifact,
            parts: vec![fragment],
        }
    }

    pub(super) fn push(&mut self, fragment: Fragment) {
        self.left = self.left.min(fragment.left);
        self.right = self.right.max(fragment.right);
        if fragment.look.letters > self.look.letters {
            self.size = fragment.size;
            self.baseline = fragment.baseline;
        }
        self.look.add(fragment.look);
        let before = |part: &Fragment| part.left <= fragment.left;
        let at = self.parts.partition_point(before);
        self.parts.insert(at, fragment);
    }

    pub(super) fn top(&self) -> f32 {
        self.baseline - self.size * ASCENT
    }

    pub(super) fn bottom(&self) -> f32 {
        self.baseline + self.size * DESCENT
    }

    /// Its words; parts are a space apart.
    pub(super) fn text(&self) -> String {
        if let [only] = self.parts.as_slice() {
            return only.text.clone();
        }
        let mut texts: Vec<&str> = self.parts.iter().map(|part| part.text.as_str()).collect();
        if bidi::reads_right_to_left(&texts.concat()) {
            texts.reverse();
        }
        texts.join(" ")
    }

    /// Its place on the page, whatever its direction.
    pub(super) fn rect(&self) -> Rect {
        let (top, bottom) = (self.top(), self.bottom());
        if self.angle == 0 {
            return Rect {
                left: self.left,
                top,
                right: self.right,
                bottom,
            };
        }
        let (sin, cos) = f64::from(self.angle).to_radians().sin_cos();
        let corners = [
            (self.left, top),
            (self.right, top),
            (self.left, bottom),
            (self.right, bottom),
        ];
        Rect::around(corners.map(|(along, across)| {
            let (along, across) = (f64::from(along), f64::from(across));
            (along * cos - across * sin, along * sin + across * cos)
        }))
    }

    pub(super) fn overlaps_across(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right
    }

    fn same_baseline(&self, fragment: &Fragment) -> bool {
        let em = self.size.max(fragment.size);
        self.angle == fragment.angle
            && self.artifact == fragment.artifact
            && (self.baseline - fragment.baseline).abs() < em * 0.35
    }
}

/// Joins fragments that follow one another on one baseline.
pub(super) fn lines(fragments: Vec<Fragment>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for fragment in fragments {
        match lines.last_mut() {
            Some(line)
                if line.same_baseline(&fragment)
                    && fragment.left >= line.right - line.size * 0.3 =>
            {
                line.push(fragment);
            }
            _ => lines.push(Line::of(fragment)),
        }
    }
    join_markers(lines)
}

/// A bullet or number that was printed apart from its text joins it.
fn join_markers(mut lines: Vec<Line>) -> Vec<Line> {
    let mut at = 0;
    while at < lines.len() {
        let marker = &lines[at];
        let short = marker.look.letters <= 4 && marker.parts.len() == 1;
        let owner = short
            .then(|| lines.iter().position(|line| stands_before(marker, line)))
            .flatten();
        match owner {
            Some(owner) => {
                let part = lines[at].parts[0].clone();
                lines[owner].push(part);
                lines.remove(at);
            }
            None => at += 1,
        }
    }
    lines
}

fn stands_before(marker: &Line, line: &Line) -> bool {
    let gap = line.left - marker.right;
    line.same_baseline(&marker.parts[0]) && gap > 0.0 && gap < marker.size * 3.0
}
