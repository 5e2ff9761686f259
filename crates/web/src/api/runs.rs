//! Runs: the processing of one version.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use catalog::{Run, RunError, RunFilter, RunStats, RunType, Standing};
use chrono::{DateTime, Utc};
use model::{DocumentId, JobId, RunId, RunStatus, SourceId, StepKind};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{Manage, May, Read};
use crate::extract::{Asked, Named};
use crate::gateway::Gateway;
use crate::paging::{Paging, Rows};
use crate::problem::Problem;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(retry))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct RunView {
    pub run_id: Uuid,
    pub document_id: Uuid,
    pub version_id: Uuid,
    pub kb_id: Uuid,
    pub source_uri: String,
    /// Of the version, while there is one.
    pub title: Option<String>,
    pub filename: Option<String>,
    #[schema(value_type = String, example = "running")]
    pub status: RunStatus,
    /// Succeeded, and overtaken by a newer version.
    pub superseded: bool,
    #[schema(value_type = String, example = "upload")]
    pub run_type: RunType,
    pub source_id: Option<Uuid>,
    pub job_id: Option<Uuid>,
    pub initiated_by: Option<Uuid>,
    /// What a live run waits for, in plain words. Waiting is not failing.
    pub waiting: Option<String>,
    pub waiting_until: Option<DateTime<Utc>>,
    #[schema(value_type = Option<String>, example = "extract")]
    pub stage: Option<StepKind>,
    pub units_total: u32,
    pub units_done: u32,
    pub stats: StatsView,
    pub error: Option<ErrorView>,
    pub config: serde_json::Value,
    pub created_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub updated_at: DateTime<Utc>,
    pub finished_at: Option<DateTime<Utc>>,
    pub heartbeat_at: Option<DateTime<Utc>>,
    #[schema(value_type = Object)]
    pub standing: Standing,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct StatsView {
    pub docs_processed: u64,
    pub chunks_created: u64,
    /// An estimate where the model is a remote one; the version says so.
    pub tokens_total: u64,
    pub chunks_processed: u64,
    pub chunks_skipped: u64,
    pub chunks_error: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorView {
    pub code: String,
    pub message: String,
    pub hint: Option<String>,
}

impl From<RunError> for ErrorView {
    fn from(error: RunError) -> Self {
        Self {
            code: error.code,
            message: error.message,
            hint: error.hint,
        }
    }
}

fn stats(stats: RunStats, status: RunStatus) -> StatsView {
    StatsView {
        docs_processed: u64::from(status == RunStatus::Succeeded),
        chunks_created: stats.chunks_created,
        tokens_total: stats.tokens_total,
        chunks_processed: stats.chunks_processed,
        chunks_skipped: stats.chunks_skipped,
        chunks_error: stats.chunks_error,
    }
}

impl RunView {
    /// `busy` is whether any worker is at anything.
    pub fn new(run: Run, busy: bool, now: DateTime<Utc>) -> Self {
        let standing = run.standing(busy, now);
        // What it waited for until a moment that has passed, it waits for no longer.
        let waits = run.waiting_until.is_none_or(|until| until > now);
        Self {
            standing,
            run_id: run.id.as_uuid(),
            document_id: run.document.as_uuid(),
            version_id: run.version.as_uuid(),
            kb_id: run.kb.as_uuid(),
            source_uri: run.source_uri,
            title: run.title,
            filename: run.filename,
            status: run.status,
            superseded: run.superseded,
            run_type: run.run_type,
            source_id: run.source.map(SourceId::as_uuid),
            job_id: run.job.map(JobId::as_uuid),
            initiated_by: run.initiated_by.map(model::UserId::as_uuid),
            waiting: run.waiting.filter(|_| waits),
            waiting_until: run.waiting_until.filter(|_| waits),
            stage: run.stage,
            units_total: run.units_total,
            units_done: run.units_done,
            stats: stats(run.stats, run.status),
            error: run.error.map(ErrorView::from),
            config: run.config,
            created_at: run.created_at,
            started_at: run.started_at,
            updated_at: run.updated_at,
            finished_at: run.finished_at,
            heartbeat_at: run.heartbeat_at,
        }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RunQuery {
    /// Only runs in this state.
    #[param(value_type = Option<String>, pattern = "^(queued|running|succeeded|failed|canceled)$")]
    status: Option<RunStatus>,
    /// Only of this knowledge base, by name or id.
    kb: Option<String>,
    document_id: Option<Uuid>,
    job_id: Option<Uuid>,
    source_id: Option<Uuid>,
    cursor: Option<String>,
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    #[param(minimum = 1, maximum = 10000)]
    page: Option<u32>,
}

/// Newest first.
#[utoipa::path(get, path = "/v1/runs", tag = "runs", params(RunQuery),
    responses((status = 200, body = Rows<RunView>)))]
async fn list(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Asked(asked): Asked<RunQuery>,
) -> Result<Json<Rows<RunView>>, Problem> {
    let kb = match &asked.kb {
        Some(kb) => Some(gateway.kb(who.tenant, kb).await?.id),
        None => None,
    };
    let filter = RunFilter {
        kb,
        status: asked.status,
        document: asked.document_id.map(DocumentId::from_uuid),
        job: asked.job_id.map(JobId::from_uuid),
        source: asked.source_id.map(SourceId::from_uuid),
    };
    let paging = Paging {
        cursor: asked.cursor,
        limit: asked.limit,
        page: asked.page,
    };
    let read = |page| gateway.catalog().runs(who.tenant, filter.clone(), page);
    let runs = paging.read(read).await?;
    let (busy, now) = (gateway.busy().await?, gateway.now());
    Ok(Json(Rows::of(runs, |run| RunView::new(run, busy, now))))
}

#[utoipa::path(get, path = "/v1/runs/{run}", tag = "runs", params(("run" = Uuid, Path)),
    responses((status = 200, body = RunView)))]
async fn show(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named(run): Named<Uuid>,
) -> Result<Json<RunView>, Problem> {
    let run = gateway
        .catalog()
        .run(who.tenant, RunId::from_uuid(run))
        .await?;
    let (busy, now) = (gateway.busy().await?, gateway.now());
    Ok(Json(RunView::new(run, busy, now)))
}

/// The run that was queued again.
#[derive(Debug, Serialize, ToSchema)]
pub struct Requeued {
    pub run_id: Uuid,
}

/// Queues a failed or canceled run again from its beginning; a live one is left as it is.
#[utoipa::path(post, path = "/v1/runs/{run}/retry", tag = "runs", params(("run" = Uuid, Path)),
    responses((status = 202, body = Requeued)))]
async fn retry(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(run): Named<Uuid>,
) -> Result<(StatusCode, Json<Requeued>), Problem> {
    let (catalog, now) = (gateway.catalog(), gateway.now());
    let run = RunId::from_uuid(run);
    let run = catalog.retry_run(who.tenant, run, now).await?;
    let run_id = run.as_uuid();
    Ok((StatusCode::ACCEPTED, Json(Requeued { run_id })))
}
