//! From what a query says to lines of points.

use std::collections::BTreeMap;
use std::ops::Range as Span;

use super::QueryError;
use super::ast::{Expr, Fold, Selector};
use crate::Error;
use crate::label::Labels;
use crate::read::{Apart, Asked, Found, MOST_VALUES, Reader};
use crate::sample::{Micros, Summary, gain};

/// For how long a value counts as the latest.
const LOOKBACK: Micros = 300_000_000;
const MOST_POINTS: u64 = 11_000;

/// When to look: at `from`, then every `step`, up to `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub from: Micros,
    pub to: Micros,
    pub step: Micros,
}

/// A series, or several summed up, over time. A moment with no value has no point.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub labels: Labels,
    pub points: Vec<(Micros, f64)>,
}

impl Range {
    fn check(&self) -> Result<(), QueryError> {
        let length = self.to.checked_sub(self.from).filter(|length| *length >= 0);
        let (Some(length), 1..) = (length, self.step) else {
            return Err(QueryError::EmptyRange);
        };
        let points = (length / self.step) as u64 + 1;
        match points > MOST_POINTS {
            true => Err(QueryError::TooManyPoints {
                points,
                most: MOST_POINTS,
            }),
            false => Ok(()),
        }
    }

    fn moments(self) -> impl Iterator<Item = Micros> {
        (0..=(self.to - self.from) / self.step).map(move |n| self.from + n * self.step)
    }
}

pub(crate) async fn evaluate(
    reader: &Reader<'_>,
    expr: &Expr,
    range: Range,
) -> Result<Vec<Line>, Error> {
    range.check()?;
    let leaf = Leaf { reader, range };
    match expr {
        Expr::Latest(of) => leaf.latest(of, LOOKBACK.max(range.step)).await,
        Expr::Rate {
            of,
            window,
            per_second,
        } => leaf.gains(of, *window, *per_second).await,
        Expr::Values { q, by, of, window } => {
            let window = window.unwrap_or(range.step);
            leaf.quantiles(of, window, *q, by.as_deref()).await
        }
        Expr::Fold { fold, by, of } => {
            let lines = Box::pin(evaluate(reader, of, range)).await?;
            Ok(fold_lines(*fold, by.as_deref(), &lines))
        }
    }
}

/// Reads series and looks at each through a window that moves along the range.
struct Leaf<'r, 's> {
    reader: &'r Reader<'s>,
    range: Range,
}

impl Leaf<'_, '_> {
    /// How wide windows are, and where the first begins. One finer than what is kept of that time
    /// would fall between two summaries.
    fn first(&self, window: Micros) -> (Micros, Micros) {
        let from = self.range.from;
        let window = window.max(self.reader.grain(from.saturating_sub(window)));
        (window, from.saturating_sub(window))
    }

    /// All windows of the range.
    fn asked(&self, window: Micros, after: Micros) -> Asked {
        Asked {
            after,
            upto: self.range.to,
            apart: Apart::Windows {
                first: self.range.from,
                step: self.range.step,
                window,
            },
        }
    }

    async fn latest(&self, of: &Selector, window: Micros) -> Result<Vec<Line>, Error> {
        let (window, after) = self.first(window);
        let found = self.reader.find(of, self.asked(window, after)).await?;
        let lines = self.lines(of_each(found), |held, t| {
            let last = held[within(held, t, window)].last()?;
            Some(last.last)
        });
        Ok(lines?)
    }

    async fn gains(
        &self,
        of: &Selector,
        window: Micros,
        per_second: bool,
    ) -> Result<Vec<Line>, Error> {
        let (window, after) = self.first(window);
        // Counters speak when something happens: the value one came in with may be old.
        let asked = self.asked(window, after);
        let found = self.reader.find_rising(of, asked).await?;
        let over = if per_second { window as f64 / 1e6 } else { 1.0 };
        let lines = self.lines(of_each(found), |held, t| {
            Some(gained(held, t, window)? / over)
        });
        Ok(lines?)
    }

    fn lines<T>(
        &self,
        of: impl Iterator<Item = (Labels, T)>,
        value: impl Fn(&T, Micros) -> Option<f64>,
    ) -> Result<Vec<Line>, QueryError> {
        let (mut lines, mut all) = (vec![], 0);
        for (labels, held) in of {
            let at = |t| Some((t, value(&held, t)?));
            let points: Vec<_> = self.range.moments().filter_map(at).collect();
            all += points.len();
            if all > MOST_VALUES {
                return Err(QueryError::TooMuch { most: MOST_VALUES });
            }
            if !points.is_empty() {
                lines.push(Line { labels, points });
            }
        }
        Ok(lines)
    }

