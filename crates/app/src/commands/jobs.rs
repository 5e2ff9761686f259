//! `jobs`: ingestions of whole sources, and controlling them.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::cli::{JobAction, Jobs};
use crate::client::Client;
use crate::config::Config;
use crate::session::{Needs, Session};

use super::{cell, each, print_line, print_text, standing, table};

pub async fn run(config: &Config, args: &Jobs) -> anyhow::Result<()> {
    let session = Session::open(config, Needs::Answers).await?;
    let client = &session.client;
    match &args.action {
        None => list(client, args.json).await?,
        Some(JobAction::List { json }) => list(client, *json).await?,
        Some(JobAction::Show { job }) => {
            let job = show(client, *job).await?;
            print_text(&format!("{job:#}\n"))?;
        }
        Some(JobAction::Start { job }) => act(client, *job, "start").await?,
        Some(JobAction::Pause { job }) => act(client, *job, "pause").await?,
        Some(JobAction::Resume { job }) => act(client, *job, "resume").await?,
        Some(JobAction::Cancel { job }) => act(client, *job, "cancel").await?,
    }
    session.close().await
}

async fn act(client: &Client, job: Uuid, verb: &str) -> anyhow::Result<()> {
    let path = format!("/v1/jobs/{job}/{verb}");
    let job: Value = client.post(&path, &json!({})).await?;
    print_text(&format!("{} is {}\n", cell(&job, "job_id"), standing(&job)))
}

/// With what it could not take in, and why.
async fn show(client: &Client, job: Uuid) -> anyhow::Result<Value> {
    let path = format!("/v1/jobs/{job}");
    let mut shown: Value = client.get(&path).await?;
    let mut problems: Vec<Value> = Vec::new();
    let of_job = format!("{path}/problems");
    each(client, &of_job, &[], usize::MAX, |problem| {
        problems.push(problem);
        Ok(())
    })
    .await?;
    shown["problems"] = json!(problems);
    Ok(shown)
}

/// Files that were refused have no run that could have failed.
pub fn failed(counters: &Value) -> u64 {
    let n = |field: &str| counters[field].as_u64().unwrap_or(0);
    n("runs_failed") + n("docs_refused")
}

async fn list(client: &Client, json: bool) -> anyhow::Result<()> {
    if json {
        return each(client, "/v1/jobs", &[], usize::MAX, |job| print_line(&job)).await;
    }
    let mut rows = Vec::new();
    each(client, "/v1/jobs", &[], usize::MAX, |job: Value| {
        let counters = &job["counters"];
        rows.push(vec![
            cell(&job, "job_id"),
            standing(&job),
            cell(counters, "docs_seen"),
            cell(counters, "runs_open"),
            failed(counters).to_string(),
            cell(&job, "created_at"),
        ]);
        Ok(())
    })
    .await?;
    let head = ["JOB", "STATUS", "SEEN", "OPEN", "FAILED", "CREATED"];
    print_text(&table(&head, &rows))
}
