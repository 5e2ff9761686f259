//! `status`: how things stand.

use serde_json::Value;

use crate::cli::Status;
use crate::client::Client;
use crate::config::Config;
use crate::session::{Needs, Session};

use super::{cell, each, pace, print_line, print_text, standing};

pub async fn run(config: &Config, args: &Status) -> anyhow::Result<()> {
    let session = Session::open(config, Needs::Answers).await?;
    let status: Value = session.client.get("/v1/status").await?;
    if args.json {
        print_line(&status)?;
    } else {
        print_text(&counts(&status))?;
        print_text(&live_jobs(&session.client).await?)?;
        print_text(&refusing_jobs(&session.client).await?)?;
        print_text(&advice(&status))?;
    }
    session.close().await
}

fn counts(status: &Value) -> String {
    let n = |field: &str| status[field].as_u64().unwrap_or(0);
    format!(
        "documents  {} ({} answer, with {} chunks)\n\
         runs       {} queued and {} running ({} of both waiting), {} succeeded, {} failed, {} canceled\n\
         work       {} ready ({} of it stalled), {} under way, {} due later\n\
         set aside  {} dead letters\n\
         jobs       {} live\n",
        n("documents"),
        n("documents_active"),
        n("chunks_active"),
        n("runs_queued"),
        n("runs_running"),
        n("runs_waiting"),
        n("runs_succeeded"),
        n("runs_failed"),
        n("runs_canceled"),
        n("work_ready"),
        n("work_stalled"),
        n("work_leased"),
        n("work_waiting"),
        n("dead_letters"),
        n("jobs_live"),
    )
}

/// Of each state, those that began last.
const SHOWN: usize = 10;

/// Where each job stands that is not over, or did not come to its end.
async fn live_jobs(client: &Client) -> anyhow::Result<String> {
    let mut lines = String::new();
    for status in ["running", "paused", "canceled", "failed"] {
        let query = [("status", Some(status.to_owned()))];
        each(client, "/v1/jobs", &query, SHOWN, |job: Value| {
            let (id, stands, pace) = (cell(&job, "job_id"), standing(&job), pace(&job));
            lines.push_str(&format!("           {id} {stands}{pace}\n"));
            Ok(())
        })
        .await?;
    }
    Ok(lines)
}

/// Of the jobs that completed last, those that could not take in everything: no run tells of it.
async fn refusing_jobs(client: &Client) -> anyhow::Result<String> {
    let mut lines = String::new();
    let query = [("status", Some("completed".to_owned()))];
    each(client, "/v1/jobs", &query, SHOWN, |job: Value| {
        if job["counters"]["docs_refused"].as_u64() > Some(0) {
            let (id, stands) = (cell(&job, "job_id"), standing(&job));
            lines.push_str(&format!("           {id} {stands}\n"));
        }
        Ok(())
    })
    .await?;
    Ok(lines)
}

/// What is over and was not well, and where to read on.
fn advice(status: &Value) -> String {
    let mut lines = String::new();
    if status["runs_failed"].as_u64() > Some(0) {
        lines.push_str("failed     `gristmill runs --status failed` says why, and what to do\n");
    }
    if status["dead_letters"].as_u64() > Some(0) {
        lines.push_str("           `gristmill dead-letters` lists what can be replayed\n");
    }
    if let Some(why) = status["stopped"].as_str() {
        lines.push_str(&format!("stopped    {why}\n"));
    }
    lines
}
