//! Live progress: what happened to a tenant's documents, as server-sent events.
//!
//! Events are rows written in the transactions they tell of, so a reader who comes
//! back with `Last-Event-ID` misses nothing, whatever was restarted in between. Between
//! them `run.stage` tells what this process is doing to a run just now; it has no id and
//! is never repeated.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use chrono::TimeDelta;
use engine::Passing;
use futures::{Stream, StreamExt as _, stream};
use model::{JobId, RunId, TenantId};
use serde::Deserialize;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{May, Read};
use crate::extract::Asked;
use crate::gateway::Gateway;
use crate::problem::Problem;
use crate::streams::Place;

/// How many rows one look fetches.
const BATCH: u32 = 200;
/// How long to wait before looking again when nothing was new.
const PAUSE: Duration = Duration::from_millis(250);
/// So many looks without anything new, and whoever listens is asked again whether they may.
const QUIET: u32 = 20;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(events))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// Only of this run.
    run_id: Option<Uuid>,
    /// Only of this job.
    job_id: Option<Uuid>,
    /// Begin after this event; `Last-Event-ID` means the same and wins.
    after: Option<i64>,
}

/// Everything after `Last-Event-ID` (or `after`, or the beginning), then whatever happens next,
/// for as long as the caller may read. A tenant has only so many open at the same time; one more is
/// answered with 429.
#[utoipa::path(get, path = "/v1/events/stream", tag = "operations", params(EventQuery),
    responses((status = 200, body = String, content_type = "text/event-stream")))]
async fn events(
    State(gateway): State<Gateway>,
    who: May<Read>,
    parts: Parts,
    Asked(asked): Asked<EventQuery>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let last = match parts.headers.get("last-event-id") {
        None => asked.after.unwrap_or(0),
        Some(id) => id
            .to_str()
            .ok()
            .and_then(|id| id.parse().ok())
            .ok_or_else(|| Problem::invalid("Last-Event-ID is not one of ours"))?,
    };
    let (run, job) = (
        asked.run_id.map(RunId::from_uuid),
        asked.job_id.map(JobId::from_uuid),
    );
    if let Some(run) = run {
        gateway.catalog().run(who.tenant, run).await?;
    }
    if let Some(job) = job {
        gateway.catalog().job(who.tenant, job).await?;
    }
    let passings = gateway.engine().passings();
    let place = gateway.streams().place(who.tenant);
    let reader = Reader {
        _place: place.ok_or_else(|| too_many(gateway.streams().most()))?,
        quiet: 0,
        tenant: who.tenant,
        signed: parts,
        run,
        job,
        last,
        passings,
    };
    let stop = gateway.stop().clone();
    let stream = stream::unfold((gateway, reader), next)
        .flat_map(stream::iter)
        .take_until(stop.cancelled_owned());
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()))
}

fn too_many(most: usize) -> Problem {
    let detail = format!("the tenant has {most} event streams open already");
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", detail)
        .retry_after(TimeDelta::seconds(5))
        .hint("end some: one stream tells everything; http.streams_per_tenant is how many may be")
}

struct Reader {
    /// Held for as long as the stream goes on.
    _place: Place,
    /// How many looks in a row found nothing.
    quiet: u32,
    tenant: TenantId,
    /// What the stream was asked for with.
    signed: Parts,
    run: Option<RunId>,
    job: Option<JobId>,
    last: i64,
    passings: broadcast::Receiver<Passing>,
}

impl Reader {
    fn wants(&self, run: Option<RunId>, job: Option<JobId>) -> bool {
        let of_run = self.run.is_none_or(|wanted| run == Some(wanted));
        let of_job = self.job.is_none_or(|wanted| job == Some(wanted));
        of_run && of_job
    }

    fn wants_passing(&self, passing: &Passing) -> bool {
        passing.tenant == self.tenant && self.wants(Some(passing.run), passing.job)
    }

    /// A stream outlives its request: who was disabled meanwhile is told nothing more.
    async fn still_may(&self, gateway: &Gateway) -> bool {
        match gateway.principal(&self.signed).await {
            Ok(who) => who.may::<Read>(),
            Err(problem) => problem.status() != StatusCode::UNAUTHORIZED,
        }
    }

    /// What has passed since the last look.
    fn passed(&mut self) -> Told {
        let mut told = Told::new();
        loop {
            match self.passings.try_recv() {
                Ok(passing) if self.wants_passing(&passing) => {
                    told.extend(stage(&passing).map(Ok));
                }
                Ok(_) | Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return told,
            }
        }
    }

    /// What passes within the pause, as soon as it does; nothing when nothing did.
    async fn passing(&mut self) -> Option<Passing> {
        let pause = tokio::time::sleep(PAUSE);
        tokio::pin!(pause);
        loop {
            let passing = tokio::select! {
                () = &mut pause => return None,
                passing = self.passings.recv() => passing,
            };
            match passing {
                Ok(passing) if self.wants_passing(&passing) => return Some(passing),
                // Another's, or some were missed: they tell of what has passed anyway.
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

type Told = Vec<Result<Event, Infallible>>;

/// One look at the table; ends the stream when the table cannot be read.
async fn next((gateway, mut reader): (Gateway, Reader)) -> Option<(Told, (Gateway, Reader))> {
    loop {
        let rows = gateway
            .catalog()
            .events_after(reader.tenant, reader.last, BATCH)
            .await;
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!(%error, "event stream ended; its reader will come back");
                return None;
            }
        };
        let Some(newest) = rows.last() else {
            let passing = reader.passing().await;
            reader.quiet += 1;
            let look = passing.is_some() || reader.quiet.is_multiple_of(QUIET);
            if look && !reader.still_may(&gateway).await {
                return None;
            }
            match passing {
                Some(passing) => {
                    let told = stage(&passing).map(Ok).into_iter().collect();
                    return Some((told, (gateway, reader)));
                }
                None => continue,
            }
        };
        if !reader.still_may(&gateway).await {
            return None;
        }
        reader.quiet = 0;
        reader.last = newest.id;
        // What was passed before these were written is told before them.
        let mut told = reader.passed();
        let wanted = rows
            .iter()
            .filter(|event| reader.wants(event.run, event.job));
        told.extend(wanted.filter_map(|event| message(event).map(Ok)));
        return Some((told, (gateway, reader)));
    }
}

fn stage(passing: &Passing) -> Option<Event> {
    Event::default().event("run.stage").json_data(passing).ok()
}

fn message(event: &catalog::Event) -> Option<Event> {
    Event::default()
        .id(event.id.to_string())
        .event(&event.kind)
        .json_data(event)
        .ok()
}
