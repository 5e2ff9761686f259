//! `search`: one question, or many from a file in one process.

use std::fmt::Write as _;
use std::io::BufRead as _;
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::Search;
use crate::client::{Client, escaped};
use crate::config::Config;
use crate::explain::hinted;
use crate::session::{Needs, Session};

use super::{print_line, print_text};

#[derive(Debug, Deserialize)]
struct Question {
    id: Value,
    query: String,
}

/// What `--json` prints of a hit, in this order, and nothing else.
const HIT_FIELDS: &[&str] = &[
    "rank",
    "score",
    "scores",
    "document_id",
    "version_id",
    "source_uri",
    "title",
    "gaps",
    "heading_path",
    "text",
    "chunk_id",
    "pages",
    "char_range",
    "byte_range",
];

pub async fn run(config: &Config, args: &Search) -> anyhow::Result<()> {
    match &args.queries {
        Some(path) => many(config, args, path).await,
        None => one(config, args).await,
    }
}

async fn one(config: &Config, args: &Search) -> anyhow::Result<()> {
    let question = Question {
        id: Value::Null,
        query: args.query.clone().unwrap_or_default(),
    };
    let session = Session::open(config, Needs::Answers).await?;
    let answer = ask(&session.client, args, &question.query).await?;
    print(args, &question, &answer)?;
    session.close().await
}

/// Each line is answered, or says why it is not; one bad line costs only itself.
async fn many(config: &Config, args: &Search, path: &Path) -> anyhow::Result<()> {
    let unreadable = || format!("cannot read `{}`", path.display());
    let file = std::fs::File::open(path).with_context(unreadable)?;
    let session = Session::open(config, Needs::Answers).await?;
    let (mut asked, mut unanswered) = (0, 0);
    for (number, line) in std::io::BufReader::new(file).lines().enumerate() {
        let line = line.with_context(unreadable)?;
        if line.trim().is_empty() {
            continue;
        }
        asked += 1;
        if let Err(error) = answer(&session.client, args, &line).await {
            unanswered += 1;
            refuse(args, number + 1, &line, &error)?;
        }
    }
    session.close().await?;
    if unanswered > 0 {
        return Err(hinted(
            format!("{unanswered} of {asked} queries were not answered"),
            "each says why where its answer would be",
        ));
    }
    Ok(())
}

async fn answer(client: &Client, args: &Search, line: &str) -> anyhow::Result<()> {
    let question: Question =
        serde_json::from_str(line).context("the line is not {\"id\",\"query\"}")?;
    let answer = ask(client, args, &question.query).await?;
    print(args, &question, &answer)
}

fn refuse(args: &Search, number: usize, line: &str, error: &anyhow::Error) -> anyhow::Result<()> {
    let read: Value = serde_json::from_str(line).unwrap_or_default();
    let error = format!("{error:#}");
    if args.json {
        print_line(&json!({
            "id": read["id"], "query": read["query"], "hits": [],
            "error": format!("line {number}: {error}"),
        }))
    } else {
        print_text(&format!("line {number}: {error}\n"))
    }
}

fn print(args: &Search, question: &Question, answer: &Value) -> anyhow::Result<()> {
    if args.json {
        print_line(&line(question, answer))
    } else {
        print_text(&shown(question, answer))
    }
}

async fn ask(client: &Client, args: &Search, query: &str) -> anyhow::Result<Value> {
    let metadata: serde_json::Map<_, _> = args
        .metadata
        .iter()
        .map(|(key, value)| (key.clone(), json!(value)))
        .collect();
    let weights = args.weights;
    let body = json!({
        "query": query, "mode": args.mode.as_str(), "top": args.top,
        "weights": weights.map(|(vector, text)| json!({ "vector": vector, "text": text })),
        "filter": { "metadata": metadata }, "as_of": args.as_of,
        "rerank": args.no_rerank.then_some(false),
    });
    let path = format!("/v1/kbs/{}/search", escaped(&args.kb));
    client.post(&path, &body).await
}

fn line(question: &Question, answer: &Value) -> Value {
    let hits = answer["hits"].as_array().into_iter().flatten();
    let hits: Vec<Value> = hits
        .map(|hit| {
            let fields = HIT_FIELDS
                .iter()
                .map(|f| ((*f).to_owned(), hit[*f].clone()));
            Value::Object(fields.collect())
        })
        .collect();
    json!({
        "id": question.id,
        "query": question.query,
        "hits": hits,
        "rerank": answer["rerank"],
        "query_parts": answer["query_parts"],
        "words_only": answer["words_only"],
        "forgotten": answer["forgotten"],
    })
}

fn shown(question: &Question, answer: &Value) -> String {
    let hits = answer["hits"].as_array().cloned().unwrap_or_default();
    let mut out = String::new();
    if hits.is_empty() {
        let _ = writeln!(out, "Nothing was found for “{}”.", question.query);
    }
    for hit in &hits {
        let path: Vec<_> = hit["heading_path"]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        let path: Vec<_> = path.iter().filter_map(|h| h.as_str()).collect();
        let pages = match hit["pages"].as_array() {
            Some(pages) if !pages.is_empty() => format!(", page {}", pages[0]),
            _ => String::new(),
        };
        let [from, to] = [0, 1].map(|end| hit["char_range"][end].as_u64().unwrap_or(0));
        let _ = writeln!(
            out,
            "{}. {}{pages}, characters {from}–{to}  ({:.3})",
            hit["rank"],
            hit["source_uri"].as_str().unwrap_or_default(),
            hit["score"].as_f64().unwrap_or(0.0),
        );
        if !path.is_empty() {
            let _ = writeln!(out, "   {}", path.join(" › "));
        }
        if let Some(gaps @ 1..) = hit["gaps"].as_u64() {
            let _ = writeln!(
                out,
                "   Parts of the document that could not be read: {gaps}"
            );
        }
        for line in hit["text"].as_str().unwrap_or_default().lines() {
            let _ = writeln!(out, "   │ {line}");
        }
        out.push('\n');
    }
    if let Some(why) = answer["rerank"]["why"].as_str() {
        let _ = writeln!(out, "Not reranked: {why}.");
    }
    if let Some(why) = answer["words_only"].as_str() {
        let _ = writeln!(out, "Searched for words only: {why}.");
    }
    if let Some(documents) = answer["forgotten"]["documents"].as_u64() {
        let since = answer["forgotten"]["since"].as_str().unwrap_or_default();
        let _ = writeln!(
            out,
            "Not searched, as the index has forgotten what they were then: {documents} documents. \
             A new generation serves since {since}; from then on nothing is lacking."
        );
    }
    if let Some(parts @ 2..) = answer["query_parts"].as_u64() {
        let _ = writeln!(
            out,
            "The query is longer than the model reads: {parts} parts of it were averaged."
        );
    }
    out
}
