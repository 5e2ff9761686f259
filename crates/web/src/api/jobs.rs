//! Jobs: controllable ingestions of a whole source.

use std::path::PathBuf;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use catalog::{
    Job, JobCounters, JobDocument, JobFilter, JobOutcome, JobProgress, NewJob, Pace, Standing,
};
use chrono::{DateTime, Utc};
use engine::jobs::FolderSource;
use model::{Gap, JobId, JobStatus, RunStatus, SourceId, TenantId, UserId, Warning};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{Manage, May, Read};
use crate::extract::{Asked, Named, Sent};
use crate::gateway::Gateway;
use crate::paging::{Paging, Rows};
use crate::problem::Problem;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show))
        .routes(routes!(documents))
        .routes(routes!(problems))
        .routes(routes!(removals))
        .routes(routes!(start))
        .routes(routes!(pause))
        .routes(routes!(resume))
}

/// Canceling removes what the job wrote, which takes as long as that is much.
pub fn untimed_routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(cancel))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct JobView {
    pub job_id: Uuid,
    pub kb_id: Uuid,
    pub source_id: Option<Uuid>,
    #[schema(value_type = String, example = "running")]
    pub status: JobStatus,
    /// The source has been listed to its end.
    pub exhausted: bool,
    #[schema(value_type = Object)]
    pub counters: JobCounters,
    /// How many documents have passed each stage; told of one job, not in lists.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<JobProgress>,
    /// How fast it goes; null before there is anything to measure.
    pub pace: Option<PaceView>,
    pub config: serde_json::Value,
    pub initiated_by: Option<Uuid>,
    pub error: Option<String>,
    pub created_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub updated_at: DateTime<Utc>,
    pub finished_at: Option<DateTime<Utc>>,
    pub heartbeat_at: Option<DateTime<Utc>>,
    #[schema(value_type = Object)]
    pub standing: Standing,
}

/// On the average since the job began, without the time it was paused.
#[derive(Debug, Serialize, ToSchema)]
pub struct PaceView {
    pub documents_per_second: f64,
    pub chunks_per_second: f64,
    /// Null unless all there is was listed and somebody is at it: otherwise nobody knows.
    pub seconds_left: Option<u64>,
}

impl From<Pace> for PaceView {
    fn from(pace: Pace) -> Self {
        Self {
            documents_per_second: pace.documents_per_second,
            chunks_per_second: pace.chunks_per_second,
            seconds_left: pace.seconds_left,
        }
    }
}

impl JobView {
    /// As it is now; how far it is costs a look of its own, so only what is live is asked.
    pub async fn of(gateway: &Gateway, job: Job) -> Result<Self, Problem> {
        let live = matches!(job.status, JobStatus::Running | JobStatus::Paused);
        let progress = match live {
            true => gateway.catalog().job_progress(job.tenant, job.id).await?,
            false => JobProgress::default(),
        };
        Ok(Self::new(job, &progress, gateway.now()))
    }

    fn new(job: Job, progress: &JobProgress, now: DateTime<Utc>) -> Self {
        let standing = job.standing(progress, now);
        Self {
            pace: job.pace(standing.state, now).map(PaceView::from),
            standing,
            job_id: job.id.as_uuid(),
            kb_id: job.kb.as_uuid(),
            source_id: job.source.map(SourceId::as_uuid),
            status: job.status,
            exhausted: job.exhausted,
            counters: job.counters,
            progress: None,
            config: job.config,
            initiated_by: job.initiated_by.map(UserId::as_uuid),
            error: job.error,
            created_at: job.created_at,
            started_at: job.started_at,
            updated_at: job.updated_at,
            finished_at: job.finished_at,
            heartbeat_at: job.heartbeat_at,
        }
    }
}

/// What a job brought, or found to be there already.
#[derive(Debug, Serialize, ToSchema)]
pub struct JobDocumentView {
    pub source_uri: String,
    pub document_id: Uuid,
    pub version_id: Uuid,
    pub run_id: Uuid,
    #[schema(value_type = String, example = "new")]
    pub outcome: JobOutcome,
    #[schema(value_type = Option<String>)]
    pub run_status: Option<RunStatus>,
    pub chunks: u64,
    /// What could not be read of it.
    #[schema(value_type = Vec<Object>)]
    pub gaps: Vec<Gap>,
    #[schema(value_type = Vec<Object>)]
    pub warnings: Vec<Warning>,
    pub error: Option<String>,
    /// What its run waits for before it goes on, such as another job that is paused.
    pub waiting: Option<String>,
}

