//! `crash-test` itself: it finds nothing where all is well, and a bug where one is planted.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::mill::{Folder, Mill, path, text};

/// Files of every kind there is; one has several units, one cannot be read. More of them
/// where that was asked for.
fn mixed() -> Folder {
    let asked = std::env::var("GRISTMILL_FAULT_DOCUMENTS").is_ok();
    let folder = Folder::of(&[("broken.pdf", "%PDF-1.7 and nothing more")]);
    testkit::write_documents(folder.path(), if asked { 54 } else { 9 }).expect("they are written");
    let line = |n: usize| format!("Sack {n} was weighed, {} grains in it.\n\n", n * n);
    let long: String = (0..1_800).map(line).collect();
    folder.write("long.md", &format!("# Sacks\n\n{long}"));
    folder
}

fn outcomes(mill: &Mill, folder: &Folder, more: &[&str]) -> Vec<Value> {
    let args = [&["crash-test", path(folder.path()), "--json"], more].concat();
    let lines = mill.lines(&args);
    let wrong: Vec<_> = lines.iter().filter(|line| line["ok"] != true).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    lines
}

#[test]
fn dying_at_every_durable_effect_changes_nothing() {
    let lines = outcomes(&Mill::sqlite(), &mixed(), &[]);
    let digests: BTreeSet<_> = lines.iter().map(|line| text(&line["digest"])).collect();
    assert_eq!(digests.len(), 1);
    let points: BTreeSet<_> = lines.iter().map(|line| text(&line["point"])).collect();
    let expected = [
        "app.write_secrets",
        "catalog.activate",
        "catalog.admit_batch",
        "catalog.claim",
        "catalog.complete_unit",
        "catalog.fail_run",
        "catalog.migrate",
        "catalog.prepared",
        "index.flush",
        "index.text",
        "objects.put",
    ];
    for point in expected {
        assert!(points.contains(point), "{point} is not among {points:?}");
    }
}

#[tokio::test]
async fn dying_between_steps_changes_nothing_on_postgres() {
    let folder = Folder::of(&[("note.txt", "The miller is out.\n")]);
    // Only what differs from SQLite: the commits that carry a document from step to step.
    let points = [
        "catalog.admit_batch",
        "catalog.prepared",
        "catalog.complete_unit",
        "catalog.activate",
    ];
    let args: Vec<_> = points.iter().flat_map(|p| ["--point", p]).collect();
    outcomes(&Mill::postgres().await, &folder, &args);
}

#[test]
fn an_effect_out_of_order_is_caught() {
    let mill = Mill::sqlite();
    let folder = mixed();
    let output = mill
        .command(&["crash-test", path(folder.path()), "--json"])
        .args(["--point", "index.flush"])
        .env("GRISTMILL_PLANT", "marks_too_early")
        .output()
        .expect("the binary starts");
    assert!(!output.status.success());
    let told = String::from_utf8(output.stdout).expect("output is UTF-8");
    let lines = told
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("every line is a JSON object"));
    let caught: Vec<_> = lines.filter(|line| line["ok"] == false).collect();
    assert!(
        caught
            .iter()
            .any(|line| line["lost"].as_u64() > Some(0) && line["point"] == "index.flush"),
        "chunks are lost where the flush did not happen: {caught:#?}"
    );
}
