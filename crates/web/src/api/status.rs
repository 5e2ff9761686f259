//! How things stand, and whether what is stored agrees with itself.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use engine::{Disagreement, Kept, OfTenant, Outcome};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Manage, May, Reach, Read};
use crate::gateway::Gateway;
use crate::ops::INDEX_STOPPED;
use crate::problem::Problem;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(status))
}

/// Verifying takes as long as there is data.
pub fn untimed_routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(verify))
        .routes(routes!(repair))
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
    /// Of those due, those whose worker is not heard from any more.
    pub work_stalled: u64,
    pub oldest_due: Option<DateTime<Utc>>,
    /// What keeps everything waiting, in plain words.
    pub stopped: Option<&'static str>,
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
    let index = &gateway.engine().parts().index;
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
        work_stalled: queue.stalled,
        oldest_due: queue.oldest_due,
        stopped: index.has_stopped().then_some(INDEX_STOPPED),
        started_at: gateway.started(),
        version: env!("CARGO_PKG_VERSION"),
    }))
}

/// The digest of everything that answers, and every disagreement found on the way.
#[derive(Debug, Serialize, ToSchema)]
pub struct VerifiedView {
    pub digest: String,
    pub documents: u64,
    pub chunks: u64,
    #[schema(value_type = Vec<Object>)]
    pub disagreements: Vec<Disagreement>,
    /// Objects nothing refers to: no harm, and no use.
    pub leftovers: Vec<String>,
    /// Each by itself, where it was of several: only whoever runs the server is told of others.
    #[schema(value_type = Vec<Object>)]
    pub tenants: Vec<OfTenant>,
    /// Steps and listings under way while it was read, which the digest may not cover.
    pub work: u64,
    pub checked_at: DateTime<Utc>,
}

/// Reads everything of the tenant from the stores themselves; takes as long as there is data. Whoever
/// has the data folder itself, and signs with its keys, has every tenant read.
#[utoipa::path(post, path = "/v1/verify", tag = "operations",
    responses((status = 200, body = VerifiedView)))]
async fn verify(
    State(gateway): State<Gateway>,
    who: May<Manage>,
) -> Result<Json<VerifiedView>, Problem> {
    let engine = gateway.engine();
    let found = match who.reach {
        Reach::Tenant => engine.verify(who.tenant).await?,
        Reach::Folder => engine.verify_all().await?,
    };
    Ok(Json(view(&gateway, found)))
}

fn view(gateway: &Gateway, found: engine::Verified) -> VerifiedView {
    VerifiedView {
        digest: found.digest.to_string(),
        documents: found.documents,
        chunks: found.chunks,
        disagreements: found.disagreements,
        leftovers: found.leftovers,
        tenants: found.tenants,
        work: found.work,
        checked_at: gateway.now(),
    }
}

/// What a repair did about each disagreement, and how things stand after it.
#[derive(Debug, Serialize, ToSchema)]
pub struct RepairedView {
    /// Each disagreement, with whether it is `mended` and what was `done`.
    #[schema(value_type = Vec<Object>)]
    pub findings: Vec<Outcome>,
    pub leftovers_deleted: u64,
    /// Each `object` nothing refers to that is too young to be deleted, and `until` when it is.
    #[schema(value_type = Vec<Object>)]
    pub leftovers_kept: Vec<Kept>,
    pub after: VerifiedView,
}

/// Mends what can be mended from the originals, the ledger and the stores, and says what
/// cannot. Nothing is purged or canceled meanwhile; everything else goes on.
#[utoipa::path(post, path = "/v1/repair", tag = "operations",
    responses((status = 200, body = RepairedView)))]
async fn repair(
    State(gateway): State<Gateway>,
    who: May<Manage>,
) -> Result<Json<RepairedView>, Problem> {
    let engine = gateway.engine();
    let done = match who.reach {
        Reach::Tenant => engine.repair(who.tenant).await?,
        Reach::Folder => engine.repair_all().await?,
    };
    Ok(Json(RepairedView {
        findings: done.findings,
        leftovers_deleted: done.leftovers_deleted,
        leftovers_kept: done.leftovers_kept,
        after: view(&gateway, done.after),
    }))
}
