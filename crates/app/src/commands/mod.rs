//! One module per command. Each reads its arguments, calls the API, and prints.

pub mod backup;
pub mod crash_test;
mod damaged_index;
mod damaged_series;
pub mod dead_letters;
pub mod doctor;
pub mod documents;
pub mod generations;
pub mod ingest;
pub mod inspect;
pub mod isolation;
mod items;
pub mod jobs;
pub mod metrics;
pub mod runs;
pub mod search;
pub mod serve;
pub mod status;
pub mod verify;

use std::io::{self, Write as _};

use anyhow::Context as _;
use catalog::Pace;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::client::{Client, with_query};

/// The first signal says so and stops gently; a second one ends the process at once.
fn stop_on_signal(
    stop: CancellationToken,
    said: &'static str,
) -> anyhow::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for signals")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for signals")?;
    let told = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        eprintln!("{said}");
        told.cancel();
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        std::process::exit(130);
    });
    Ok(stop)
}

/// A page of rows as the API gives it.
#[derive(Debug, Deserialize)]
pub struct Rows<T> {
    pub items: Vec<T>,
    pub next: Option<String>,
}

/// One object on one line. Ends quietly when nobody reads any more.
pub fn print_line(value: &Value) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{value}").or_else(quiet_pipe)
}

pub fn print_text(text: &str) -> anyhow::Result<()> {
    print_bytes(text.as_bytes())
}

pub fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    io::stdout().lock().write_all(bytes).or_else(quiet_pipe)
}

/// `gristmill … | head` closes the pipe early: nothing to complain about, and as with any
/// program no success either, for an ingest may not have come to its end.
fn quiet_pipe(error: io::Error) -> anyhow::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe {
        std::process::exit(ENDED_BY_PIPE);
    }
    Err(error.into())
}

/// What a shell reports of a program that SIGPIPE has ended.
const ENDED_BY_PIPE: i32 = 128 + 13;

/// Every row of a list, a page at a time, at most `most` of them.
pub async fn each<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    query: &[(&str, Option<String>)],
    most: usize,
    mut take: impl FnMut(T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut cursor = None;
    let mut left = most;
    while left > 0 {
        let mut query = query.to_vec();
        query.push(("limit", Some(left.min(200).to_string())));
        query.push(("cursor", cursor));
        let rows: Rows<T> = client.get(&with_query(path, &query)).await?;
        left -= rows.items.len().min(left);
        rows.items.into_iter().try_for_each(&mut take)?;
        cursor = match rows.next {
            Some(next) => Some(next),
            None => break,
        };
    }
    Ok(())
}

/// Columns as wide as they need to be, two spaces apart.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells
            .chain([head[column].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<_> = (0..head.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let mut text = String::new();
        for (cell, width) in cells.iter().zip(&widths) {
            text.push_str(cell);
            text.push_str(&" ".repeat(width + 2 - cell.chars().count()));
        }
        format!("{}\n", text.trim_end())
    };
    let mut out = line(head.to_vec());
    for row in rows {
        out.push_str(&line(row.iter().map(String::as_str).collect()));
    }
    out
}

/// A field as text for a table; `-` where there is none.
pub fn cell(row: &Value, field: &str) -> String {
    match &row[field] {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Where a run or a job stands: its state, since when it was heard of, and what it waits for.
pub fn standing(row: &Value) -> String {
    let standing = &row["standing"];
    let mut text = cell(standing, "state").replace('_', " ");
    if let Some(until) = standing["until"].as_str() {
        text.push_str(&format!(" until {until}"));
    }
    if let Some(age) = standing["heartbeat_age_seconds"].as_u64() {
        text.push_str(&format!(", heard from {age} s ago"));
    }
    match standing["detail"].as_str() {
        Some(detail) => format!("{text} ({detail})"),
        None => text,
    }
}

/// How fast a job goes that somebody is at, behind where it stands.
pub fn pace(job: &Value) -> String {
    let is_running = job["standing"]["state"] == "running";
    match Pace::deserialize(&job["pace"]) {
        Ok(pace) if is_running => format!("; {}", web::pace::words(&pace)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_standing_reads_as_a_sentence() {
        let row = |of: Value| standing(&json!({ "standing": of }));
        assert_eq!(row(json!({ "state": "not_started" })), "not started");
        let backing_off = json!({
            "state": "backing_off", "until": "2026-01-01T12:00:00Z", "detail": "attempt 1 failed",
        });
        assert_eq!(
            row(backing_off),
            "backing off until 2026-01-01T12:00:00Z (attempt 1 failed)"
        );
        let running = json!({ "state": "running", "heartbeat_age_seconds": 3 });
        assert_eq!(row(running), "running, heard from 3 s ago");
    }
}
