//! The dashboard: how the house stands, and how it got there, from its own history.

use std::collections::HashMap;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use catalog::Status;
use chrono::TimeDelta;
use futures::future::try_join_all;
use model::TenantId;
use serde::Deserialize;
use series::Range;

use super::page::{Frame, Shown, Visitor, show};
use super::plot::{Drawn, Plot, Span};
use super::shown::{duration, figure};
use crate::auth::Read;
use crate::extract::Asked;
use crate::gateway::Gateway;
use crate::problem::Problem;

/// Points along a plot.
const POINTS: i64 = 120;

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
    plots: Vec<Plot>,
}

/// A line of a plot: its name, and what the history is asked for.
type Asks = (&'static str, String);

struct Wanted {
    title: &'static str,
    unit: fn(f64) -> String,
    lines: Vec<Asks>,
    /// Counters are recorded when they rise: where nothing is known of them, nothing came.
    rates: bool,
}

/// What is plotted; `window` is long enough to see a counter rise in.
fn wanted(window: &str) -> Vec<Wanted> {
    let time = |q: &str, stage: &str| format!("quantile({q}, stage_seconds{{stage=\"{stage}\"}})");
    let depth = |state: &str| format!("queue_depth{{state=\"{state}\"}}");
    let rate = |figure: &str| format!("sum(rate({figure}[{window}]))");
    let plot = |title, unit, lines| Wanted {
        title,
        unit,
        lines,
        rates: false,
    };
    vec![
        plot(
            "Documents that answer",
            figure,
            vec![("documents", "sum(documents_active)".to_owned())],
        ),
        plot(
            "Chunks that answer",
            figure,
            vec![("chunks", "sum(chunks_active)".to_owned())],
        ),
        Wanted {
            rates: true,
            ..plot(
                "Taken in per second",
                figure,
                vec![
                    ("documents", rate("documents_total")),
                    ("chunks", rate("chunks_total")),
                ],
            )
        },
        plot(
            "Steps in the queue",
            figure,
            vec![
                ("due", depth("ready")),
                ("under way", depth("leased")),
                ("waiting", depth("waiting")),
            ],
        ),
        plot(
            "Time to answer a search",
            duration,
            vec![
                ("half within", time("0.5", "search")),
                ("95 of 100 within", time("0.95", "search")),
            ],
        ),
        plot(
            "Time per step, half within",
            duration,
            vec![
                ("parse", time("0.5", "parse")),
                ("chunk", time("0.5", "chunk")),
                ("embed", time("0.5", "embed")),
                ("index", time("0.5", "index")),
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
    let (to, length) = (now.timestamp_micros(), looked.over.length());
    let step = length.num_microseconds().unwrap_or(i64::MAX) / POINTS;
    let span = Span {
        from: to - step * POINTS,
        to,
        step,
    };
    let window = format!("{}s", (step / 1_000_000).max(60));
    let plots = wanted(&window).into_iter();
    let plots = plots.map(|wanted| drawn(&gateway, who.tenant, wanted, span));
    show(&DashboardPage {
        frame,
        status: gateway.catalog().status(who.tenant, now).await?,
        over: looked.over,
        plots: try_join_all(plots).await?,
    })
}

async fn drawn(
    gateway: &Gateway,
    tenant: TenantId,
    wanted: Wanted,
    span: Span,
) -> Result<Plot, Problem> {
    let range = Range {
        from: span.from,
        to: span.to,
        step: span.step,
    };
    let mut lines = Vec::new();
    for (name, asks) in wanted.lines {
        let figures = gateway.engine().figures();
        let found = figures.query(tenant, &asks, range).await?;
        let points = found.into_iter().next().map(|line| line.points);
        let points = points.unwrap_or_default();
        let points = if wanted.rates {
            steady(&points, span)
        } else {
            points
        };
        lines.push((name.to_owned(), points));
    }
    let drawn = Drawn {
        title: wanted.title,
        lines,
        unit: wanted.unit,
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
