//! `verify`: the digest of a data folder, and every disagreement in it, whosever it is.
//! `repair`: the same, mended.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::{Repair, Verify};
use crate::client::Client;
use crate::config::Config;
use crate::session::{Needs, Session};

use super::{cell, damaged_index, damaged_series, print_line, print_text};

/// How long what is left of a session may take to end.
const LEFT_RUNNING: Duration = Duration::from_secs(10);

pub async fn run(config: &Config, args: &Verify) -> anyhow::Result<ExitCode> {
    let found = match ask(config, "/v1/verify").await {
        Ok(found) => found,
        Err(error) => {
            let what = damaged_index::told_by(&error).ok_or(error)?;
            damaged_index::verified(&what)
        }
    };
    if args.json {
        print_line(&line(&found))?;
    } else {
        print_text(&stands(&found))?;
        for one in rows(&found, "disagreements") {
            print_text(&format!("{}: {}\n", place(one), cell(one, "what")))?;
        }
    }
    Ok(code(&found))
}

/// In a runtime of its own, which ends with the answer. A store that cannot be read cannot be
/// closed in order either, and what it leaves running would go on writing where `repair` makes
/// the new one, and shut that out.
pub async fn apart<T: Send + 'static>(
    config: &Config,
    asking: impl AsyncFnOnce(&Client) -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    let config = config.clone();
    let asked = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Runtime::new()?;
        let answer = runtime.block_on(async {
            let session = Session::open(&config, Needs::Answers).await?;
            let answer = asking(&session.client).await;
            session.close_after(answer).await
        });
        runtime.shutdown_timeout(LEFT_RUNNING);
        answer
    });
    asked.await?
}

async fn ask(config: &Config, path: &'static str) -> anyhow::Result<Value> {
    apart(config, async move |client| {
        client.post(path, &json!({})).await
    })
    .await
}

pub async fn repair(config: &Config, args: &Repair) -> anyhow::Result<ExitCode> {
    let mut done = match ask(config, "/v1/repair").await {
        Ok(done) => done,
        Err(error) => {
            let what = damaged_index::told_by(&error).ok_or(error)?;
            repair_without_index(config, &what).await?
        }
    };
    let figures = damaged_series::mended(config).await;
    let left = figures
        .as_ref()
        .is_some_and(|one| one["mended"] == json!(false));
    if let Some(findings) = done["findings"].as_array_mut() {
        findings.extend(figures);
    }
    let after = &done["after"];
    if args.json {
        let mut told = line(after);
        told["findings"] = done["findings"].clone();
        told["leftovers_deleted"] = done["leftovers_deleted"].clone();
        told["leftovers_kept"] = done["leftovers_kept"].clone();
        print_line(&told)?;
    } else {
        for one in rows(&done, "findings") {
            let mark = if one["mended"] == json!(true) {
                "mended"
            } else {
                "not mended"
            };
            print_text(&format!(
                "{mark}: {}: {}\n  {}\n",
                place(one),
                cell(one, "what"),
                cell(one, "done"),
            ))?;
        }
        if done["leftovers_deleted"] != json!(0) {
            print_text(&format!(
                "deleted {} objects nothing referred to\n",
                done["leftovers_deleted"]
            ))?;
        }
        for one in rows(&done, "leftovers_kept") {
            print_text(&format!(
                "kept until {}: {}, which nothing refers to\n",
                cell(one, "until"),
                cell(one, "object"),
            ))?;
        }
        print_text(&stands(after))?;
    }
    Ok(if left { ExitCode::FAILURE } else { code(after) })
}

async fn repair_without_index(config: &Config, what: &str) -> anyhow::Result<Value> {
    let aside = damaged_index::set_aside(config, what)?;
    eprintln!("{what}");
    eprintln!("it is made again: every document is read and embedded anew");
    let mut done = ask(config, "/v1/repair").await?;
    if let Some(findings) = done["findings"].as_array_mut() {
        findings.insert(0, damaged_index::outcome(what, &aside));
    }
    Ok(done)
}

fn line(found: &Value) -> Value {
    json!({
        "digest": found["digest"], "documents": found["documents"], "chunks": found["chunks"],
        "disagreements": found["disagreements"], "leftovers": found["leftovers"],
        "tenants": found["tenants"], "work": found["work"],
    })
}

fn stands(found: &Value) -> String {
    if found["digest"].is_null() {
        return "nothing can be verified until `gristmill repair` has made the index again\n"
            .to_owned();
    }
    let left = rows(found, "leftovers").count();
    let leftovers = match left {
        0 => String::new(),
        _ => format!("{left} objects nothing refers to; `gristmill repair` deletes them\n"),
    };
    let counts = |of: &Value| format!("{} documents, {} chunks", of["documents"], of["chunks"]);
    let each = |tenant: &Value| {
        let (name, digest) = (cell(tenant, "name"), cell(tenant, "digest"));
        format!("  tenant {name}: {}, digest {digest}\n", counts(tenant))
    };
    let tenants: String = rows(found, "tenants").map(each).collect();
    format!(
        "digest {}\n{}\n{tenants}{leftovers}",
        cell(found, "digest"),
        counts(found),
    )
}

/// Whose it is, where there are several, and where.
fn place(one: &Value) -> String {
    match one["tenant"].as_str() {
        Some(tenant) => format!("tenant {tenant}: {}", place_within(one)),
        None => place_within(one),
    }
}

/// Where something is wrong: the document, and the version or chunk as near as it is known.
fn place_within(one: &Value) -> String {
    if let Some(kind) = one["tally"]["kind"].as_str() {
        let (told, counted) = (&one["tally"]["told"], &one["tally"]["counted"]);
        return format!("status: {kind} ({told} told, {counted} counted)");
    }
    if let Some(folder) = one["folder"].as_str() {
        return format!("folder {folder}");
    }
    if let Some(kb) = one["kb"].as_str() {
        return format!("knowledge base {kb}");
    }
    if let Some(job) = one["job"]["job"].as_str() {
        let (of, told) = (cell(&one["job"], "of"), &one["job"]["told"]);
        let counted = &one["job"]["counted"];
        return format!("job {job}: {of} ({told} told, {counted} counted)");
    }
    let near = one["chunk"].as_str().or(one["version_id"].as_str());
    match (one["source_uri"].as_str(), near) {
        (Some(uri), Some(near)) => format!("{uri} ({near})"),
        (Some(uri), None) => uri.to_owned(),
        (None, near) => near.unwrap_or("the index").to_owned(),
    }
}

fn rows<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value[name].as_array().into_iter().flatten()
}

fn code(found: &Value) -> ExitCode {
    match rows(found, "disagreements").next() {
        None => ExitCode::SUCCESS,
        Some(_) => ExitCode::FAILURE,
    }
}
