//! `documents`: what is kept, which version of it answers, and changing that.

use std::path::Path;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::cli::{DocumentAction, DocumentList, Documents, One};
use crate::client::{Client, with_query};
use crate::config::Config;
use crate::explain::hinted;
use crate::session::{Needs, Session};

use super::{Rows, cell, each, print_line, print_text, table};

pub async fn run(config: &Config, args: &Documents) -> anyhow::Result<()> {
    let session = Session::open(config, Needs::Answers).await?;
    let client = &session.client;
    match &args.action {
        None => list(client, &args.list).await?,
        Some(DocumentAction::List(asked)) => list(client, asked).await?,
        Some(DocumentAction::Show(one)) => show(client, one).await?,
        Some(DocumentAction::History(one)) => history(client, one).await?,
        Some(DocumentAction::Rollback { one, to }) => {
            let body = json!({ "version_id": to });
            act(client, one, "rollback", &body).await?;
        }
        Some(DocumentAction::Deactivate(one)) => {
            act(client, one, "deactivate", &json!({})).await?;
        }
        Some(DocumentAction::Purge { yes: false, .. }) => {
            return Err(hinted(
                "a purge cannot be undone",
                "say --yes if you mean it",
            ));
        }
        Some(DocumentAction::Purge { one, yes: true }) => {
            let purged = act(client, one, "purge", &json!({})).await?;
            nothing_is_left(&purged)?;
        }
    }
    session.close().await
}

async fn list(client: &Client, args: &DocumentList) -> anyhow::Result<()> {
    let active = if args.all { "all" } else { "active" };
    let query = [
        ("kb", args.kb.clone()),
        ("active", Some(active.to_owned())),
        ("text", args.text.clone()),
    ];
    let path = "/v1/documents";
    if args.json {
        return each(client, path, &query, usize::MAX, |row| print_line(&row)).await;
    }
    let mut rows = Vec::new();
    each(client, path, &query, usize::MAX, |row: Value| {
        rows.push(vec![
            cell(&row, "document_id"),
            cell(&row, "state"),
            cell(&row, "versions"),
            cell(&row, "chunks"),
            row["gaps"].as_array().map_or(0, Vec::len).to_string(),
            cell(&row, "source_uri"),
        ]);
        Ok(())
    })
    .await?;
    let head = ["DOCUMENT", "STATE", "VERSIONS", "CHUNKS", "GAPS", "SOURCE"];
    print_text(&table(&head, &rows))?;
    match rows.iter().any(|row| row[1] == "purging") {
        true => print_text(PURGING),
        false => Ok(()),
    }
}

/// Somebody may be at it; most of the time somebody was, and died.
const PURGING: &str = "purging: begun and not ended; `gristmill documents purge DOCUMENT --yes` \
                       ends it, and so does `gristmill serve`\n";

async fn show(client: &Client, one: &One) -> anyhow::Result<()> {
    let id = resolve(client, one).await?;
    let mut document: Value = client.get(&format!("/v1/documents/{id}")).await?;
    let mut versions: Vec<Value> = Vec::new();
    let path = format!("/v1/documents/{id}/versions");
    each(client, &path, &[], usize::MAX, |version| {
        versions.push(version);
        Ok(())
    })
    .await?;
    document["version_list"] = json!(versions);
    print(one, &document)
}

async fn history(client: &Client, one: &One) -> anyhow::Result<()> {
    let id = resolve(client, one).await?;
    let history = whole_history(client, id).await?;
    if one.json {
        return print_line(&history);
    }
    let head = ["VERSION", "FROM", "TO", "CAUSE"];
    let fields = ["version_id", "opened_at", "closed_at", "cause"];
    print_text(&columns(&history["activations"], &head, fields))?;
    // The chain that proves it: each entry's hash covers the one before.
    let head = ["ENTRY", "WHAT", "WHEN", "VERSION", "ROOT", "HASH"];
    let fields = ["seq", "kind", "at", "version", "root_hash", "hash"];
    print_text(&format!("\n{}", columns(&history["ledger"], &head, fields)))
}

