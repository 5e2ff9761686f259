//! A purged document is in no file of the data folder any more, whatever happened on the way.

use std::path::{Path, PathBuf};

use serde_json::json;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use testkit::holding;

use crate::mill::{Folder, Mill, path, text};

/// Words nothing else holds, by where they come from.
struct Marks {
    name: String,
    title: String,
    body: String,
    metadata: String,
}

impl Marks {
    fn new() -> Self {
        // Nothing a stemmer would shorten.
        let mark = |kind: &str| format!("{kind}{}7", uuid::Uuid::new_v4().simple());
        Self {
            name: mark("n"),
            title: mark("t"),
            body: mark("b"),
            metadata: mark("m"),
        }
    }

    fn all(&self) -> [&str; 4] {
        [&self.name, &self.title, &self.body, &self.metadata]
    }

    fn file(&self) -> String {
        format!("{}.md", self.name)
    }
}

/// A marked document between two others, of two versions that both are.
fn library(marks: &Marks) -> (Mill, Folder) {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[]);
    let secret = format!("secret={}", marks.metadata);
    let write = |name: &str, text: &str| {
        folder.write(name, text);
        mill.ingest(folder.path());
    };
    let mark = |version: u32| {
        let text = format!(
            "# {}\n\nSheet {version} says {}.\n",
            marks.title, marks.body
        );
        folder.write(&marks.file(), &text);
        let file = folder.file(&marks.file());
        mill.lines(&["ingest", path(&file), "--metadata", &secret, "--json"]);
    };
    write("first.md", "# First\n\nThe wheel turns.\n");
    mark(1);
    mark(2);
    write("last.md", "# Last\n\nThe stone rests.\n");
    (mill, folder)
}

/// Whether the text index knows a word, of any chunk, deleted or not, in any generation. Its
/// files cannot be searched byte by byte: words share their beginnings and endings there.
fn text_knows(data: &Path, word: &str) -> bool {
    let mut folders = vec![data.join("text")];
    for _ in 0..3 {
        let within = folders.iter().map(std::fs::read_dir);
        let entries = within.flat_map(|entries| entries.unwrap());
        folders = entries.map(|entry| entry.unwrap().path()).collect();
    }
    assert!(!folders.is_empty());
    folders.iter().any(|folder| book_knows(folder, word))
}

fn book_knows(folder: &Path, word: &str) -> bool {
    let index = tantivy::Index::open_in_dir(folder).unwrap();
    let body = index.schema().get_field("body").unwrap();
    let searcher = index.reader().unwrap().searcher();
    searcher.segment_readers().iter().any(|segment| {
        let words = segment.inverted_index(body).unwrap();
        words.terms().get(word).unwrap().is_some()
    })
}

fn nothing_is_left(mill: &Mill, marks: &Marks) {
    for mark in marks.all() {
        let files = holding(&mill.data(), mark.as_bytes());
        assert_eq!(files, Vec::<PathBuf>::new(), "{mark}");
        assert!(!text_knows(&mill.data(), mark));
    }
    assert!(text_knows(&mill.data(), "wheel"));
    let left = mill.lines(&["verify", "--json"]).remove(0);
    assert_eq!(left["documents"], 2, "{left}");
    assert_eq!(
        (&left["disagreements"], &left["leftovers"]),
        (&json!([]), &json!([]))
    );
}

#[test]
fn nothing_of_a_purged_document_is_in_any_file() {
    let marks = Marks::new();
    let (mill, folder) = library(&marks);
    let held = |mark: &str| {
        let stores = ["index", "objects", "catalog.db"].map(|store| mill.data().join(store));
        let files = holding(&mill.data(), mark.as_bytes());
        stores.map(|store| {
            let here = |file: &&PathBuf| {
                file.to_string_lossy()
                    .starts_with(&*store.to_string_lossy())
            };
            files.iter().filter(here).count() > 0
        })
    };
    assert_eq!(
        held(&marks.body),
        [true, true, false],
        "the method finds what is there"
    );
    assert_eq!(held(&marks.title), [true, true, true]);
    assert_eq!(held(&marks.metadata), [false, false, true]);
    assert_eq!(held(&marks.name), [false, false, true]);
    assert!(text_knows(&mill.data(), &marks.body));
    // As `repair` leaves it where the index was damaged.
    let aside = mill.data().join("index.damaged-20261118T000000000Z");
    std::fs::create_dir(&aside).unwrap();
    std::fs::write(aside.join("00000000000000000001.sst"), &marks.body).unwrap();
    // As a process leaves it that dies while it writes a table, or an upload.
    for unfinished in [
        "index/slate/wal/00000000000000000999.sst#1",
        "objects/staging/upload#1",
    ] {
        let unfinished = mill.data().join(unfinished);
        std::fs::create_dir_all(unfinished.parent().unwrap()).unwrap();
        std::fs::write(unfinished, &marks.body).unwrap();
    }

    let file = folder.file(&marks.file());
    let purged = &mill.lines(&["documents", "purge", path(&file), "--yes", "--json"])[0];
    assert_eq!(purged["versions"], 2, "{purged}");
    assert!(
        purged["files_read"].as_u64().is_some_and(|files| files > 0),
        "{purged}"
    );
    assert_eq!(purged["jobs_keeping_metadata"], 0, "{purged}");
    nothing_is_left(&mill, &marks);
}

