//! A plot as the numbers of an SVG: lines over time with their scales.
//!
//! Drawn on the server: figures need no script, and attributes no exception in the
//! content security policy.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};

/// Of the drawing, in its own units; the page scales it.
pub const WIDTH: f64 = 600.0;
pub const HEIGHT: f64 = 190.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 24.0;
/// How many steps may lack a value before a line is interrupted.
const GAP: i64 = 3;
const TIMES: i64 = 4;

/// When: from, to, and from point to point, in microseconds.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub from: i64,
    pub to: i64,
    pub step: i64,
}

/// What is drawn, before it is.
pub struct Drawn {
    pub title: &'static str,
    pub lines: Vec<(String, Vec<(i64, f64)>)>,
    /// How a value is written.
    pub unit: fn(f64) -> String,
    /// Whether there is anything between one and two.
    pub halves: bool,
}

pub struct Plot {
    pub title: &'static str,
    pub lines: Vec<PlotLine>,
    pub values: Vec<Tick>,
    pub times: Vec<Tick>,
    /// What it shows, for who cannot see it.
    pub summary: String,
}

pub struct PlotLine {
    pub name: String,
    pub now: String,
    pub path: String,
    /// Under the line, where there is only one.
    pub area: Option<String>,
}

pub struct Tick {
    pub at: f64,
    pub label: String,
}

impl Plot {
    pub fn new(drawn: Drawn, span: Span) -> Self {
        let top = nice(drawn.lines.iter().flat_map(|(_, points)| points));
        let alone = drawn.lines.len() == 1;
        let scale = Scale { span, top };
        let line = |(name, points): &(String, Vec<(i64, f64)>)| PlotLine {
            name: name.clone(),
            now: points
                .last()
                .map_or("–".to_owned(), |(_, value)| (drawn.unit)(*value)),
            path: scale.path(points),
            area: alone.then(|| scale.area(points)).flatten(),
        };
        let lines: Vec<PlotLine> = drawn.lines.iter().map(line).collect();
        Self {
            title: drawn.title,
            summary: summary(&drawn, &lines),
            values: scale.values(&drawn),
            times: scale.times(),
            lines,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.path.is_empty())
    }

    pub fn bottom(&self) -> f64 {
        HEIGHT - BOTTOM
    }
}

fn summary(drawn: &Drawn, lines: &[PlotLine]) -> String {
    let mut said = drawn.title.to_owned();
    for ((_, points), line) in drawn.lines.iter().zip(lines) {
        let values = points.iter().map(|(_, value)| *value);
        let most = values.fold(0.0, f64::max);
        let _ = write!(
            said,
            "; {} now {}, at most {}",
            line.name,
            line.now,
            (drawn.unit)(most)
        );
    }
    said
}

struct Scale {
    span: Span,
    top: f64,
}

impl Scale {
    fn x(&self, at: i64) -> f64 {
        let whole = (self.span.to - self.span.from).max(1) as f64;
        let share = (at - self.span.from) as f64 / whole;
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - value / self.top * (HEIGHT - TOP - BOTTOM)
    }

    /// Interrupted where values are missing; a lonely point is drawn as a dot.
    fn path(&self, points: &[(i64, f64)]) -> String {
        let mut path = String::new();
        let mut before: Option<i64> = None;
        for (at, value) in points {
            let (x, y) = (self.x(*at), self.y(*value));
            let joined = before.is_some_and(|before| at - before <= GAP * self.span.step);
            let _ = match joined {
                true => write!(path, "L{x:.1} {y:.1}"),
                false => write!(path, "M{x:.1} {y:.1}h.01"),
            };
            before = Some(*at);
        }
        path
    }

    fn area(&self, points: &[(i64, f64)]) -> Option<String> {
        let (first, last) = (points.first()?, points.last()?);
        let whole = points
            .windows(2)
            .all(|pair| pair[1].0 - pair[0].0 <= GAP * self.span.step);
        let (from, to, floor) = (self.x(first.0), self.x(last.0), self.y(0.0));
        let line = self.path(points).replacen('M', "L", 1);
        whole.then(|| format!("M{from:.1} {floor:.1}{line}L{to:.1} {floor:.1}Z"))
    }

    fn values(&self, drawn: &Drawn) -> Vec<Tick> {
        let values = [0.0, 0.5, 1.0].map(|part| self.top * part).into_iter();
        let sensible = values.filter(|value| drawn.halves || value.fract() == 0.0);
        let tick = |value| Tick {
            at: self.y(value),
            label: (drawn.unit)(value),
        };
        sensible.map(tick).collect()
    }

    fn times(&self) -> Vec<Tick> {
        let whole = self.span.to - self.span.from;
        let format = match whole / 60_000_000 {
            ..10 => "%H:%M:%S",
            10..2160 => "%H:%M",
            _ => "%-d %b",
        };
        let tick = |number: i64| {
            let at = self.span.from + whole / TIMES * number;
            let time: DateTime<Utc> = DateTime::from_timestamp_micros(at).unwrap_or_default();
            Tick {
                at: self.x(at),
                label: time.format(format).to_string(),
            }
        };
        (1..TIMES).map(tick).collect()
    }
}

/// The next round figure at or above all values; never nothing.
fn nice<'p>(points: impl Iterator<Item = &'p (i64, f64)>) -> f64 {
    let most = points.map(|(_, value)| *value).fold(0.0, f64::max);
    if most <= 0.0 {
        return 1.0;
    }
    let decade = 10f64.powf(most.log10().floor());
    let steps = [1.0, 2.0, 4.0, 5.0, 10.0];
    let fits = steps
        .iter()
        .map(|step| step * decade)
        .find(|top| *top >= most);
    fits.unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = Span {
        from: 0,
        to: 100,
        step: 10,
    };

    fn plot(points: &[(i64, f64)]) -> Plot {
        let drawn = Drawn {
            title: "Documents",
            lines: vec![("all".to_owned(), points.to_vec())],
            unit: |value| format!("{value:.0}"),
            halves: false,
        };
        Plot::new(drawn, SPAN)
    }

    #[test]
    fn a_line_is_drawn_to_scale_and_broken_where_values_are_missing() {
        let plot = plot(&[(0, 0.0), (10, 40.0), (100, 20.0)]);
        assert_eq!(
            plot.lines[0].path,
            "M52.0 166.0h.01L105.8 10.0M590.0 88.0h.01"
        );
        assert_eq!(plot.lines[0].area, None, "what is missing is not filled in");
        let labels: Vec<_> = plot.values.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(labels, ["0", "20", "40"]);
        assert_eq!(plot.summary, "Documents; all now 20, at most 40");
    }

    #[test]
    fn nothing_recorded_is_an_empty_plot() {
        let plot = plot(&[]);
        assert!(plot.is_empty());
        assert_eq!(plot.lines[0].now, "–");
    }
}
