//! Jobs: whole folders on their way, to be paused, resumed and canceled.

use std::path::PathBuf;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::Redirect;
use axum::routing::{get, post};
use catalog::{Job, JobCounters, JobFilter, NewJob, Page};
use engine::jobs::FolderSource;
use model::{JobId, JobStatus};
use serde::Deserialize;
use uuid::Uuid;

use super::page::{Filled, Frame, Shown, Trouble, Visitor, show};
use super::shown::{Moment, State as Word};
use crate::auth::{Manage, Read};
use crate::extract::Named;
use crate::gateway::Gateway;
use crate::problem::Problem;

const ROWS: u32 = 50;

pub fn routes() -> Router<Gateway> {
    Router::new()
        .route("/jobs", get(jobs).post(create))
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
}

struct JobLine {
    id: JobId,
    roots: String,
    state: Word,
    counters: JobCounters,
    exhausted: bool,
    error: Option<String>,
    created: Moment,
    /// What may be asked of it now: the word of the route, the word of the button.
    actions: Vec<(&'static str, &'static str)>,
}

impl JobLine {
    fn done(&self) -> u64 {
        self.counters
            .docs_seen
            .saturating_sub(self.counters.runs_open)
    }
}

impl From<Job> for JobLine {
    fn from(job: Job) -> Self {
        Self {
            id: job.id,
            roots: roots(&job),
            state: state(job.status),
            counters: job.counters,
            exhausted: job.exhausted,
            created: Moment(job.created_at),
            actions: actions(job.status),
            error: job.error,
        }
    }
}

fn roots(job: &Job) -> String {
    let roots = job.config.get("roots").and_then(|roots| roots.as_array());
    let roots = roots.into_iter().flatten().filter_map(|root| root.as_str());
    roots.collect::<Vec<_>>().join(", ")
}

fn state(status: JobStatus) -> Word {
    match status {
        JobStatus::NotStarted => Word::new("not started", "quiet"),
        JobStatus::Running => Word::new("running", "busy"),
        JobStatus::Paused => Word::new("paused", "wait"),
        JobStatus::Completed => Word::new("completed", "good"),
        JobStatus::Failed => Word::new("failed", "bad"),
        JobStatus::Canceled => Word::new("canceled", "quiet"),
    }
}

fn actions(status: JobStatus) -> Vec<(&'static str, &'static str)> {
    match status {
        JobStatus::NotStarted => vec![("start", "Start"), ("cancel", "Cancel")],
        JobStatus::Running => vec![("pause", "Pause"), ("cancel", "Cancel")],
        JobStatus::Paused => vec![("resume", "Resume"), ("cancel", "Cancel")],
        JobStatus::Completed | JobStatus::Failed => vec![("start", "Run again")],
        JobStatus::Canceled => Vec::new(),
    }
}

async fn jobs(State(gateway): State<Gateway>, who: Visitor<Read>) -> Shown {
    let frame = Frame::new(&gateway, &who, "jobs").await?;
    let page = Page::first(ROWS);
    let jobs = gateway
        .catalog()
        .jobs(who.tenant, JobFilter::default(), page);
    let lines = jobs.await?.items.into_iter().map(JobLine::from).collect();
    show(&JobsPage { frame, lines })
}

#[derive(Deserialize)]
struct FolderForm {
    kb: String,
    folder: String,
    remove_missing: Option<String>,
}

/// Makes a job and starts it: a person who names a folder wants it read.
async fn create(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Filled(form): Filled<FolderForm>,
) -> Result<Redirect, Trouble> {
    gateway.check_disk()?;
    let root = PathBuf::from(form.folder.trim());
    if !root.is_absolute() {
        return Err(Problem::invalid("a folder is named by its absolute path").into());
    }
    let kb = gateway.kb(who.tenant, &form.kb).await?;
    let config = FolderSource {
        roots: vec![root],
        metadata: serde_json::Map::new(),
        remove_missing: form.remove_missing.is_some(),
    };
    let job = NewJob {
        kb: kb.id,
        source: None,
        config: serde_json::to_value(config).map_err(|error| Problem::internal(&error))?,
        initiated_by: who.user,
    };
    let (catalog, now) = (gateway.catalog(), gateway.now());
    gateway.check_operator(&who)?;
    let job = catalog.create_job(who.tenant, job, now).await?;
    catalog.start_job(who.tenant, job.id, now).await?;
    Ok(Redirect::to("/jobs"))
}

macro_rules! told {
    ($($name:ident => $method:ident;)*) => {$(
        async fn $name(
            State(gateway): State<Gateway>,
            who: Visitor<Manage>,
            Named(job): Named<Uuid>,
        ) -> Result<Redirect, Trouble> {
            let job = JobId::from_uuid(job);
            gateway.catalog().$method(who.tenant, job, gateway.now()).await?;
            Ok(Redirect::to("/jobs"))
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
    Named(job): Named<Uuid>,
) -> Result<Redirect, Trouble> {
    let job = JobId::from_uuid(job);
    gateway.engine().cancel_job(who.tenant, job).await?;
    Ok(Redirect::to("/jobs"))
}
