//! `extract` and `chunk`: what becomes of a file, without keeping it.

use std::path::Path;

use anyhow::Context as _;
use axum::body::Body;
use axum::http::Method;
use serde_json::Value;

use crate::cli::{Chunk, Extract};
use crate::client::{Client, with_query};
use crate::config::Config;
use crate::session::Session;

use super::{Rows, print_line, print_text};

pub async fn extract(config: &Config, args: &Extract) -> anyhow::Result<()> {
    // Nothing is embedded here, so no model is needed.
    let session = Session::scratch(config, true).await?;
    let query = [("format", Some(args.format.as_str().to_owned()))];
    let answer = post(&session.client, "/v1/extract", &args.file, &query).await?;
    print_text(&String::from_utf8_lossy(&answer))?;
    session.close().await
}

pub async fn chunk(config: &Config, args: &Chunk) -> anyhow::Result<()> {
    let session = Session::scratch(config, false).await?;
    let answer = post(&session.client, "/v1/chunk", &args.file, &[]).await?;
    let rows: Rows<Value> = serde_json::from_slice(&answer).context("cannot read the chunks")?;
    for chunk in &rows.items {
        if args.json {
            print_line(chunk)?;
        } else {
            print_text(&shown(chunk))?;
        }
    }
    session.close().await
}

async fn post(
    client: &Client,
    path: &str,
    file: &Path,
    query: &[(&str, Option<String>)],
) -> anyhow::Result<Vec<u8>> {
    let name = file
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let mut query = query.to_vec();
    query.push(("filename", name));
    let bytes = std::fs::read(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let path = with_query(path, &query);
    let sent = client.send(
        Method::POST,
        &path,
        "application/octet-stream",
        Body::from(bytes),
    );
    let (_, answer) = sent.await?;
    let answer = axum::body::to_bytes(answer, usize::MAX).await;
    Ok(answer.context("the answer broke off")?.to_vec())
}

fn shown(chunk: &Value) -> String {
    let path: Vec<_> = chunk["heading_path"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let path: Vec<_> = path.iter().filter_map(|h| h.as_str()).collect();
    let range = |name: &str| format!("{}–{}", chunk[name][0], chunk[name][1]);
    format!(
        "── {} #{}  characters {}, bytes {}, {} tokens  {}\n{}\n\n",
        chunk["unit"].as_str().unwrap_or_default(),
        chunk["ordinal"],
        range("char_range"),
        range("byte_range"),
        chunk["tokens"],
        path.join(" › "),
        chunk["text"].as_str().unwrap_or_default(),
    )
}
