//! `crash-test` itself: it finds nothing where all is well, and a bug where one is planted.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sqlx::{Connection as _, PgConnection};

use crate::mill::{Catalog, Folder, Mill, path, text};

/// Files of every kind there is; one has several units, one is read in pieces, one cannot be
/// read. More of them where that was asked for.
fn mixed() -> Folder {
    let asked = std::env::var("GRISTMILL_FAULT_DOCUMENTS").is_ok();
    let folder = Folder::of(&[("broken.pdf", "%PDF-1.7 and nothing more")]);
    testkit::write_documents(folder.path(), if asked { 54 } else { 9 }).expect("they are written");
    let line = |n: usize| format!("Sack {n} was weighed, {} grains in it.\n\n", n * n);
    let long: String = (0..1_800).map(line).collect();
    folder.write("long.md", &format!("# Sacks\n\n{long}"));
    // More than a slice of text in its first piece, and hardly any in the others.
    let many: String = (0..8_000).map(line).collect();
    let blank = "\n".repeat(2 << 20);
    folder.write("large.txt", &format!("{many}{blank}{long}"));
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
        "objects.put_progress",
    ];
    for point in expected {
        assert!(points.contains(point), "{point} is not among {points:?}");
    }
}

#[test]
fn a_command_is_given_again_only_where_nothing_was_begun() {
    let folder = Folder::of(&[("note.txt", "The miller is out.\n")]);
    let args = [
        "--point",
        "app.write_secrets",
        "--point",
        "catalog.activate",
    ];
    for line in outcomes(&Mill::sqlite(), &folder, &args) {
        let expected = match text(&line["point"]) {
            "app.write_secrets" => "repeated",
            _ => "resumed",
        };
        assert_eq!(line["restart"], expected, "{line}");
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

/// What is found wrong with a bug planted, which may only die at one point.
fn caught(mill: &Mill, folder: &Folder, plant: &str, point: &str) -> Vec<Value> {
    let output = mill
        .command(&["crash-test", path(folder.path()), "--json"])
        .args(["--point", point])
        .env("GRISTMILL_PLANT", plant)
        .output()
        .expect("the binary starts");
    assert!(!output.status.success());
    let told = String::from_utf8(output.stdout).expect("output is UTF-8");
    let lines = told
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("every line is a JSON object"));
    lines.filter(|line| line["ok"] == false).collect()
}

#[test]
fn an_effect_out_of_order_is_caught() {
    let caught = caught(&Mill::sqlite(), &mixed(), "marks_too_early", "index.flush");
    assert!(
        caught
            .iter()
            .any(|line| line["lost"].as_u64() > Some(0) && line["point"] == "index.flush"),
        "chunks are lost where the flush did not happen: {caught:#?}"
    );
}

#[test]
fn what_a_job_has_lost_is_not_hidden_by_ingesting_again() {
    let folder = Folder::of(&[("a.txt", "The miller is out.\n"), ("b.txt", "So is she.\n")]);
    let (plant, point) = ("moves_cursor_too_early", "catalog.admit_batch");
    let caught = caught(&Mill::sqlite(), &folder, plant, point);
    let lost = |line: &&Value| line["lost"].as_u64() > Some(0) && line["restart"] == "resumed";
    assert!(caught.iter().any(|line| lost(&line)), "{caught:#?}");

    // The same bug and the same death, and the user's own retry afterwards: nothing to be seen.
    let mill = Mill::sqlite();
    let ingest = |crash: Option<&str>| {
        let crash = crash.map(|at| ("GRISTMILL_CRASH_AT", at));
        mill.command(&["ingest", path(folder.path()), "--json"])
            .env("GRISTMILL_PLANT", plant)
            .envs(crash)
            .output()
            .expect("the binary starts")
            .status
    };
    assert_eq!(ingest(Some("catalog.admit_batch:after:1")).code(), None);
    assert!(ingest(None).success());
    assert_eq!(mill.lines(&["documents", "--json"]).len(), 2);
}

/// The configuration of a trial that is under way.
fn trial(test: &mut Child, places: &Path) -> PathBuf {
    loop {
        let mut there = std::fs::read_dir(places).unwrap();
        let trial = there.find_map(|entry| {
            let file = entry.unwrap().path().join("gristmill.toml");
            file.exists().then_some(file)
        });
        if let Some(file) = trial {
            return file;
        }
        assert!(test.try_wait().unwrap().is_none(), "it ended before");
        std::thread::yield_now();
    }
}

/// Stopped while it tries deaths.
fn is_interrupted(mill: &Mill) {
    let folder = Folder::of(&[("note.txt", "The miller is out.\n")]);
    let places = tempfile::tempdir().unwrap();
    let mut test = mill
        .command(&["crash-test", path(folder.path())])
        .env("TMPDIR", places.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(test.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("dying")));
    let file = trial(&mut test, places.path());
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(file.parent().unwrap()), mode(&file)),
        (0o700, 0o600),
        "it holds the user's secrets"
    );
    let pid = Pid::from_raw(test.id().cast_signed()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let ended = test.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{told}");
    assert!(told.contains("it was interrupted"), "{told}");
    let left = std::fs::read_dir(places.path()).unwrap().count();
    assert_eq!(left, 0, "folders are left");
}

#[test]
fn an_interrupted_test_leaves_nothing_behind() {
    is_interrupted(&Mill::sqlite());
}

#[tokio::test]
async fn an_interrupted_test_leaves_no_schema_behind() {
    let url = testkit::postgres().await;
    is_interrupted(&Mill::new(Catalog::Postgres { url: url.clone() }));
    let mut database = PgConnection::connect(&url).await.unwrap();
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'gristmill_scratch_%'";
    let schemas: i64 = sqlx::query_scalar(schemas)
        .fetch_one(&mut database)
        .await
        .unwrap();
    assert_eq!(schemas, 0);
}
