//! `status`: how things stand.

use serde_json::Value;

use crate::cli::Status;
use crate::config::Config;
use crate::session::{Needs, Session};

use super::{print_line, print_text};

pub async fn run(config: &Config, args: &Status) -> anyhow::Result<()> {
    let session = Session::open(config, Needs::Answers).await?;
    let status: Value = session.client.get("/v1/status").await?;
    session.close().await?;
    if args.json {
        return print_line(&status);
    }
    let n = |field: &str| status[field].as_u64().unwrap_or(0);
    print_text(&format!(
        "documents  {} ({} answer, with {} chunks)\n\
         runs       {} queued, {} running ({} of them waiting), {} succeeded, {} failed, {} canceled\n\
         jobs       {} live\n\
         work       {} ready ({} of it stalled), {} under way, {} due later\n\
         set aside  {} dead letters\n",
        n("documents"),
        n("documents_active"),
        n("chunks_active"),
        n("runs_queued"),
        n("runs_running"),
        n("runs_waiting"),
        n("runs_succeeded"),
        n("runs_failed"),
        n("runs_canceled"),
        n("jobs_live"),
        n("work_ready"),
        n("work_stalled"),
        n("work_leased"),
        n("work_waiting"),
        n("dead_letters"),
    ))?;
    match status["stopped"].as_str() {
        Some(why) => print_text(&format!("stopped    {why}\n")),
        None => Ok(()),
    }
}
