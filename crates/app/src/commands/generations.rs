//! `generations`: another model or other chunks, without a moment in which nothing answers.

use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::{Build, GenerationAction, Generations, InKb, Switch};
use crate::client::{Client, escaped, with_query};
use crate::config::Config;
use crate::explain::hinted;
use crate::session::{Needs, Session};

use super::{Rows, cell, print_line, print_text};

const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// Looks that must find a build where it was before it is told what it waits for.
const LOOKS: u32 = 15;

pub async fn run(config: &Config, args: &Generations) -> anyhow::Result<()> {
    let needs = match &args.action {
        GenerationAction::Build(_) => Needs::Workers,
        _ => Needs::Answers,
    };
    let session = Session::open(config, needs).await?;
    let done = act(&session.client, &args.action).await;
    session.close_after(done).await
}

async fn act(client: &Client, action: &GenerationAction) -> anyhow::Result<()> {
    match action {
        GenerationAction::Show(within) => show(client, within).await,
        GenerationAction::Build(build) => self::build(client, build).await,
        GenerationAction::Switch(switch) => self::switch(client, switch).await,
        GenerationAction::Abandon(within) => {
            let path = format!("{}/building", place(within));
            let kb: Value = client.delete(&path).await?;
            said(within, &kb, "given up")
        }
    }
}

fn place(within: &InKb) -> String {
    format!("/v1/kbs/{}", escaped(&within.kb))
}

async fn show(client: &Client, within: &InKb) -> anyhow::Result<()> {
    let mut kb: Value = client.get(&place(within)).await?;
    if !kb["building"].is_null() {
        kb["building"] = client.get(&format!("{}/building", place(within))).await?;
    }
    if within.json {
        print_line(&kb)
    } else {
        print_text(&format!("{kb:#}\n"))
    }
}

async fn build(client: &Client, build: &Build) -> anyhow::Result<()> {
    let within = &build.switch.within;
    let path = format!("{}/building", place(within));
    let wanted = json!({
        "model": build.model,
        "strategy": build.strategy,
        "target": build.target,
        "max": build.max,
        "overlap": build.overlap,
    });
    let mut building: Value = client.post(&path, &wanted).await?;
    let mut standstill = Standstill::default();
    while building["ready"] != true {
        let count = |name: &str| building[name].as_u64().unwrap_or(0);
        let missing = count("documents") - count("built") - count("failed");
        if missing == 0 && count("open_runs") == 0 {
            break;
        }
        tracing::info!(
            built = count("built"),
            documents = count("documents"),
            "building"
        );
        if standstill.lasts([count("built"), count("failed"), count("documents")]) {
            let why = waits_for(client, within, &building).await?;
            standstill.tell(why);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
        building = client.get(&path).await?;
    }
    if build.no_switch {
        return if within.json {
            print_line(&building)
        } else {
            print_text(&format!(
                "{} of {} documents are built\n",
                cell(&building, "built"),
                cell(&building, "documents")
            ))
        };
    }
    if building["ready"] != true && !build.switch.leave_failed {
        return Err(hinted(
            format!("{} documents could not be built", cell(&building, "failed")),
            "`gristmill runs --status failed` says why; retry them, or switch with --leave-failed",
        ));
    }
    self::switch(client, &build.switch).await
}

/// A build that does not get on, and what was told of it.
#[derive(Default)]
struct Standstill {
    at: [u64; 3],
    looks: u32,
    told: Option<String>,
}

impl Standstill {
    /// Whether it is time to say why, found where it is now.
    fn lasts(&mut self, at: [u64; 3]) -> bool {
        if self.at != at {
            self.at = at;
            self.looks = 0;
        }
        self.looks += 1;
        self.looks.is_multiple_of(LOOKS)
    }

    /// The same is told once.
    fn tell(&mut self, why: Option<String>) {
        if let Some(why) = why.filter(|why| self.told.as_ref() != Some(why)) {
            eprintln!("waiting: {why}");
            self.told = Some(why);
        }
    }
}

/// What a run under way waits for; else what the build does.
async fn waits_for(
    client: &Client,
    within: &InKb,
    building: &Value,
) -> anyhow::Result<Option<String>> {
    for status in ["running", "queued"] {
        let query = [
            ("kb", Some(within.kb.clone())),
            ("status", Some(status.to_owned())),
        ];
        let runs: Rows<Value> = client.get(&with_query("/v1/runs", &query)).await?;
        let waiting = runs.items.iter().find_map(|run| run["waiting"].as_str());
        if let Some(why) = waiting {
            return Ok(Some(why.to_owned()));
        }
    }
    Ok(building["waits_for"].as_str().map(str::to_owned))
}

async fn switch(client: &Client, switch: &Switch) -> anyhow::Result<()> {
    let path = format!("{}/building/switch", place(&switch.within));
    let body = json!({ "leave_failed": switch.leave_failed });
    let kb: Value = client.post(&path, &body).await?;
    said(&switch.within, &kb, "serving")
}

fn said(within: &InKb, kb: &Value, what: &str) -> anyhow::Result<()> {
    if within.json {
        return print_line(kb);
    }
    let serving = &kb["serving"];
    let said = match what {
        "serving" => format!(
            "`{}` serves generation {} ({})\n",
            within.kb,
            cell(serving, "number"),
            cell(serving, "model")
        ),
        other => format!(
            "{other}; `{}` serves generation {} as before\n",
            within.kb,
            cell(serving, "number")
        ),
    };
    print_text(&said)
}
