//! `ingest`: files and folders in, and waiting until they can be searched.
//!
//! Underneath it is a job over those paths. The command makes it, starts it, and
//! follows it until nothing is left to do, so the exit code tells the truth. Killed,
//! nothing is lost: the job goes on with the next command or server, and the same
//! command again finds what is there and skips it.

mod progress;
mod report;
mod telling;

use std::process::ExitCode;
use std::time::Duration;

use catalog::Pace;
use serde::Deserialize;
use serde_json::{Value, json};
use sources::folder::roots::written;
use sources::{Cursor, Folder};
use uuid::Uuid;

use crate::cli::Ingest;
use crate::client::{Client, escaped};
use crate::config::Config;
use crate::explain::hinted;
use crate::folder;
use crate::session::{Needs, Session};

use progress::{Passed, Progress};
use report::Report;
use telling::Telling;

const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Files counted between two looks at whether anyone still wants to know.
const COUNTED: usize = 4096;

#[derive(Debug, Deserialize)]
struct Job {
    job_id: Uuid,
    status: String,
    error: Option<String>,
    progress: Option<Passed>,
    counters: serde_json::Value,
    pace: Option<Pace>,
    standing: Standing,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
struct Standing {
    state: String,
    detail: Option<String>,
}

pub async fn run(config: &Config, args: &Ingest) -> anyhow::Result<ExitCode> {
    let folder = Folder::new(&args.paths)?;
    let session = Session::open(config, Needs::Workers).await?;
    let reported = bring(&session.client, config, args, folder).await;
    session.close_after(reported).await?.finish()
}

async fn bring(
    client: &Client,
    config: &Config,
    args: &Ingest,
    folder: Folder,
) -> anyhow::Result<Report> {
    ensure_kb(client, &args.kb).await?;
    let job = begin(client, args, &folder).await?;
    eprintln!("{}", acknowledged(job));
    let progress = Progress::start(count(folder).await?);
    let mut telling = Telling::new(job, Report::new(args.json));
    follow(client, &mut telling, &progress, &config.data).await?;
    let report = telling.finish(client).await?;
    progress.finish();
    Ok(report)
}

async fn ensure_kb(client: &Client, name: &str) -> anyhow::Result<()> {
    let path = format!("/v1/kbs/{}", escaped(name));
    if client.get::<Value>(&path).await.is_ok() {
        return Ok(());
    }
    // Somebody else may make it at the same time; then it is there, which is all we want.
    let made = client
        .post::<Value>("/v1/kbs", &json!({ "name": name }))
        .await;
    match made {
        Ok(_) => Ok(()),
        Err(error) => client
            .get::<Value>(&path)
            .await
            .map(|_| ())
            .map_err(|_| error),
    }
}

async fn begin(client: &Client, args: &Ingest, folder: &Folder) -> anyhow::Result<Uuid> {
    let metadata = args
        .metadata
        .iter()
        .map(|(key, value)| (key.clone(), json!(value)));
    let metadata: serde_json::Map<_, _> = metadata.collect();
    let roots = folder.roots().iter().map(|root| written(root));
    let roots: Vec<_> = roots.collect();
    let body = json!({
        "kb": args.kb,
        "folder": {
            "roots": roots,
            "metadata": metadata,
            "remove_missing": args.remove_missing,
        },
    });
    let job: Job = client.post("/v1/jobs", &body).await?;
    let started: Job = client
        .post(&format!("/v1/jobs/{}/start", job.job_id), &json!({}))
        .await?;
    Ok(started.job_id)
}

/// Told once the job is durable: from here on nothing that was asked for may be lost.
fn acknowledged(job: Uuid) -> String {
    format!(
        "{BEGUN}{job} has begun; were this command killed, the next one or a server would go on with it"
    )
}

const BEGUN: &str = "job ";

/// Whether an ingest that said this had been told that its job would be done.
pub fn is_acknowledged(said: &str) -> bool {
    let job = |line: &str| {
        let named = line.strip_prefix(BEGUN)?.split(' ').next()?;
        named.parse::<Uuid>().ok()
    };
    said.lines().any(|line| job(line).is_some())
}

/// How many files there are, so that it can be told how many are left.
async fn count(folder: Folder) -> anyhow::Result<u64> {
    let counting = tokio::task::spawn_blocking(move || {
        let mut walk = folder.walk(Cursor::default());
        let mut files = 0;
        loop {
            let batch = walk.next_batch(COUNTED);
            files += batch.found.len() as u64;
            if batch.exhausted {
                return files;
            }
        }
    });
    Ok(counting.await?)
}

/// Waits until the job has nothing left to do.
async fn follow(
    client: &Client,
    telling: &mut Telling,
    progress: &Progress,
    data: &std::path::Path,
) -> anyhow::Result<()> {
    let job = telling.job();
    let data = folder::Folder::create(data)?;
    let mut waiting = Waiting::default();
    loop {
        if data.is_full() {
            return Err(hinted(
                "the disk is full",
                "free some space and ingest again; what was taken in is kept",
            ));
        }
        let job: Job = client.get(&format!("/v1/jobs/{job}")).await?;
        if let Some(passed) = &job.progress {
            let failed = super::jobs::failed(&job.counters);
            progress.at(passed, failed, job.pace.as_ref());
        }
        telling.go_on(client).await?;
        match job.status.as_str() {
            "completed" => return Ok(()),
            "failed" => {
                let why = job.error.unwrap_or_default();
                return Err(hinted(
                    format!("the job failed: {why}"),
                    format!("mend the cause, then `gristmill jobs start {}`", job.job_id),
                ));
            }
            "canceled" | "not_started" => {
                return Err(hinted("the job was canceled", "ingest again to begin anew"));
            }
            _ => {
                if waiting.is_worth_telling(job.standing) {
                    refuse_stopped(client).await?;
                    progress.tell(&waiting.words());
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        }
    }
}

/// Looks that must find a job waiting for the same before it is told; a pause at once.
const LOOKS: u32 = 30;

/// What a job that does not move waits for, told once.
#[derive(Default)]
struct Waiting {
    seen: Standing,
    looks: u32,
}

impl Waiting {
    fn is_worth_telling(&mut self, now: Standing) -> bool {
        if self.seen != now {
            self.seen = now;
            self.looks = 0;
        }
        self.looks += 1;
        match self.seen.state.as_str() {
            "running" => false,
            "paused" => self.looks == 1,
            _ => self.looks == LOOKS,
        }
    }

    fn words(&self) -> String {
        let state = self.seen.state.replace('_', " ");
        let detail = self.seen.detail.as_deref().unwrap_or_default();
        let hint = match self.seen.state.as_str() {
            "queued" => "; is the server running with --no-workers?",
            _ => "",
        };
        format!("waiting: the job is {state}: {detail}{hint}")
    }
}

/// Nothing that waits for a stopped index goes on by itself.
async fn refuse_stopped(client: &Client) -> anyhow::Result<()> {
    let status: Value = client.get("/v1/status").await?;
    match status["stopped"].as_str() {
        None => Ok(()),
        Some(why) => Err(hinted(why, "what was taken in is kept; ingest again then")),
    }
}
