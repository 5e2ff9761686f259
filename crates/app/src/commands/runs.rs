//! `runs`: the processing of versions.

use serde_json::{Value, json};

use crate::cli::{RunAction, RunList, Runs};
use crate::client::Client;
use crate::config::Config;
use crate::session::{Needs, Session};

use super::{cell, each, print_line, print_text, standing, table};

/// A person does not read more than this; `--limit` asks for more.
const SHOWN: usize = 50;

pub async fn run(config: &Config, args: &Runs) -> anyhow::Result<()> {
    let session = Session::open(config, Needs::Answers).await?;
    match &args.action {
        None => list(&session.client, &args.list).await?,
        Some(RunAction::List(asked)) => list(&session.client, asked).await?,
        Some(RunAction::Show { run }) => {
            let run: Value = session.client.get(&format!("/v1/runs/{run}")).await?;
            print_text(&format!("{run:#}\n"))?;
        }
        Some(RunAction::Retry { run }) => {
            let path = format!("/v1/runs/{run}/retry");
            let queued: Value = session.client.post(&path, &json!({})).await?;
            print_text(&format!("{} is queued again\n", cell(&queued, "run_id")))?;
        }
    }
    session.close().await
}

async fn list(client: &Client, args: &RunList) -> anyhow::Result<()> {
    let query = [("status", args.status.clone())];
    if args.json {
        let most = args.limit.unwrap_or(usize::MAX);
        return each(client, "/v1/runs", &query, most, |run| print_line(&run)).await;
    }
    let mut rows = Vec::new();
    let most = args.limit.unwrap_or(SHOWN);
    each(client, "/v1/runs", &query, most, |run: Value| {
        let chunks = run["stats"]["chunks_created"].to_string();
        rows.push(vec![
            cell(&run, "run_id"),
            standing(&run),
            chunks,
            cell(&run, "source_uri"),
        ]);
        Ok(())
    })
    .await?;
    print_text(&table(&["RUN", "STATUS", "CHUNKS", "SOURCE"], &rows))
}