impl From<JobDocument> for JobDocumentView {
    fn from(row: JobDocument) -> Self {
        Self {
            source_uri: row.source_uri.to_string(),
            document_id: row.document.as_uuid(),
            version_id: row.version.as_uuid(),
            run_id: row.run.as_uuid(),
            outcome: row.outcome,
            run_status: row.run_status,
            chunks: row.chunks,
            gaps: row.gaps,
            warnings: row.warnings,
            error: row.error,
            waiting: row.waiting,
        }
    }
}

/// Something of a source that could not be taken in.
#[derive(Debug, Serialize, ToSchema)]
pub struct JobProblemView {
    pub source_uri: Option<String>,
    pub message: String,
}

/// A document that answers no more, as its source shows it no more.
#[derive(Debug, Serialize, ToSchema)]
pub struct JobRemovalView {
    pub source_uri: String,
    pub document_id: Uuid,
    pub removed_at: DateTime<Utc>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateJob {
    /// By name or id.
    pub kb: String,
    pub folder: FolderBody,
}

/// A folder of the machine the server runs on.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FolderBody {
    /// Absolute paths of files and folders; a name that is not UTF-8 as a `file://` URI.
    #[serde(with = "sources::folder::roots")]
    #[schema(value_type = Vec<String>, min_items = 1)]
    pub roots: Vec<PathBuf>,
    /// Put on every document.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// Whether a document whose file is gone stops answering.
    #[serde(default)]
    pub remove_missing: bool,
}

impl TryFrom<FolderBody> for FolderSource {
    type Error = Problem;

    /// Where the server happens to have been started must not matter: paths are absolute.
    fn try_from(body: FolderBody) -> Result<Self, Problem> {
        let absolute = body.roots.iter().all(|root| root.is_absolute());
        if body.roots.is_empty() || !absolute {
            return Err(Problem::unprocessable(
                "roots are absolute paths, at least one",
            ));
        }
        Ok(Self {
            roots: body.roots,
            metadata: body.metadata,
            remove_missing: body.remove_missing,
        })
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct JobQuery {
    #[param(value_type = Option<String>, pattern = "^(not_started|running|paused|completed|failed|canceled)$")]
    status: Option<JobStatus>,
    cursor: Option<String>,
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    #[param(minimum = 1, maximum = 10000)]
    page: Option<u32>,
}

/// Newest first.
#[utoipa::path(get, path = "/v1/jobs", tag = "jobs", params(JobQuery),
    responses((status = 200, body = Rows<JobView>)))]
async fn list(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Asked(asked): Asked<JobQuery>,
) -> Result<Json<Rows<JobView>>, Problem> {
    let filter = JobFilter {
        status: asked.status,
        ..JobFilter::default()
    };
    let paging = Paging {
        cursor: asked.cursor,
        limit: asked.limit,
        page: asked.page,
    };
    let read = |page| gateway.catalog().jobs(who.tenant, filter.clone(), page);
    let jobs = paging.read(read).await?;
    let mut items = Vec::with_capacity(jobs.items.len());
    for job in jobs.items {
        items.push(JobView::of(&gateway, job).await?);
    }
    let next = jobs.next;
    Ok(Json(Rows { items, next }))
}

/// Makes a job; it begins when it is started.
#[utoipa::path(post, path = "/v1/jobs", tag = "jobs", request_body = CreateJob,
    responses((status = 201, body = JobView)))]
async fn create(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Sent(sent): Sent<CreateJob>,
) -> Result<(StatusCode, Json<JobView>), Problem> {
    gateway.check_disk()?;
    let kb = gateway.kb(who.tenant, &sent.kb).await?;
    gateway.check_operator(&who)?;
    let config = FolderSource::try_from(sent.folder)?;
    let job = NewJob {
        kb: kb.id,
        source: None,
        config: serde_json::to_value(config).map_err(|error| Problem::internal(&error))?,
        initiated_by: who.user,
    };
    let job = gateway.catalog().create_job(who.tenant, job, gateway.now());
    let job = JobView::of(&gateway, job.await?).await?;
    Ok((StatusCode::CREATED, Json(job)))
}

#[utoipa::path(get, path = "/v1/jobs/{job}", tag = "jobs", params(("job" = Uuid, Path)),
    responses((status = 200, body = JobView)))]
async fn show(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named(job): Named<Uuid>,
) -> Result<Json<JobView>, Problem> {
    let job = JobId::from_uuid(job);
    let progress = gateway.catalog().job_progress(who.tenant, job).await?;
    let job = gateway.catalog().job(who.tenant, job).await?;
    let view = JobView::new(job, &progress, gateway.now());
    Ok(Json(JobView {
        progress: Some(progress),
        ..view
    }))
}

/// What the job brought or found, in the order it met them.
#[utoipa::path(get, path = "/v1/jobs/{job}/documents", tag = "jobs",
    params(("job" = Uuid, Path), Paging),
    responses((status = 200, body = Rows<JobDocumentView>)))]
