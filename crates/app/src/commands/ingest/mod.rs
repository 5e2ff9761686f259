//! `ingest`: files and folders in, and waiting until they can be searched.
//!
//! Files are walked in order and sent a few at a time; each answer says whether the
//! document is new, a new version, or skipped. Runs are then followed until they end,
//! so the exit code tells the truth. Interrupted, nothing is lost: what was taken in is
//! finished by the next command or server, and the same command again skips it.

mod form;
mod progress;
mod report;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use axum::http::Method;
use futures::{StreamExt as _, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use sources::{Cursor, Folder, Found};
use uuid::Uuid;

use crate::cli::Ingest;
use crate::client::{Client, escaped};
use crate::config::Config;
use crate::session::{Needs, Session};

use progress::Progress;
use report::{Line, Outcome, Report};

/// Files on their way at the same time: enough to hide the disk, few enough to stay small.
const IN_FLIGHT: usize = 8;
const BATCH: usize = 256;
/// Runs asked about at a time; they end about in the order they began.
const WINDOW: usize = 32;
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What the API said of one file.
#[derive(Debug, Deserialize)]
struct Taken {
    outcome: Outcome,
    reason: Option<String>,
    run_id: Option<Uuid>,
    doc_id: Uuid,
    version_id: Uuid,
}

/// A document whose run has not ended yet.
struct Pending {
    uri: String,
    document: Uuid,
    run: Uuid,
    outcome: Outcome,
}

pub async fn run(config: &Config, args: &Ingest) -> anyhow::Result<ExitCode> {
    let folder = Folder::new(&args.paths)?;
    let session = Session::open(config, Needs::Workers).await?;
    let client = &session.client;
    ensure_kb(client, &args.kb).await?;
    let mut report = Report::new(args.json);
    let progress = Progress::start();
    let mut pending = take_all(client, args, &folder, &mut report, &progress).await?;
    progress.all_found();
    follow(client, &mut pending, &mut report, &progress).await?;
    progress.finish();
    session.close().await?;
    report.finish()
}

async fn ensure_kb(client: &Client, name: &str) -> anyhow::Result<()> {
    let found = client
        .get::<Value>(&format!("/v1/kbs/{}", escaped(name)))
        .await;
    if found.is_ok() {
        return Ok(());
    }
    // Somebody else may have made it meanwhile; then it is there, which is all we want.
    let made = client
        .post::<Value>("/v1/kbs", &json!({ "name": name }))
        .await;
    match made {
        Ok(_) => Ok(()),
        Err(error) => {
            let found = client
                .get::<Value>(&format!("/v1/kbs/{}", escaped(name)))
                .await;
            found.map(|_| ()).map_err(|_| error)
        }
    }
}

/// Sends every file; ends when all are taken in, skipped or refused.
async fn take_all(
    client: &Client,
    args: &Ingest,
    folder: &Folder,
    report: &mut Report,
    progress: &Progress,
) -> anyhow::Result<Vec<Pending>> {
    let mut walk = folder.walk(Cursor::default());
    let mut pending = Vec::new();
    loop {
        let (returned, batch) = tokio::task::spawn_blocking(move || {
            let batch = walk.next_batch(BATCH);
            (walk, batch)
        })
        .await?;
        walk = returned;
        progress.found(batch.found.len() as u64);
        for problem in batch.problems {
            report.add(Line::unread(problem.path.as_deref(), &problem.message))?;
        }
        let sent = batch.found.into_iter().map(|found| async move {
            let taken = take(client, args, &found).await;
            (found, taken)
        });
        let mut answers = stream::iter(sent).buffered(IN_FLIGHT);
        while let Some((found, taken)) = answers.next().await {
            progress.taken();
            match taken {
                Ok(taken) => settle(client, found, taken, &mut pending, report, progress).await?,
                Err(error) => {
                    progress.ended();
                    report.add(Line::failed(found.uri.as_str(), None, &error))?;
                }
            }
        }
        if batch.exhausted {
            return Ok(pending);
        }
    }
}

async fn take(client: &Client, args: &Ingest, found: &Found) -> anyhow::Result<Taken> {
    let path = found.path.clone();
    let opened = tokio::task::spawn_blocking(move || sources::folder::open(&path)).await??;
    let form = form::Form::new()
        .text("kb", &args.kb)
        .text("source_uri", found.uri.as_str())
        .text("order", opened.order.as_str())
        .text("metadata", &metadata(&args.metadata));
    let (kind, body) = form.file(&found.path, opened.file);
    let (_, answer) = client.send(Method::POST, "/v1/ingest", &kind, body).await?;
    let answer = axum::body::to_bytes(answer, 1 << 20).await?;
    serde_json::from_slice(&answer).context("the answer is not what this version expects")
}

fn metadata(pairs: &[(String, String)]) -> String {
    let pairs = pairs.iter().map(|(key, value)| (key.clone(), json!(value)));
    Value::Object(pairs.collect()).to_string()
}

/// What is there already ends here; everything else ends with its run.
async fn settle(
    client: &Client,
    found: Found,
    taken: Taken,
    pending: &mut Vec<Pending>,
    report: &mut Report,
    progress: &Progress,
) -> anyhow::Result<()> {
    let uri = found.uri.to_string();
    // Bytes already on their way are waited for too: they are not there until that run ends.
    let runs = taken.outcome != Outcome::Skipped || taken.reason.as_deref() == Some("live_run");
    if let (true, Some(run)) = (runs, taken.run_id) {
        pending.push(Pending {
            uri,
            document: taken.doc_id,
            run,
            outcome: taken.outcome,
        });
        return Ok(());
    }
    progress.ended();
    let version: Value = client
        .get(&format!("/v1/versions/{}", taken.version_id))
        .await?;
    report.add(Line {
        source_uri: Some(uri),
        document_id: Some(taken.doc_id),
        run_id: taken.run_id,
        outcome: taken.outcome,
        chunks: version["chunks"].as_u64().unwrap_or(0),
        error: None,
    })
}

/// Asks about the oldest runs until every one has ended.
async fn follow(
    client: &Client,
    pending: &mut Vec<Pending>,
    report: &mut Report,
    progress: &Progress,
) -> anyhow::Result<()> {
    while !pending.is_empty() {
        let asked = pending.len().min(WINDOW);
        let mut waiting = Vec::with_capacity(asked);
        for one in pending.drain(..asked) {
            let run: Value = client.get(&format!("/v1/runs/{}", one.run)).await?;
            match ended(&run) {
                Some(error) => {
                    progress.ended();
                    report.add(one.line(&run, error))?;
                }
                None => waiting.push(one),
            }
        }
        let idle = waiting.len() == asked;
        pending.splice(..0, waiting);
        if idle {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
    Ok(())
}

/// `None` while the run lives; else what went wrong, if anything.
fn ended(run: &Value) -> Option<Option<String>> {
    match run["status"].as_str() {
        Some("succeeded") => Some(None),
        Some("failed") => {
            let why = run["error"]["message"].as_str().unwrap_or("the run failed");
            Some(Some(why.to_owned()))
        }
        Some("canceled") => Some(Some("the run was canceled".to_owned())),
        _ => None,
    }
}

impl Pending {
    fn line(self, run: &Value, error: Option<String>) -> Line {
        Line {
            source_uri: Some(self.uri),
            document_id: Some(self.document),
            run_id: Some(self.run),
            outcome: if error.is_some() {
                Outcome::Failed
            } else {
                self.outcome
            },
            chunks: run["stats"]["chunks_created"].as_u64().unwrap_or(0),
            error,
        }
    }
}
