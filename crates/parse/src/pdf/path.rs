//! The path under construction, kept only as far as it may be a ruling.

use hayro_interpret::kurbo::{Affine, Point};

use super::glyph::Ruling;

/// A filled box thinner than this is a line.
const THIN: f32 = 3.0;
/// Shorter lines are letters or marks.
const SHORT: f32 = 6.0;
/// More pieces than this make a drawing.
const MAX_PIECES: usize = 4096;

#[derive(Default)]
pub(super) struct Path {
    start: Point,
    last: Point,
    pieces: Vec<(Point, Point)>,
    boxes: Vec<(Point, Point)>,
}

impl Path {
    pub(super) fn move_to(&mut self, to: Point) {
        self.start = to;
        self.last = to;
    }

    /// A curve: never a ruling, but the pen moves.
    pub(super) fn jump_to(&mut self, to: Point) {
        self.last = to;
    }

    pub(super) fn line_to(&mut self, to: Point) {
        if self.pieces.len() < MAX_PIECES {
            self.pieces.push((self.last, to));
        }
        self.last = to;
    }

    pub(super) fn close(&mut self) {
        if self.last != self.start {
            self.line_to(self.start);
        }
    }

    pub(super) fn rect(&mut self, from: Point, size: (f64, f64)) {
        if self.boxes.len() < MAX_PIECES {
            let to = Point::new(from.x + size.0, from.y + size.1);
            self.boxes.push((from, to));
        }
        self.move_to(from);
    }

    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        self.boxes.clear();
    }

    /// What of it is a ruling once painted.
    pub(super) fn rulings(&self, ctm: Affine, stroked: bool) -> Vec<Ruling> {
        let mut found = Vec::new();
        if stroked {
            let lines = self.pieces.iter();
            found.extend(lines.filter_map(|(a, b)| ruling(ctm * *a, ctm * *b, 0.7)));
        } else if let Some((a, b)) = self.extent() {
            found.extend(ruling(ctm * a, ctm * b, THIN));
        }
        for (a, b) in &self.boxes {
            let (a, b) = (ctm * *a, ctm * *b);
            if let Some(thin) = ruling(a, b, THIN) {
                found.push(thin);
            } else if stroked {
                let (c, d) = (Point::new(a.x, b.y), Point::new(b.x, a.y));
                let edges = [(a, d), (d, b), (c, b), (a, c)];
                found.extend(edges.iter().filter_map(|(p, q)| ruling(*p, *q, 0.7)));
            }
        }
        found
    }

    /// A single level line too short for a ruling: it may be a letter that was drawn.
    pub(super) fn dash(&self, ctm: Affine) -> Option<Ruling> {
        let (a, b) = match (self.pieces.as_slice(), self.boxes.as_slice()) {
            ([one], []) | ([], [one]) => *one,
            _ => return None,
        };
        let (a, b) = (ctm * a, ctm * b);
        let is_level = (a.y - b.y).abs() < 1.5 && (a.x - b.x).abs() > 1.0;
        is_level.then_some(Ruling {
            level: true,
            at: ((a.y + b.y) / 2.0) as f32,
            from: a.x.min(b.x) as f32,
            to: a.x.max(b.x) as f32,
        })
    }

    /// The corners of a filled outline made of few straight lines.
    fn extent(&self) -> Option<(Point, Point)> {
        if self.pieces.is_empty() || self.pieces.len() > 4 {
            return None;
        }
        let points = || self.pieces.iter().flat_map(|(a, b)| [*a, *b]);
        let low = points().fold((f64::MAX, f64::MAX), |m, p| (m.0.min(p.x), m.1.min(p.y)));
        let high = points().fold((f64::MIN, f64::MIN), |m, p| (m.0.max(p.x), m.1.max(p.y)));
        Some((low.into(), high.into()))
    }
}

/// The line between two corners, when they span something long and thin.
fn ruling(a: Point, b: Point, thin: f32) -> Option<Ruling> {
    let (width, height) = ((a.x - b.x).abs() as f32, (a.y - b.y).abs() as f32);
    let level = height <= thin && width >= SHORT;
    let upright = width <= thin && height >= SHORT;
    if !level && !upright {
        return None;
    }
    let (across, along) = if level {
        ((a.y, b.y), (a.x, b.x))
    } else {
        ((a.x, b.x), (a.y, b.y))
    };
    Some(Ruling {
        level,
        at: ((across.0 + across.1) / 2.0) as f32,
        from: along.0.min(along.1) as f32,
        to: along.0.max(along.1) as f32,
    })
}