#[test]
fn what_a_switch_of_generations_left_behind_is_purged_too() {
    let marks = Marks::new();
    let (mill, folder) = library(&marks);
    mill.ok(&["generations", "build", "--target", "60"]);
    let file = folder.file(&marks.file());
    let purged = &mill.lines(&["documents", "purge", path(&file), "--yes", "--json"])[0];
    assert_eq!(purged["versions"], 3, "{purged}");
    nothing_is_left(&mill, &marks);
}

/// Their versions are gone before the purge begins, and their runs are not; nor is how far a job
/// had come that could not take it in any more.
#[test]
fn what_was_canceled_given_up_or_refused_before_is_purged_too() {
    let marks = Marks::new();
    let (mill, folder) = library(&marks);
    let jobs = mill.lines(&["jobs", "list", "--json"]);
    let [_, _, first, _] = &jobs[..] else {
        panic!("newest first: {jobs:?}")
    };
    mill.ok(&["jobs", "cancel", text(&first["job_id"])]);
    mill.ok(&["generations", "build", "--target", "60", "--no-switch"]);
    mill.ok(&["generations", "abandon"]);
    folder.write(&marks.file(), &"It has grown. ".repeat(100_000));
    let file = folder.file(&marks.file());
    let refused = mill
        .command(&["ingest", path(folder.path()), "--json"])
        .env("GRISTMILL_UPLOAD_MAX_MB", "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&refused.stdout);
    assert!(told.contains("too large"), "{told}");

    let purged = &mill.lines(&["documents", "purge", path(&file), "--yes", "--json"])[0];
    assert_eq!(purged["versions"], 1, "{purged}");
    assert_eq!(purged["residue"]["rows"], 0, "{purged}");
    assert_eq!(purged["jobs_keeping_metadata"], 0, "{purged}");
    nothing_is_left(&mill, &marks);
}

/// What was made of it is all there still, and only its run tells of it.
#[tokio::test]
async fn a_version_that_lost_its_row_is_purged_with_its_document() {
    for which in ["min", "max"] {
        let marks = Marks::new();
        let (mill, folder) = library(&marks);
        let catalog = SqliteConnectOptions::new().filename(mill.data().join("catalog.db"));
        let mut catalog = catalog.foreign_keys(false).connect().await.unwrap();
        let lose = format!(
            "DELETE FROM document_versions WHERE number =
                 (SELECT {which}(number) FROM document_versions WHERE filename = $1)"
        );
        let lose = sqlx::query(AssertSqlSafe(lose)).bind(marks.file());
        assert_eq!(lose.execute(&mut catalog).await.unwrap().rows_affected(), 1);
        catalog.close().await.unwrap();

        let file = folder.file(&marks.file());
        let purged = &mill.lines(&["documents", "purge", path(&file), "--yes", "--json"])[0];
        assert_eq!(purged["versions"], 1, "{which}: {purged}");
        let residue = purged["residue"].as_object().unwrap();
        assert!(residue.values().all(|left| *left == 0), "{which}: {purged}");
        nothing_is_left(&mill, &marks);
    }
}

#[test]
fn metadata_of_a_job_goes_with_the_last_document_that_came_by_it() {
    let marks = Marks::new();
    let mill = Mill::sqlite();
    let folder = Folder::of(&[
        ("one.md", "# One\n\nGrist.\n"),
        ("two.md", "# Two\n\nBran.\n"),
    ]);
    let secret = format!("secret={}", marks.metadata);
    mill.lines(&[
        "ingest",
        path(folder.path()),
        "--metadata",
        &secret,
        "--json",
    ]);
    let purge = |name: &str| {
        let file = folder.file(name);
        let purged = mill.lines(&["documents", "purge", path(&file), "--yes", "--json"]);
        let left = holding(&mill.data(), marks.metadata.as_bytes()).len();
        (purged[0]["jobs_keeping_metadata"].clone(), left > 0)
    };
    assert_eq!(purge("one.md"), (json!(1), true), "the other has it still");
    assert_eq!(purge("two.md"), (json!(0), false));
}

#[test]
fn a_purge_that_dies_anywhere_is_finished_by_the_next() {
    let marks = Marks::new();
    let (mill, folder) = library(&marks);
    let file = folder.file(&marks.file());
    let documents = mill.lines(&["documents", "--json"]);
    let is_it = |row: &&serde_json::Value| text(&row["source_uri"]).ends_with(&marks.file());
    let id = text(&documents.iter().find(is_it).unwrap()["document_id"]);
    let deaths = [
        "catalog.begin_purge:after:1",
        "index.settle:after:1",
        "index.merge:after:1",
        "index.collect:before:1",
        "index.collect:after:1",
        "catalog.forget_versions:before:1",
    ];
    for death in deaths {
        let died = mill
            .command(&["documents", "purge", id, "--yes"])
            .env("GRISTMILL_CRASH_AT", death)
            .output()
            .unwrap();
        assert!(!died.status.success(), "{death}: {died:?}");
        assert!(
            !holding(&mill.data(), marks.title.as_bytes()).is_empty(),
            "its rows are there: {death}"
        );
        let told = mill.ok(&["documents", "--all"]);
        let row = told
            .lines()
            .find(|line| line.contains(id))
            .expect("its row");
        assert!(row.contains(" purging "), "nobody canceled it: {told}");
        assert!(told.contains("purge DOCUMENT --yes` ends it"), "{told}");
    }
    let purged = &mill.lines(&["documents", "purge", path(&file), "--yes", "--json"])[0];
    assert_eq!(purged["versions"], 2, "{purged}");
    nothing_is_left(&mill, &marks);
}
