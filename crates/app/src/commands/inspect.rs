//! `extract` and `chunk`: what becomes of a file, without keeping it.

use std::path::Path;

use anyhow::Context as _;
use axum::body::Body;
use axum::http::Method;
use futures::StreamExt as _;
use serde_json::Value;
use tokio_util::io::ReaderStream;

use crate::cli::{Chunk, Extract};
use crate::client::{Client, with_query};
use crate::config::Config;
use crate::session::Session;

use super::items::Items;
use super::{print_bytes, print_line, print_text};

const PIECE: usize = 256 << 10;

pub async fn extract(config: &Config, args: &Extract) -> anyhow::Result<()> {
    // Nothing is embedded here, so no model is needed.
    let session = Session::scratch(&for_file(config, &args.file)?, true).await?;
    let query = [("format", Some(args.format.as_str().to_owned()))];
    let answer = post(&session.client, "/v1/extract", &args.file, &query).await?;
    let mut pieces = answer.into_data_stream();
    while let Some(piece) = pieces.next().await {
        print_bytes(&piece.context("the answer broke off")?)?;
    }
    session.close().await
}

pub async fn chunk(config: &Config, args: &Chunk) -> anyhow::Result<()> {
    let session = Session::scratch(&for_file(config, &args.file)?, false).await?;
    let strategy = args.strategy.map(|strategy| strategy.to_string());
    let query = [("strategy", strategy)];
    let answer = post(&session.client, "/v1/chunk", &args.file, &query).await?;
    let mut chunks = Items::of(answer);
    while let Some(chunk) = chunks.next().await? {
        if args.json {
            print_line(&chunk)?;
        } else {
            print_text(&shown(&chunk))?;
        }
    }
    session.close().await
}

/// The limit on uploads guards a server; whoever looks at a file of their own needs none.
fn for_file(config: &Config, file: &Path) -> anyhow::Result<Config> {
    let about = std::fs::metadata(file).with_context(|| unreadable(file))?;
    let mut config = config.clone();
    config.upload.max_mb = config.upload.max_mb.max((about.len() >> 20) + 1);
    Ok(config)
}

fn unreadable(file: &Path) -> String {
    format!("cannot read `{}`", file.display())
}

/// The file is sent as it is read, and so is the answer.
async fn post(
    client: &Client,
    path: &str,
    file: &Path,
    query: &[(&str, Option<String>)],
) -> anyhow::Result<Body> {
    let name = file
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let mut query = query.to_vec();
    query.push(("filename", name));
    let opened = tokio::fs::File::open(file).await;
    let pieces = ReaderStream::with_capacity(opened.with_context(|| unreadable(file))?, PIECE);
    let path = with_query(path, &query);
    let sent = client.send(
        Method::POST,
        &path,
        "application/octet-stream",
        Body::from_stream(pieces),
    );
    let (_, answer) = sent.await?;
    Ok(answer)
}

fn shown(chunk: &Value) -> String {
    let path: Vec<_> = chunk["heading_path"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let path: Vec<_> = path.iter().filter_map(|h| h.as_str()).collect();
    let range = |name: &str| format!("{}–{}", chunk[name][0], chunk[name][1]);
    let about = match chunk["tokens_estimated"] == true {
        true => "about ",
        false => "",
    };
    format!(
        "── {} #{}  characters {}, bytes {}, {about}{} tokens  {}\n{}\n\n",
        chunk["unit"].as_str().unwrap_or_default(),
        chunk["ordinal"],
        range("char_range"),
        range("byte_range"),
        chunk["tokens"],
        path.join(" › "),
        chunk["text"].as_str().unwrap_or_default(),
    )
}