    async fn quantiles(
        &self,
        of: &Selector,
        window: Micros,
        q: f64,
        by: Option<&[String]>,
    ) -> Result<Vec<Line>, Error> {
        let (window, after) = self.first(window);
        let asked = Asked {
            apart: Apart::Each,
            ..self.asked(window, after)
        };
        let found = self.reader.find(of, asked).await?;
        let mut groups: BTreeMap<Labels, Vec<Found>> = BTreeMap::new();
        for series in found {
            let labels = series.labels.only(by.unwrap_or_default());
            groups.entry(labels).or_default().push(series);
        }
        let lines = self.lines(groups.into_iter(), |group, t| {
            quantile_at(group, t, window, q)
        });
        Ok(lines?)
    }
}

fn of_each(found: Vec<Found>) -> impl Iterator<Item = (Labels, Vec<Summary>)> {
    let found = found.into_iter();
    found.map(|series| (series.labels, series.summaries))
}

/// Where the summaries lie that end after `t - window` and up to `t`.
fn within(summaries: &[Summary], t: Micros, window: Micros) -> Span<usize> {
    let first = summaries.partition_point(|s| s.until <= t.saturating_sub(window));
    let end = summaries.partition_point(|s| s.until <= t);
    first..end.max(first)
}

/// What a counter gained in a window, from the value it came in with. Divided by the window
/// it is a rate: counters speak when something happens, so the time between two of their
/// samples says nothing about how often it does.
fn gained(summaries: &[Summary], t: Micros, window: Micros) -> Option<f64> {
    let held = within(summaries, t, window);
    let whole = summaries[held.clone()]
        .iter()
        .copied()
        .reduce(Summary::then)?;
    let before = held.start.checked_sub(1).map(|at| summaries[at]);
    Some(before.map_or(whole.rise, |before| {
        gain(before.last, whole.first) + whole.rise
    }))
}

/// Values and how often each was seen. Of thinned-out time the mean stands for its values.
fn quantile_at(group: &[Found], t: Micros, window: Micros, q: f64) -> Option<f64> {
    let held = group
        .iter()
        .flat_map(|series| &series.summaries[within(&series.summaries, t, window)]);
    quantile(held.map(|s| (s.mean(), s.count)).collect(), q)
}

/// The least value that a share `q` of all do not exceed.
fn quantile(mut values: Vec<(f64, u64)>, q: f64) -> Option<f64> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: u64 = values.iter().map(|(_, count)| count).sum();
    // A share that is a whole number of values may come out a hair above it.
    let rank = ((q * all as f64 - 1e-9).ceil() as u64).max(1);
    let mut seen = 0;
    let mut reaches = |(_, count): &&(f64, u64)| {
        seen += count;
        seen >= rank
    };
    values.iter().find(&mut reaches).map(|(value, _)| *value)
}

fn fold_lines(fold: Fold, by: Option<&[String]>, lines: &[Line]) -> Vec<Line> {
    let mut groups: BTreeMap<Labels, BTreeMap<Micros, Vec<f64>>> = BTreeMap::new();
    for line in lines {
        let labels = line.labels.only(by.unwrap_or_default());
        let group = groups.entry(labels).or_default();
        for (t, value) in &line.points {
            group.entry(*t).or_default().push(*value);
        }
    }
    let lines = groups.into_iter().map(|(labels, points)| Line {
        labels,
        points: points
            .into_iter()
            .map(|(t, values)| (t, fold_values(fold, &values)))
            .collect(),
    });
    lines.collect()
}

/// `values` holds one at least.
fn fold_values(fold: Fold, values: &[f64]) -> f64 {
    let count = values.len() as f64;
    match fold {
        Fold::Sum => values.iter().sum(),
        Fold::Avg => values.iter().sum::<f64>() / count,
        Fold::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
        Fold::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Fold::Count => count,
        Fold::Quantile(q) => {
            let values = values.iter().map(|value| (*value, 1)).collect();
            quantile(values, q).expect("a point has a value")
        }
    }
}
