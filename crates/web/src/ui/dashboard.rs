//! The dashboard: how the house stands, and how it got there, from its own history.

use std::collections::HashMap;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use catalog::Status;
use chrono::{DateTime, TimeDelta};
use futures::future::try_join_all;
use model::TenantId;
use serde::Deserialize;
use series::Range;

use super::page::{Frame, Shown, Visitor, show};
use super::plot::{Drawn, Plot, Span};
use super::shown::{Moment, duration, figure};
use crate::auth::Read;
use crate::extract::Asked;
use crate::gateway::Gateway;
use crate::problem::Problem;

/// Points along a plot.
const POINTS: i64 = 120;
/// The least a plot shows, in microseconds, however young the history is.
const YOUNGEST: i64 = 2 * 60 * 1_000_000;
/// Recorded from the first moment on: where it begins, the history does.
const FIRST: &str = "queue_depth{state=\"ready\"}";

pub fn routes() -> Router<Gateway> {
    Router::new().route("/dashboard", get(dashboard))
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Over {
    #[default]
    Hour,
    Day,
    Week,
    Month,
}

impl Over {
    const ALL: [(Self, &'static str, &'static str); 4] = [
        (Self::Hour, "hour", "Hour"),
        (Self::Day, "day", "Day"),
        (Self::Week, "week", "Week"),
        (Self::Month, "month", "30 days"),
    ];

    fn length(self) -> TimeDelta {
        match self {
            Self::Hour => TimeDelta::hours(1),
            Self::Day => TimeDelta::days(1),
            Self::Week => TimeDelta::weeks(1),
            Self::Month => TimeDelta::days(30),
        }
    }
}

#[derive(Debug, Deserialize)]
struct Looked {
    #[serde(default)]
    over: Over,
}

#[derive(Template)]
#[template(path = "dashboard.html")]
struct DashboardPage {
    frame: Frame,
    status: Status,
    over: Over,
    /// When the history begins, where that is later than what was asked for.
    since: Option<Moment>,
    plots: Vec<Plot>,
}

/// A line of a plot: its name, and what the history is asked for.
struct Asks {
    name: &'static str,
    of: String,
    /// What it is at this moment, where that is known better than from the last record.
    now: Option<u64>,
}

struct Wanted {
    title: &'static str,
    unit: fn(f64) -> String,
    lines: Vec<Asks>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Of things, of which there are no halves.
    Count,
    /// Of counters, recorded when they rise: where nothing is known of them, nothing came.
    Rate,
    Time,
}

/// What is plotted; `window` is long enough to see a counter rise in.
fn wanted(window: &str, status: &Status) -> Vec<Wanted> {
    let ask = |name, of, now| Asks { name, of, now };
    let sum = |figure: &str| format!("sum({figure})");
    let depth = |name, state: &str, now| {
        let of = format!("queue_depth{{state=\"{state}\"}}");
        ask(name, of, Some(now))
    };
    let rate = |name, figure: &str| ask(name, format!("sum(rate({figure}[{window}]))"), None);
    let time = |name, q: &str, stage: &str| {
        let of = format!("quantile({q}, stage_seconds{{stage=\"{stage}\"}}[{window}])");
        ask(name, of, None)
    };
    let plot = |title, kind, lines| Wanted {
        title,
        unit: if kind == Kind::Time { duration } else { figure },
        lines,
        kind,
    };
    let (documents, chunks) = (status.documents_active, status.chunks_active);
    let queue = &status.queue;
    vec![
        plot(
            "Documents that answer",
            Kind::Count,
            vec![ask("documents", sum("documents_active"), Some(documents))],
        ),
        plot(
            "Chunks that answer",
            Kind::Count,
            vec![ask("chunks", sum("chunks_active"), Some(chunks))],
        ),
        plot(
            "Taken in per second",
            Kind::Rate,
            vec![
                rate("documents", "documents_total"),
                rate("chunks", "chunks_total"),
            ],
        ),
        plot(
            "Steps in the queue",
            Kind::Count,
            vec![
                depth("due", "ready", queue.ready),
                depth("under way", "leased", queue.leased),
                depth("waiting", "waiting", queue.waiting),
            ],
        ),
        plot(
            "Time to answer a search",
            Kind::Time,
            vec![
                time("half within", "0.5", "search"),
                time("95 of 100 within", "0.95", "search"),
            ],
        ),
        plot(
            "Time per step, half within",
            Kind::Time,
            vec![
                time("parse", "0.5", "parse"),
                time("chunk", "0.5", "chunk"),
                time("embed", "0.5", "embed"),
                time("index", "0.5", "index"),
            ],
        ),
    ]
}

async fn dashboard(
    State(gateway): State<Gateway>,
    who: Visitor<Read>,
    Asked(looked): Asked<Looked>,
) -> Shown {
    let frame = Frame::new(&gateway, &who, "dashboard").await?;
    let now = gateway.now();
    let asked = span(now.timestamp_micros(), looked.over.length());
    let begun = begun(&gateway, who.tenant, asked).await?;
    let span = since(asked, begun);
    let status = gateway.catalog().status(who.tenant, now).await?;
    let window = format!("{}s", (span.step / 1_000_000).max(60));
    let plots = wanted(&window, &status).into_iter();
    let plots = plots.map(|wanted| drawn(&gateway, who.tenant, wanted, span));
    show(&DashboardPage {
        frame,
        over: looked.over,
        since: begun.filter(|_| span.from > asked.from).map(moment),
        plots: try_join_all(plots).await?,
        status,
    })
}

fn span(to: i64, length: TimeDelta) -> Span {
    let step = length.num_microseconds().unwrap_or(i64::MAX) / POINTS;
    Span {
        from: to - step * POINTS,
        to,
        step,
    }
}

/// When the history begins, as exactly as one step tells.
async fn begun(gateway: &Gateway, tenant: TenantId, span: Span) -> Result<Option<i64>, Problem> {
    let lines = gateway.engine().figures().query(tenant, FIRST, range(span));
    let points = lines.await?.into_iter().flat_map(|line| line.points);
    Ok(points.map(|(at, _)| at - span.step).min())
}

/// The plots of a young history begin where it does: an hour of nothing says nothing.
fn since(asked: Span, begun: Option<i64>) -> Span {
    let whole = asked.to - asked.from;
    let known = begun.map_or(whole, |begun| asked.to - begun);
    let length = known.clamp(YOUNGEST.min(whole), whole);
    span(asked.to, TimeDelta::microseconds(length))
}

fn moment(micros: i64) -> Moment {
    Moment(DateTime::from_timestamp_micros(micros).unwrap_or_default())
}

fn range(span: Span) -> Range {
    Range {
        from: span.from,
        to: span.to,
        step: span.step,
    }
}

async fn drawn(
    gateway: &Gateway,
    tenant: TenantId,
    wanted: Wanted,
    span: Span,
) -> Result<Plot, Problem> {
    let mut lines = Vec::new();
    for line in wanted.lines {
        let figures = gateway.engine().figures();
        let found = figures.query(tenant, &line.of, range(span)).await?;
        let points = found.into_iter().next().map(|line| line.points);
        let mut points = points.unwrap_or_default();
        if wanted.kind == Kind::Rate {
            points = steady(&points, span);
        }
        if let Some(now) = line.now {
            points.retain(|(at, _)| *at < span.to);
            points.push((span.to, now as f64));
        }
        lines.push((line.name.to_owned(), points));
    }
    let drawn = Drawn {
        title: wanted.title,
        lines,
        unit: wanted.unit,
        halves: wanted.kind != Kind::Count,
    };
    Ok(Plot::new(drawn, span))
}

/// A value at every step, nought where none is known.
fn steady(points: &[(i64, f64)], span: Span) -> Vec<(i64, f64)> {
    let known: HashMap<i64, f64> = points.iter().copied().collect();
    let steps = (0..=POINTS).map(|number| span.from + number * span.step);
    steps
        .map(|at| (at, known.get(&at).copied().unwrap_or(0.0)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60 * 1_000_000;

    #[test]
    fn plots_begin_with_a_young_history_and_never_before_what_was_asked_for() {
        let asked = span(1_000 * MINUTE, TimeDelta::hours(1));
        let minutes = |begun: Option<i64>| (asked.to - since(asked, begun).from) / MINUTE;
        assert_eq!(minutes(Some(988 * MINUTE)), 12);
        assert_eq!(minutes(Some(999 * MINUTE)), 2, "a minute is no plot");
        assert_eq!(minutes(Some(900 * MINUTE)), 60);
        assert_eq!(minutes(None), 60);
    }
}
