//! A job canceled in the middle of its work takes with it what only it brought.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use index::{Flush, Index};
use object_store::local::LocalFileSystem;
use serde_json::{Value, json};
use sqlx::{Connection as _, SqliteConnection};

use crate::mill::{Folder, Mill, path, text};
use crate::server::Server;

/// Of the job that is canceled; the other has a quarter as many, a few of them shared.
fn documents() -> usize {
    let asked = std::env::var("GRISTMILL_FAULT_DOCUMENTS").ok();
    asked.map_or(120, |n| n.parse().expect("a number"))
}

/// Only the first folder speaks of sluices, but for what both jobs take in.
fn two_folders(documents: usize) -> Folder {
    let folder = Folder::of(&[]);
    for n in 0..documents {
        let (place, word) = if n % 10 == 0 {
            ("first/shared", "hopper")
        } else {
            ("first", "sluice")
        };
        let text = format!("# Note {n}\n\nThe {word} of mill {n} is mended in spring.\n");
        folder.write(&format!("{place}/{n}.md"), &text);
    }
    for n in 0..documents / 4 {
        let text = format!("# Sail {n}\n\nThe sail of mill {n} is canvas on a frame.\n");
        folder.write(&format!("second/{n}.md"), &text);
    }
    folder
}

async fn begin(server: &Server, roots: &[std::path::PathBuf]) -> String {
    let body = json!({ "kb": "default", "folder": { "roots": roots } });
    let job = server.post("/v1/jobs", &body).await;
    let id = text(&job["job_id"]).to_owned();
    server
        .post(&format!("/v1/jobs/{id}/start"), &json!({}))
        .await;
    id
}

#[tokio::test]
async fn a_canceled_job_leaves_nothing_and_the_one_beside_it_loses_nothing() {
    let n = documents();
    let folder = two_folders(n);
    let first = [folder.file("first")];
    let second = [folder.file("second"), folder.file("first/shared")];
    let mill = Mill::sqlite();

    // It dies while the cancel deletes objects.
    let death = format!("objects.delete:after:{n}");
    let mut server = Server::start(&mill, &[("GRISTMILL_CRASH_AT", &death)]);
    let canceled = begin(&server, &first).await;
    let kept = begin(&server, &second).await;
    let half = |job: &Value| job["progress"]["ended"].as_u64() >= Some(n as u64 / 2);
    server.until(&format!("/v1/jobs/{canceled}"), half).await;
    let cancel = format!("/v1/jobs/{canceled}/cancel");
    let answer = server.post_and_see(&cancel).await;
    assert!(answer.is_none(), "it died in the middle of the cancel");
    assert!(server.is_dead());

    let server = Server::start(&mill, &[]);
    let gone = |job: &Value| job["status"] == "not_started";
    let job = server.until(&format!("/v1/jobs/{canceled}"), gone).await;
    assert_eq!(job["standing"]["state"], "canceled", "{job}");
    let done = |job: &Value| job["status"] == "completed";
    server.until(&format!("/v1/jobs/{kept}"), done).await;
    let idle = |status: &Value| status["work"] == 0;
    server.until("/v1/status", idle).await;
    drop(server);

    let calm = Mill::sqlite();
    calm.ok(&["ingest", path(&second[0]), path(&second[1])]);
    assert_eq!(mill.digest(), calm.digest());
    let left = n / 4 + n.div_ceil(10);
    nothing_else_is_left(&mill, left, &canceled).await;
}

/// What it added goes, what it replaced or removed is back, and its runs tell of it.
fn all_is_as_before(mill: &Mill) {
    let folder = Folder::of(&[
        ("changed.md", "The wheel has twelve floats."),
        ("gone.md", "The wheel is of oak."),
        ("same.md", "The wheel turns."),
    ]);
    mill.ingest(folder.path());
    let before = mill.digest();
    folder.write("changed.md", "The wheel has sixteen floats.");
    folder.write("new.md", "The wheel was mended.");
    std::fs::remove_file(folder.file("gone.md")).expect("it is there");
    mill.ok(&["ingest", path(folder.path()), "--remove-missing"]);
    assert_ne!(mill.digest(), before);

    let jobs = mill.lines(&["jobs", "list", "--json"]);
    let job = text(&jobs[0]["job_id"]);
    mill.ok(&["jobs", "cancel", job]);
    let told = &mill.lines(&["verify", "--json"])[0];
    assert_eq!(told["disagreements"], json!([]));
    assert_eq!(told["digest"], before.as_str());
    let runs = mill.lines(&["runs", "--json"]);
    let with = |status: &str| runs.iter().filter(|run| run["status"] == status).count();
    assert_eq!((with("succeeded"), with("canceled")), (3, 2));
}

