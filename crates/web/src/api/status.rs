//! How things stand, and whether what is stored agrees with itself.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use engine::Disagreement;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Manage, May, Read};
use crate::gateway::Gateway;
use crate::problem::Problem;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(status))
}

/// Verifying takes as long as there is data.
pub fn untimed_routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(verify))
}

/// Counts of one tenant, and what the workers have before them.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatusView {
    pub documents: u64,
    /// Of them, those that answer.
    pub documents_active: u64,
    pub chunks_active: u64,
    pub runs_queued: u64,
    pub runs_running: u64,
    /// Of the live runs, those that wait for something. Waiting is not failing.
    pub runs_waiting: u64,
    pub runs_succeeded: u64,
    pub runs_failed: u64,
    pub runs_canceled: u64,
    pub jobs_live: u64,
    pub dead_letters: u64,
    /// Steps in the queue: those due, those under way and those due later.
    pub work: u64,
    pub work_ready: u64,
    pub work_leased: u64,
    pub work_waiting: u64,
    pub oldest_due: Option<DateTime<Utc>>,
    pub started_at: DateTime<Utc>,
    pub version: &'static str,
}

/// How things stand.
#[utoipa::path(get, path = "/v1/status", tag = "operations",
    responses((status = 200, body = StatusView)))]
async fn status(
    State(gateway): State<Gateway>,
    who: May<Read>,
) -> Result<Json<StatusView>, Problem> {
    let status = gateway.catalog().status(who.tenant, gateway.now()).await?;
    let queue = status.queue;
    Ok(Json(StatusView {
        documents: status.documents,
        documents_active: status.documents_active,
        chunks_active: status.chunks_active,
        runs_queued: status.runs_queued,
        runs_running: status.runs_running,
        runs_waiting: status.runs_waiting,
        runs_succeeded: status.runs_succeeded,
        runs_failed: status.runs_failed,
        runs_canceled: status.runs_canceled,
        jobs_live: status.jobs_live,
        dead_letters: status.dead_letters,
        work: queue.ready + queue.leased + queue.waiting,
        work_ready: queue.ready,
        work_leased: queue.leased,
        work_waiting: queue.waiting,
        oldest_due: queue.oldest_due,
        started_at: gateway.started(),
        version: env!("CARGO_PKG_VERSION"),
    }))
}

/// The digest of everything that answers, and every disagreement found on the way.
#[derive(Debug, Serialize, ToSchema)]
pub struct Verified {
    pub digest: String,
    pub documents: u64,
    pub chunks: u64,
    #[schema(value_type = Vec<Object>)]
    pub disagreements: Vec<Disagreement>,
    /// Steps in the queue, which the digest does not cover yet.
    pub work: u64,
    pub checked_at: DateTime<Utc>,
}

/// Reads everything of the tenant from the stores themselves; takes as long as there is data.
#[utoipa::path(post, path = "/v1/verify", tag = "operations",
    responses((status = 200, body = Verified)))]
async fn verify(
    State(gateway): State<Gateway>,
    who: May<Manage>,
) -> Result<Json<Verified>, Problem> {
    let found = gateway.engine().digest(Some(who.tenant)).await?;
    let queue = gateway.catalog().queue_depth(gateway.now()).await?;
    Ok(Json(Verified {
        digest: found.digest.to_string(),
        documents: found.documents,
        chunks: found.chunks,
        disagreements: found.disagreements,
        work: queue.ready + queue.leased + queue.waiting,
        checked_at: gateway.now(),
    }))
}