async fn documents(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named(job): Named<Uuid>,
    Asked(paging): Asked<Paging>,
) -> Result<Json<Rows<JobDocumentView>>, Problem> {
    let job = JobId::from_uuid(job);
    let read = |page| gateway.catalog().job_documents(who.tenant, job, page);
    Ok(Json(Rows::of(
        paging.read(read).await?,
        JobDocumentView::from,
    )))
}

/// What the job could not take in, and why.
#[utoipa::path(get, path = "/v1/jobs/{job}/problems", tag = "jobs",
    params(("job" = Uuid, Path), Paging),
    responses((status = 200, body = Rows<JobProblemView>)))]
async fn problems(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named(job): Named<Uuid>,
    Asked(paging): Asked<Paging>,
) -> Result<Json<Rows<JobProblemView>>, Problem> {
    let job = JobId::from_uuid(job);
    let read = |page| gateway.catalog().job_problems(who.tenant, job, page);
    let view = |problem: catalog::Problem| JobProblemView {
        source_uri: problem.source_uri.map(|uri| uri.to_string()),
        message: problem.message,
    };
    Ok(Json(Rows::of(paging.read(read).await?, view)))
}

/// What the job removed because its source shows it no more.
#[utoipa::path(get, path = "/v1/jobs/{job}/removals", tag = "jobs",
    params(("job" = Uuid, Path), Paging),
    responses((status = 200, body = Rows<JobRemovalView>)))]
async fn removals(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named(job): Named<Uuid>,
    Asked(paging): Asked<Paging>,
) -> Result<Json<Rows<JobRemovalView>>, Problem> {
    let job = JobId::from_uuid(job);
    let read = |page| gateway.catalog().job_removals(who.tenant, job, page);
    let view = |removal: catalog::JobRemoval| JobRemovalView {
        source_uri: removal.source_uri.to_string(),
        document_id: removal.document.as_uuid(),
        removed_at: removal.at,
    };
    Ok(Json(Rows::of(paging.read(read).await?, view)))
}

/// Begins; 409 while it runs already.
#[utoipa::path(post, path = "/v1/jobs/{job}/start", tag = "jobs",
    params(("job" = Uuid, Path)), responses((status = 202, body = JobView)))]
async fn start(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(job): Named<Uuid>,
) -> Result<(StatusCode, Json<JobView>), Problem> {
    gateway.check_disk()?;
    let (tenant, job, now) = named(&gateway, &who, job);
    let job = gateway.catalog().start_job(tenant, job, now).await?;
    Ok((
        StatusCode::ACCEPTED,
        Json(JobView::of(&gateway, job).await?),
    ))
}

/// Takes effect at the next gate.
#[utoipa::path(post, path = "/v1/jobs/{job}/pause", tag = "jobs",
    params(("job" = Uuid, Path)), responses((status = 202, body = JobView)))]
async fn pause(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(job): Named<Uuid>,
) -> Result<(StatusCode, Json<JobView>), Problem> {
    let (tenant, job, now) = named(&gateway, &who, job);
    let job = gateway.catalog().pause_job(tenant, job, now).await?;
    Ok((
        StatusCode::ACCEPTED,
        Json(JobView::of(&gateway, job).await?),
    ))
}

#[utoipa::path(post, path = "/v1/jobs/{job}/resume", tag = "jobs",
    params(("job" = Uuid, Path)), responses((status = 202, body = JobView)))]
async fn resume(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(job): Named<Uuid>,
) -> Result<(StatusCode, Json<JobView>), Problem> {
    let (tenant, job, now) = named(&gateway, &who, job);
    let job = gateway.catalog().resume_job(tenant, job, now).await?;
    Ok((
        StatusCode::ACCEPTED,
        Json(JobView::of(&gateway, job).await?),
    ))
}

/// Removes everything the job wrote and nothing else. May be repeated when interrupted, and
/// when done: it then answers as it did.
#[utoipa::path(post, path = "/v1/jobs/{job}/cancel", tag = "jobs",
    params(("job" = Uuid, Path)), responses((status = 200, body = JobView)))]
async fn cancel(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(job): Named<Uuid>,
) -> Result<Json<JobView>, Problem> {
    let job = JobId::from_uuid(job);
    let job = gateway.engine().cancel_job(who.tenant, job).await?;
    Ok(Json(JobView::of(&gateway, job).await?))
}

fn named(gateway: &Gateway, who: &May<Manage>, job: Uuid) -> (TenantId, JobId, DateTime<Utc>) {
    (who.tenant, JobId::from_uuid(job), gateway.now())
}
