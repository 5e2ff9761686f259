//! `verify`: the digest of a data folder, and every disagreement in it.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::Verify;
use crate::config::Config;
use crate::session::{Needs, Session};

use super::{cell, print_line, print_text};

pub async fn run(config: &Config, args: &Verify) -> anyhow::Result<ExitCode> {
    let session = Session::open(config, Needs::Answers).await?;
    let found: Value = session.client.post("/v1/verify", &json!({})).await?;
    session.close().await?;
    let disagreements = found["disagreements"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if args.json {
        print_line(&json!({
            "digest": found["digest"], "documents": found["documents"], "chunks": found["chunks"],
            "disagreements": disagreements, "work": found["work"],
        }))?;
    } else {
        print_text(&format!(
            "digest {}\n{} documents, {} chunks\n",
            cell(&found, "digest"),
            found["documents"],
            found["chunks"],
        ))?;
        for one in &disagreements {
            let chunk = one["chunk"]
                .as_str()
                .map(|c| format!(" ({c})"))
                .unwrap_or_default();
            print_text(&format!(
                "{}{chunk}: {}\n",
                cell(one, "source_uri"),
                cell(one, "what")
            ))?;
        }
    }
    Ok(if disagreements.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