#[test]
fn a_canceled_job_leaves_everything_as_it_was_before() {
    all_is_as_before(&Mill::sqlite());
}

#[tokio::test]
async fn a_canceled_job_leaves_everything_as_it_was_before_on_postgres() {
    all_is_as_before(&Mill::postgres().await);
}

#[test]
fn what_cannot_be_done_any_more_is_refused_by_name_with_the_way_out() {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[("a.md", "# A\n\nGrist.\n")]);
    mill.ingest(folder.path());
    let jobs = mill.lines(&["jobs", "--json"]);
    let job = text(&jobs[0]["job_id"]);
    mill.ok(&["jobs", "cancel", job]);
    let runs = mill.lines(&["runs", "--json"]);
    let refused = |args: &[&str]| {
        let refused = mill.run(args);
        assert!(!refused.status.success(), "{args:?}");
        String::from_utf8_lossy(&refused.stderr).into_owned()
    };
    let said = refused(&["runs", "retry", text(&runs[0]["run_id"])]);
    assert!(said.contains("ingest the file again"), "{said}");
    let said = refused(&["jobs", "pause", job]);
    assert!(said.contains(&format!("{job} is not_started")), "{said}");
}

/// Killed amid a batch of its listing, and canceled before anybody lists it again.
fn killed_while_listing_it_leaves_nothing(mill: &Mill, point: &str) {
    let folder = Folder::of(&[]);
    for n in 0..6 {
        folder.write(&format!("{n}.md"), &format!("The weir of mill {n}.\n"));
    }
    // More than is held in memory, and little to read.
    folder.write("large.txt", &"\n".repeat((1 << 20) + 1));
    let mut ingest = mill.command(&["ingest", path(folder.path())]);
    let died = ingest.env("GRISTMILL_CRASH_AT", point).output();
    assert!(!died.expect("it starts").status.success(), "{point}");

    let jobs = mill.lines(&["jobs", "list", "--json"]);
    let job = text(&jobs[0]["job_id"]);
    mill.ok(&["jobs", "cancel", job]);
    for place in ["objects/originals", "objects/staging"] {
        let place = mill.data().join(place);
        assert!(!holds_anything(&place), "{point}: {}", place.display());
    }
}

const AMID_A_BATCH: [&str; 6] = [
    "catalog.note_originals:after:1",
    "objects.put:after:4",
    "objects.put_stream:before:1",
    "objects.put_stream:after:1",
    "objects.rename:after:1",
    "catalog.admit_batch:before:1",
];

#[test]
fn a_job_killed_while_it_lists_and_then_canceled_leaves_nothing() {
    for point in AMID_A_BATCH {
        killed_while_listing_it_leaves_nothing(&Mill::sqlite(), point);
    }
}

#[tokio::test]
async fn a_job_killed_while_it_lists_and_then_canceled_leaves_nothing_on_postgres() {
    for point in AMID_A_BATCH {
        killed_while_listing_it_leaves_nothing(&Mill::postgres().await, point);
    }
}

/// Where `jobs cancel` may be killed while something is left to remove.
const AMID_A_CANCEL: [&str; 3] = [
    "catalog.begin_cancel:after:1",
    "catalog.heartbeat_cancel:after:1",
    "catalog.forget_versions:before:1",
];