/// Both lists of it, page after page.
async fn whole_history(client: &Client, id: Uuid) -> anyhow::Result<Value> {
    let (mut activations, mut ledger) = (Vec::new(), Vec::new());
    let mut cursor = None;
    loop {
        let query = [("limit", Some("200".to_owned())), ("cursor", cursor)];
        let path = with_query(&format!("/v1/documents/{id}/history"), &query);
        let mut page: Value = client.get(&path).await?;
        for (all, part) in [(&mut activations, "activations"), (&mut ledger, "ledger")] {
            if let Some(rows) = page[part].as_array_mut() {
                all.append(rows);
            }
        }
        cursor = match page["next"].as_str() {
            Some(next) => Some(next.to_owned()),
            None => return Ok(json!({ "activations": activations, "ledger": ledger })),
        };
    }
}

/// A table of these fields of each row.
fn columns<const N: usize>(rows: &Value, head: &[&str; N], fields: [&str; N]) -> String {
    let rows = rows.as_array().into_iter().flatten();
    let cells = rows.map(|row| fields.map(|field| cell(row, field)).to_vec());
    table(head, &cells.collect::<Vec<_>>())
}

async fn act(client: &Client, one: &One, verb: &str, body: &Value) -> anyhow::Result<Value> {
    let id = resolve(client, one).await?;
    let answer: Value = client
        .post(&format!("/v1/documents/{id}/{verb}"), body)
        .await?;
    print(one, &answer)?;
    Ok(answer)
}

/// A script must not take a purge for done of which the scan at its end still finds something.
fn nothing_is_left(purged: &Value) -> anyhow::Result<()> {
    let kinds = purged["residue"].as_object().into_iter().flatten();
    let left = kinds.filter(|(_, n)| n.as_u64() != Some(0));
    let left: Vec<_> = left.map(|(kind, n)| format!("{kind}: {n}")).collect();
    if left.is_empty() {
        return Ok(());
    }
    Err(hinted(
        format!(
            "the document was purged, but something of it is left ({})",
            left.join(", ")
        ),
        "this is a defect of gristmill: please report it with these numbers",
    ))
}

fn print(one: &One, value: &Value) -> anyhow::Result<()> {
    if one.json {
        print_line(value)
    } else {
        print_text(&format!("{value:#}\n"))
    }
}

/// A document by its id, its source URI, or the path of the file it came from.
async fn resolve(client: &Client, one: &One) -> anyhow::Result<Uuid> {
    if let Ok(id) = one.document.parse() {
        return Ok(id);
    }
    let uri = if one.document.contains("://") {
        one.document.clone()
    } else {
        // A file that is gone has no real path any more; then it is taken as written.
        let path = Path::new(&one.document);
        let real = path.canonicalize().or_else(|_| std::path::absolute(path))?;
        sources::uri::of_path(&real).to_string()
    };
    let query = [
        ("kb", Some(one.kb.clone())),
        ("source_uri", Some(uri.clone())),
    ];
    let rows: Rows<Value> = client.get(&with_query("/v1/documents", &query)).await?;
    let id = rows
        .items
        .first()
        .and_then(|row| row["document_id"].as_str());
    id.and_then(|id| id.parse().ok()).ok_or_else(|| {
        hinted(
            format!("there is no document `{uri}` in `{}`", one.kb),
            "`gristmill documents --all` lists them",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_purge_that_leaves_something_fails_and_says_what() {
        let purged = |rows: u64| json!({ "residue": { "rows": rows, "chunks": 0, "objects": 0 } });
        assert!(nothing_is_left(&purged(0)).is_ok());
        let said = nothing_is_left(&purged(2)).unwrap_err().to_string();
        assert!(said.ends_with("(rows: 2)"), "{said}");
    }
}
