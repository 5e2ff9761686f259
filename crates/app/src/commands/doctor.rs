//! `doctor`: is everything here that is needed, and if not, what to do?

use std::process::ExitCode;

use serde_json::json;

use crate::cli::{Doctor, DoctorWhat};
use crate::config::Config;
use crate::explain::{hint, said_hint, sentence};
use crate::folder::{Claimed, Folder};
use crate::session::{Needs, Session};
use crate::{embedding, reranking};

use super::{damaged_series, print_line, print_text};

const STORES: &str = "stores";

struct Check {
    name: &'static str,
    /// What was found.
    finding: Result<String, (String, String)>,
}

pub async fn run(config: &Config, args: &Doctor) -> anyhow::Result<ExitCode> {
    if let Some(DoctorWhat::Isolation) = args.what {
        return super::isolation::run(config, args.json).await;
    }
    let mut checks = vec![
        folder(config),
        disk(config),
        model(config),
        reranker(config),
        parser(config).await,
        stores(config).await,
    ];
    // With the stores shut it could only repeat what was just said.
    if checks
        .iter()
        .all(|check| check.name != STORES || check.finding.is_ok())
    {
        checks.push(figures(config).await);
    }
    let well = checks.iter().all(|check| check.finding.is_ok());
    for check in &checks {
        if args.json {
            let (ok, found, todo) = match &check.finding {
                Ok(found) => (true, found.as_str(), None),
                Err((found, todo)) => (false, found.as_str(), Some(todo.as_str())),
            };
            print_line(&json!({ "check": check.name, "ok": ok, "found": found, "hint": todo }))?;
        } else {
            print_text(&match &check.finding {
                Ok(found) => format!("ok    {}: {found}\n", check.name),
                Err((found, todo)) => format!("FAIL  {}: {found}\n      {todo}\n", check.name),
            })?;
        }
    }
    Ok(if well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn folder(config: &Config) -> Check {
    let finding = match Folder::create(&config.data).and_then(|folder| folder.claim()) {
        Ok(Claimed::Ours(_)) => Ok(format!("`{}` is free", config.data.display())),
        Ok(Claimed::Theirs(Some(holder))) => Ok(format!("served at http://{}", holder.address)),
        Ok(Claimed::Theirs(None)) => Ok("another command works in it".to_owned()),
        Err(error) => Err((
            sentence(&error),
            "choose a folder you may write to with --data".to_owned(),
        )),
    };
    Check {
        name: "data folder",
        finding,
    }
}

fn disk(config: &Config) -> Check {
    let free = Folder::create(&config.data).and_then(|folder| folder.free_bytes());
    let finding = match free {
        Ok(free) if free >> 20 >= config.disk.reserve_mb => Ok(format!("{} MB free", free >> 20)),
        Ok(free) => Err((
            format!("only {} MB free", free >> 20),
            "free some space, or lower disk.reserve_mb".to_owned(),
        )),
        Err(error) => Err((sentence(&error), String::new())),
    };
    Check {
        name: "disk",
        finding,
    }
}

fn model(config: &Config) -> Check {
    let finding = match embedding::open(config) {
        Ok(embedder) => {
            let info = embedder.info();
            let (name, dimension, limit) = (&info.name, info.dimension, info.max_tokens);
            let note = info.language_note;
            Ok(format!(
                "{name}, {dimension} dimensions, reads {limit} tokens ({note})"
            ))
        }
        Err(error) if embedding::is_missing(&error) => Err((
            sentence(&error),
            "`make model` fetches the default one into `.tools`; or set embedding.path to the \
             folder of another"
                .to_owned(),
        )),
        Err(error) => Err((sentence(&error), hint(&error).to_owned())),
    };
    Check {
        name: "embedding model",
        finding,
    }
}

/// Not asked: that would be paid for.
fn reranker(config: &Config) -> Check {
    let finding = match reranking::open(config) {
        Ok(None) => Ok("none; no passage leaves this machine for one".to_owned()),
        Ok(Some(reranker)) => Ok(format!("{}, asked with every search", reranker.model())),
        Err(error) => Err((
            sentence(&error),
            "correct it, or leave rerank.url out".to_owned(),
        )),
    };
    Check {
        name: "reranker",
        finding,
    }
}

/// Catalog, keys, index and objects are really opened, by us or by the server that holds them.
async fn stores(config: &Config) -> Check {
    let finding = match status(config).await {
        Ok((documents, 1)) => Ok(format!("open, with {documents} documents")),
        Ok((documents, tenants)) => Ok(format!(
            "open, with {tenants} tenants, the first of which has {documents} documents"
        )),
        Err(error) => {
            let todo = said_hint(&error)
                .unwrap_or("put the folder back from a backup, or choose another with --data");
            Err((sentence(&error), todo.to_owned()))
        }
    };
    Check {
        name: STORES,
        finding,
    }
}

/// The history is really read, by us or by the server that holds it.
async fn figures(config: &Config) -> Check {
    let finding = match damaged_series::read(config).await {
        Ok(true) => Ok("can be read".to_owned()),
        Ok(false) => Ok("none are kept yet".to_owned()),
        Err(error) => Err((sentence(&error), hint(&error).to_owned())),
    };
    Check {
        name: "figures",
        finding,
    }
}

/// How many documents the first tenant has, and how many tenants there are, as far as one page
/// tells.
async fn status(config: &Config) -> anyhow::Result<(u64, usize)> {
    let session = Session::open(config, Needs::Answers).await?;
    let status: serde_json::Value = session.client.get("/v1/status").await?;
    let tenants: serde_json::Value = session.client.get("/v1/tenants?limit=200").await?;
    session.close().await?;
    let documents = status["documents"].as_u64().unwrap_or_default();
    let tenants = tenants["items"].as_array().map_or(1, Vec::len);
    Ok((documents, tenants))
}

/// A child is really started and really reads something.
async fn parser(config: &Config) -> Check {
    let sandbox = crate::house::sandbox(config, None);
    let finding = match sandbox {
        Ok(sandbox) => {
            let hints = parse::Hints::of_filename("doctor.md");
            let read = sandbox
                .parse("# A heading\n\nA sentence.\n".into(), hints)
                .await;
            match read {
                Ok(parsed) => {
                    let scans = match crate::house::tesseract(config) {
                        Some(_) => "tesseract reads scanned pages",
                        None => "scanned pages will be gaps: there is no tesseract",
                    };
                    let prints = match crate::house::libreoffice(config) {
                        Some(_) => "LibreOffice draws the pages of DOCX",
                        None => "DOCX will have no page images: there is no LibreOffice",
                    };
                    let atoms = parsed.atoms.len();
                    Ok(format!("a child read {atoms} atoms; {scans}; {prints}"))
                }
                Err(error) => Err((
                    sentence(&error.into()),
                    "the kernel may forbid what the sandbox needs; see the guide".to_owned(),
                )),
            }
        }
        Err(error) => Err((sentence(&error), String::new())),
    };
    Check {
        name: "parser",
        finding,
    }
}
