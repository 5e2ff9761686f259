//! `dead-letters`: what failed for good, and second chances for it.

use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};

use crate::cli::{DeadLetters, LetterAction};
use crate::client::Client;
use crate::config::Config;
use crate::session::{Needs, Session};

use super::{cell, each, print_line, print_text, table};

pub async fn run(config: &Config, args: &DeadLetters) -> anyhow::Result<()> {
    let session = Session::open(config, Needs::Answers).await?;
    let client = &session.client;
    let path = |letter| format!("/v1/dead-letters/{letter}");
    match &args.action {
        None => list(client, args.json).await?,
        Some(LetterAction::List { json }) => list(client, *json).await?,
        Some(LetterAction::Show { letter }) => {
            let letter: Value = client.get(&path(letter)).await?;
            print_text(&format!("{letter:#}\n"))?;
        }
        Some(LetterAction::Replay { letter }) => {
            let path = format!("{}/replay", path(letter));
            let replayed: Value = client.post(&path, &json!({})).await?;
            print_text(&said(&replayed))?;
        }
        Some(LetterAction::Drop { letter }) => {
            let (kind, body) = ("application/json", Body::empty());
            let path = path(letter);
            drop(client.send(Method::DELETE, &path, kind, body).await?);
            print_text(&format!("{letter} is dropped; its run stays failed\n"))?;
        }
    }
    session.close().await
}

fn said(replayed: &Value) -> String {
    let (run, at) = (cell(replayed, "run_id"), cell(replayed, "replayed_at"));
    match replayed["already"].as_bool() {
        Some(true) => format!("{run} was queued again at {at}; nothing is left to replay\n"),
        _ => format!("{run} is queued again\n"),
    }
}

async fn list(client: &Client, json: bool) -> anyhow::Result<()> {
    let path = "/v1/dead-letters";
    if json {
        return each(client, path, &[], usize::MAX, |letter| print_line(&letter)).await;
    }
    let mut rows = Vec::new();
    each(client, path, &[], usize::MAX, |letter: Value| {
        rows.push(vec![
            cell(&letter, "dead_letter_id"),
            cell(&letter, "step"),
            cell(&letter, "attempts"),
            cell(&letter, "source_uri"),
            cell(&letter["error"], "message"),
        ]);
        Ok(())
    })
    .await?;
    let head = ["DEAD LETTER", "STEP", "ATTEMPTS", "SOURCE", "ERROR"];
    print_text(&table(&head, &rows))
}
