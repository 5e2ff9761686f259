//! Jobs: whole folders on their way, to be paused, resumed and canceled.

use std::path::PathBuf;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::REFERER;
use axum::response::Redirect;
use axum::routing::{get, post};
use catalog::{
    Job, JobChanges, JobCounters, JobDocument, JobFilter, JobProgress, Listed, NewJob, Pace, Page,
    Problem as Met, Standing, State as Stands,
};
use engine::jobs::FolderSource;
use futures::future::try_join_all;
use model::{JobId, JobStatus};
use serde::Deserialize;
use uuid::Uuid;

use super::page::{Filled, Frame, Shown, Trouble, Visitor, show};
use super::shown::{Moment, State as Word};
use crate::auth::{Manage, Read};
use crate::extract::{Asked, Named};
use crate::gateway::Gateway;
use crate::problem::Problem;

const ROWS: u32 = 20;
const DOCUMENTS: u32 = 50;

pub fn routes() -> Router<Gateway> {
    Router::new()
        .route("/jobs", get(jobs).post(create))
        .route("/jobs/{job}", get(job))
        .route("/jobs/{job}/start", post(start))
        .route("/jobs/{job}/pause", post(pause))
        .route("/jobs/{job}/resume", post(resume))
}

/// Canceling removes what the job wrote, which takes as long as that is much.
pub fn untimed_routes() -> Router<Gateway> {
    Router::new().route("/jobs/{job}/cancel", post(cancel))
}

#[derive(Template)]
#[template(path = "jobs.html")]
struct JobsPage {
    frame: Frame,
    lines: Vec<JobLine>,
    next: Option<String>,
}

/// A job as a card shows it.
pub struct JobLine {
    pub id: JobId,
    pub roots: String,
    pub state: Word,
    pub counters: JobCounters,
    pub progress: JobProgress,
    pub pace: Option<Pace>,
    /// What it is at, or waits for.
    pub doing: String,
    pub live: bool,
    pub error: Option<String>,
    pub created: Moment,
    pub finished: Option<Moment>,
    pub heartbeat: Option<Moment>,
    /// What may be asked of it now: the word of the route, the word of the button.
    pub actions: Vec<(&'static str, &'static str)>,
}

impl JobLine {
    pub async fn read(gateway: &Gateway, job: Job) -> Result<Self, Problem> {
        let progress = gateway.catalog().job_progress(job.tenant, job.id).await?;
        Ok(Self::new(gateway, job, progress))
    }

    fn new(gateway: &Gateway, job: Job, progress: JobProgress) -> Self {
        let live = matches!(job.status, JobStatus::Running | JobStatus::Paused);
        let canceled = job.status == JobStatus::Canceled;
        let standing = job.standing(&progress, gateway.now());
        let stands = standing.state;
        Self {
            id: job.id,
            roots: roots(&job.config),
            state: state(&job, stands),
            counters: job.counters,
            progress,
            pace: job.pace(stands, gateway.now()),
            doing: doing(&job, standing),
            live,
            created: Moment(job.created_at),
            finished: job.finished_at.map(Moment),
            heartbeat: job.heartbeat_at.filter(|_| live || canceled).map(Moment),
            actions: actions(job.status, stands),
            error: job.error,
        }
    }

