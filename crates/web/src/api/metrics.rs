//! Figures over time, as the engine recorded them.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use series::{Line, Range};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Manage, May};
use crate::extract::{Asked, check_time};
use crate::gateway::Gateway;
use crate::problem::Problem;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(query))
}

/// What to look at, and when.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct MetricsAsked {
    /// `queue_depth`, `rate(chunks_total[5m])`, `quantile(0.99, stage_seconds{stage="embed"})`.
    pub query: String,
    /// An hour before `to`, unless said otherwise.
    pub from: Option<DateTime<Utc>>,
    /// Now, unless said otherwise.
    pub to: Option<DateTime<Utc>>,
    /// Seconds from point to point; a sixtieth of the whole, unless said otherwise.
    pub step: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct MetricsAnswer {
    pub query: String,
    pub from: DateTime<Utc>,
    pub to: DateTime<Utc>,
    /// In seconds.
    pub step: f64,
    pub lines: Vec<MetricsLine>,
}

/// A series, or several summed up.
#[derive(Debug, Serialize, ToSchema)]
pub struct MetricsLine {
    /// As one would ask for it.
    pub name: String,
    /// The figure's own name is under `__name__`.
    pub labels: BTreeMap<String, String>,
    /// Seconds since 1970, and the value then. A moment without a value has no point.
    #[schema(value_type = Vec<Vec<f64>>)]
    pub points: Vec<(f64, f64)>,
}

impl MetricsAsked {
    fn range(&self, now: DateTime<Utc>) -> Result<Range, Problem> {
        check_time("to", self.to)?;
        check_time("from", self.from)?;
        let to = self.to.unwrap_or(now);
        let from = self.from.unwrap_or(to - TimeDelta::hours(1));
        let (from, to) = (from.timestamp_micros(), to.timestamp_micros());
        let step = match self.step {
            Some(step) => i64::try_from(step)
                .ok()
                .and_then(|s| s.checked_mul(1_000_000)),
            None => Some(((to - from) / 60).max(1_000_000)),
        };
        let step = step.ok_or_else(|| Problem::unprocessable("the step is too long"))?;
        Ok(Range { from, to, step })
    }
}

/// What the engine's figures were: of this tenant, and of the machine as a whole.
#[utoipa::path(get, path = "/v1/metrics/query", tag = "operations", params(MetricsAsked),
    responses((status = 200, body = MetricsAnswer)))]
async fn query(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Asked(asked): Asked<MetricsAsked>,
) -> Result<Json<MetricsAnswer>, Problem> {
    let range = asked.range(gateway.now())?;
    let figures = gateway.engine().figures();
    let lines = figures.query(who.tenant, &asked.query, range).await?;
    Ok(Json(MetricsAnswer {
        query: asked.query,
        from: time(range.from),
        to: time(range.to),
        step: seconds(range.step),
        lines: lines.into_iter().map(MetricsLine::from).collect(),
    }))
}

impl From<Line> for MetricsLine {
    fn from(line: Line) -> Self {
        let labels = line.labels.pairs();
        let points = line.points.iter().map(|(at, value)| (seconds(*at), *value));
        Self {
            name: line.labels.to_string(),
            labels: labels.map(|(n, v)| (n.to_owned(), v.to_owned())).collect(),
            points: points.collect(),
        }
    }
}

fn seconds(micros: series::Micros) -> f64 {
    micros as f64 / 1e6
}

fn time(micros: series::Micros) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(micros).unwrap_or_default()
}