/// The job whose cancel was killed there, and nobody is at it.
fn killed_while_canceling(mill: &Mill, point: &str) -> String {
    let folder = Folder::of(&[
        ("a.md", "The weir is mended."),
        ("b.md", "The race is dry."),
    ]);
    mill.ingest(folder.path());
    let jobs = mill.lines(&["jobs", "list", "--json"]);
    let job = text(&jobs[0]["job_id"]).to_owned();
    let mut cancel = mill.command(&["jobs", "cancel", &job]);
    let died = cancel.env("GRISTMILL_CRASH_AT", point).output();
    assert!(!died.expect("it starts").status.success(), "{point}");
    let status = mill.ok(&["status"]);
    let stands = status.lines().find(|line| line.contains(&job));
    let stands = stands.expect("it is not over");
    assert!(stands.contains(" stalled, heard from "), "{stands}");
    let finish = format!("`gristmill jobs cancel {job}`");
    assert!(stands.contains(&finish), "{stands}");
    assert!(stands.contains("`gristmill serve`"), "{stands}");
    job
}

#[tokio::test]
async fn a_cancel_that_was_killed_says_so_and_ends_in_the_ways_it_says() {
    for point in AMID_A_CANCEL {
        let mill = Mill::sqlite();
        let job = killed_while_canceling(&mill, point);
        let said = mill.ok(&["jobs", "cancel", &job]);
        assert!(said.contains("canceled (Canceled by user)"), "{said}");
        assert!(!mill.ok(&["status"]).contains(&job), "it is over");

        let mill = Mill::sqlite();
        let job = killed_while_canceling(&mill, point);
        let server = Server::start(&mill, &[]);
        let gone = |job: &Value| job["standing"]["state"] == "canceled";
        server.until(&format!("/v1/jobs/{job}"), gone).await;
    }
}

/// Looks into every store, at what answers and what does not.
async fn nothing_else_is_left(mill: &Mill, documents: usize, canceled: &str) {
    let data = mill.data();
    let url = format!("sqlite://{}", data.join("catalog.db").display());
    let mut catalog = SqliteConnection::connect(&url).await.expect("it opens");
    let mut count = async |sql: &'static str| -> usize {
        let count: i64 = sqlx::query_scalar(sql)
            .fetch_one(&mut catalog)
            .await
            .expect("it counts");
        usize::try_from(count).expect("a count")
    };
    for table in [
        "SELECT count(*) FROM document_versions",
        "SELECT count(*) FROM activations WHERE closed_at IS NULL",
        "SELECT count(*) FROM job_versions",
        "SELECT count(DISTINCT version_id) FROM document_units",
    ] {
        assert_eq!(count(table).await, documents, "{table}");
    }
    for table in [
        "SELECT count(*) FROM work",
        "SELECT count(*) FROM dead_letters",
    ] {
        assert_eq!(count(table).await, 0, "{table}");
    }
    assert_eq!(entries(&data.join("objects/originals"), 2), documents);
    assert_eq!(entries(&data.join("objects/versions"), 2), documents);
    the_index_holds(&data, documents, canceled).await;
}

/// How many there are that deep below a folder; a folder that is empty does not count.
fn entries(folder: &Path, deep: usize) -> usize {
    let Ok(listed) = std::fs::read_dir(folder) else {
        return 0;
    };
    let below = listed.map(|entry| entry.expect("it is listed").path());
    if deep > 1 {
        return below.map(|path| entries(&path, deep - 1)).sum();
    }
    below.filter(|path| holds_anything(path)).count()
}

fn holds_anything(path: &Path) -> bool {
    match std::fs::read_dir(path) {
        Err(_) => path.is_file(),
        Ok(mut listed) => listed.any(|entry| holds_anything(&entry.expect("it is listed").path())),
    }
}

async fn the_index_holds(data: &Path, documents: usize, canceled: &str) {
    let store = LocalFileSystem::new_with_prefix(data.join("index")).expect("a folder");
    let index = Index::open(
        index::Settings::default(),
        Arc::new(store),
        data.join("text"),
    );
    let index = index.await.expect("the index opens");
    let snapshot = index.snapshot(Flush(0)).await.expect("a snapshot");
    let held = snapshot.versions().await.expect("it lists");
    assert_eq!(held.len(), documents, "what is left of {canceled}");
    let spaces: BTreeSet<_> = held.iter().map(|(space, _, _)| *space).collect();
    let all = (0..100_000).collect();
    for space in spaces {
        let found = snapshot.search_text(space, "sluice", &all, 10).await;
        assert!(found.expect("it searches").is_empty());
        let found = snapshot.search_text(space, "sail", &all, 10).await;
        assert!(!found.expect("it searches").is_empty());
    }
    index.close().await.expect("the index closes");
}