    fn stages(&self) -> [(&'static str, u64); 4] {
        let done = &self.progress;
        [
            ("Taken in", done.taken_in),
            ("Parsed", done.parsed),
            ("Embedded", done.embedded),
            ("Done", done.ended),
        ]
    }

    pub fn failed(&self) -> u64 {
        failed(&self.counters)
    }
}

/// Files that were refused have no run that could have failed.
fn failed(counters: &JobCounters) -> u64 {
    counters.runs_failed + counters.docs_refused
}

/// The folders a job or a source reads.
pub fn roots(config: &serde_json::Value) -> String {
    let roots = config.get("roots").and_then(|roots| roots.as_array());
    let roots = roots.into_iter().flatten().filter_map(|root| root.as_str());
    roots.collect::<Vec<_>>().join(", ")
}

/// What it is at, or what it waits for.
fn doing(job: &Job, standing: Standing) -> String {
    let detail = standing.detail.unwrap_or_default();
    match (standing.state, job.exhausted) {
        (Stands::Running, false) => "Looking through the folder".to_owned(),
        (Stands::Running, true) => "Working off what it found".to_owned(),
        (Stands::Paused, _) => "Waiting for you to resume it".to_owned(),
        (Stands::Pausing, _) => format!("Pausing: {detail}"),
        (Stands::Queued | Stands::Stalled | Stands::Waiting | Stands::BackingOff, _) => {
            format!("Waiting: {detail}")
        }
        (Stands::Canceling, _) => "Removing what it brought".to_owned(),
        (Stands::Completed, _) if job.counters.runs_open > 0 => "Begun again in part".to_owned(),
        (Stands::Completed, _) if failed(&job.counters) > 0 => {
            "Not everything could be taken in".to_owned()
        }
        _ => String::new(),
    }
}

fn state(job: &Job, stands: Stands) -> Word {
    match job.status {
        JobStatus::NotStarted if stands == Stands::Canceled => Word::new("canceled", "quiet"),
        JobStatus::NotStarted => Word::new("not started", "quiet"),
        JobStatus::Running => Word::new("running", "busy"),
        JobStatus::Paused => Word::new("paused", "wait"),
        JobStatus::Completed if failed(&job.counters) > 0 => Word::new("completed", "wait"),
        JobStatus::Completed => Word::new("completed", "good"),
        JobStatus::Failed => Word::new("failed", "bad"),
        JobStatus::Canceled => Word::new("being canceled", "quiet"),
    }
}

fn actions(status: JobStatus, stands: Stands) -> Vec<(&'static str, &'static str)> {
    match status {
        JobStatus::NotStarted => vec![("start", "Start")],
        JobStatus::Running => vec![("pause", "Pause"), ("cancel", "Cancel")],
        JobStatus::Paused => vec![("resume", "Resume"), ("cancel", "Cancel")],
        JobStatus::Completed | JobStatus::Failed => {
            vec![("start", "Run again"), ("cancel", "Take back")]
        }
        JobStatus::Canceled if stands == Stands::Stalled => vec![("cancel", "Go on canceling")],
        JobStatus::Canceled => Vec::new(),
    }
}

#[derive(Debug, Deserialize)]
struct Turned {
    cursor: Option<String>,
    /// Of what a job could not take in.
    problems: Option<String>,
}

impl Turned {
    fn page(self, limit: u32) -> Page {
        Page {
            after: self.cursor,
            limit,
        }
    }
}

fn following(next: Option<String>) -> Option<String> {
    next.map(|cursor| format!("?cursor={}", super::shown::encoded(&cursor)))
}

async fn jobs(
    State(gateway): State<Gateway>,
    who: Visitor<Read>,
    Asked(turned): Asked<Turned>,
) -> Shown {
    let frame = Frame::new(&gateway, &who, "jobs").await?;
    let page = turned.page(ROWS);
    let listed = gateway
        .catalog()
        .jobs(who.tenant, JobFilter::default(), page)
        .await?;
    let lines = listed.items.into_iter();
    let lines = lines.map(|job| JobLine::read(&gateway, job));
    show(&JobsPage {
        frame,
        lines: try_join_all(lines).await?,
        next: following(listed.next),
    })
}

#[derive(Template)]
#[template(path = "job.html")]
struct JobPage {
    frame: Frame,
    job: JobLine,
    changes: JobChanges,
    met: Listed<Met>,
    documents: Vec<JobDocument>,
    next: Option<String>,
}

async fn job(
    State(gateway): State<Gateway>,
    who: Visitor<Read>,
    Named(job): Named<Uuid>,
    Asked(turned): Asked<Turned>,
) -> Shown {
    let (id, catalog) = (JobId::from_uuid(job), gateway.catalog());
    let job = catalog.job(who.tenant, id).await?;
    let met = Page {
        after: turned.problems.clone(),
        limit: DOCUMENTS,
    };
    let page = turned.page(DOCUMENTS);
    let documents = catalog.job_documents(who.tenant, id, page).await?;
    show(&JobPage {
        frame: Frame::new(&gateway, &who, "jobs").await?,
        job: JobLine::read(&gateway, job).await?,
        changes: catalog.job_changes(who.tenant, id).await?,
        met: catalog.job_problems(who.tenant, id, met).await?,
        documents: documents.items,
        next: following(documents.next),
    })
}

#[derive(Deserialize)]
struct FolderForm {
    kb: String,
    folder: String,
    remove_missing: Option<String>,
}

/// A folder of the machine the server runs on, from a form.
pub fn folder(path: &str, remove_missing: bool) -> Result<serde_json::Value, Problem> {
    let root = PathBuf::from(path.trim());
    if !root.is_absolute() {
        return Err(Problem::invalid("a folder is named by its absolute path"));
    }
    let config = FolderSource {
        roots: vec![root],
        metadata: serde_json::Map::new(),
        remove_missing,
    };
    serde_json::to_value(config).map_err(|error| Problem::internal(&error))
}

/// Makes a job and starts it: a person who names a folder wants it read.
async fn create(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Filled(form): Filled<FolderForm>,
) -> Result<Redirect, Trouble> {
    gateway.check_disk()?;
    let kb = gateway.kb(who.tenant, &form.kb).await?;
    let job = NewJob {
        kb: kb.id,
        source: None,
        config: folder(&form.folder, form.remove_missing.is_some())?,
        initiated_by: who.user,
    };
    let (catalog, now) = (gateway.catalog(), gateway.now());
    gateway.check_operator(&who)?;
    catalog.begin_job(who.tenant, job, now).await?;
    Ok(Redirect::to("/jobs"))
}

/// Whoever acts on a job's own page stays there; everybody else sees all jobs.
pub fn back(headers: &HeaderMap, own: &str, list: &str) -> Redirect {
    let from = headers.get(REFERER).and_then(|from| from.to_str().ok());
    let stays = from.is_some_and(|from| from.ends_with(own));
    Redirect::to(if stays { own } else { list })
}

fn after(headers: &HeaderMap, job: JobId) -> Redirect {
    back(headers, &format!("/jobs/{job}"), "/jobs")
}

macro_rules! told {
    ($($name:ident => $method:ident;)*) => {$(
        async fn $name(
            State(gateway): State<Gateway>,
            who: Visitor<Manage>,
            headers: HeaderMap,
            Named(job): Named<Uuid>,
        ) -> Result<Redirect, Trouble> {
            let job = JobId::from_uuid(job);
            gateway.catalog().$method(who.tenant, job, gateway.now()).await?;
            Ok(after(&headers, job))
        }
    )*};
}

told! {
    start => start_job;
    pause => pause_job;
    resume => resume_job;
}

async fn cancel(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    headers: HeaderMap,
    Named(job): Named<Uuid>,
) -> Result<Redirect, Trouble> {
    let job = JobId::from_uuid(job);
    gateway.engine().cancel_job(who.tenant, job).await?;
    Ok(after(&headers, job))
}
