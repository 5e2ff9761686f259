//! Figures over time whose files are not what was written: named by `doctor`, set aside by
//! `repair`. Nothing can make them again, and nothing but plots and `metrics` needs them.

use serde_json::{Value, json};
use web::problem::FIGURES_DAMAGED;

use crate::client::{Client, with_query};
use crate::config::Config;
use crate::explain::{self, hint, hinted, sentence};
use crate::folder::{Claimed, Folder, SERIES};

use super::verify::apart;

/// Of every kind there is: of stages, of the queue, of tenants.
const FIGURES: [&str; 3] = ["stage_seconds", "queue_depth", "documents_total"];
/// In seconds, and longer than anything is kept.
const TEN_YEARS: u64 = 10 * 365 * 24 * 3600;

/// Whether there are any to read. Asked of whoever holds the folder.
pub async fn read(config: &Config) -> anyhow::Result<bool> {
    if !config.data.join(SERIES).exists() {
        return Ok(false);
    }
    let asking = async |client: &Client| {
        for figure in FIGURES {
            let _: Value = client.get(&all_of(figure)).await?;
        }
        Ok(true)
    };
    apart(config, asking).await
}

/// One moment that looks back on everything.
fn all_of(figure: &str) -> String {
    let now = Some(chrono::Utc::now().to_rfc3339());
    let pairs = [
        ("query", Some(format!("count({figure})"))),
        ("from", now.clone()),
        ("to", now),
        ("step", Some(TEN_YEARS.to_string())),
    ];
    with_query("/v1/metrics/query", &pairs)
}

/// As `repair` tells it, where there is something to tell.
/// The documents are mended by then, so that no failure here may keep it from being told.
pub async fn mended(config: &Config) -> Option<Value> {
    let error = read(config).await.err()?;
    let damaged = explain::code(&error) == Some(FIGURES_DAMAGED);
    let (mended, done) = match damaged.then(|| set_aside(config)) {
        Some(Ok(done)) => (true, done),
        Some(Err(error)) => (false, format!("{}; {}", sentence(&error), hint(&error))),
        None => (false, hint(&error).to_owned()),
    };
    Some(json!({
        "source_uri": null, "document_id": null, "folder": SERIES,
        "what": sentence(&error), "mended": mended, "done": done,
    }))
}

fn set_aside(config: &Config) -> anyhow::Result<String> {
    let folder = Folder::create(&config.data)?;
    match folder.claim()? {
        Claimed::Ours(lock) => {
            let aside = folder.set_aside(SERIES, &lock)?;
            let aside = aside.display();
            Ok(format!("set aside in `{aside}`; figures begin anew"))
        }
        Claimed::Theirs(_) => Err(hinted(
            "a server holds the data folder",
            "stop it, run `gristmill repair`, and start it again",
        )),
    }
}
