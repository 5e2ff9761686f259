//! Jobs at a terminal: each command says where the job stands after it, and so does `status`.

use serde_json::{Value, json};

use testkit::double::{Answer, Double};

use crate::mill::{Folder, Mill, embeds_at, path, text};
use crate::server::Server;

#[tokio::test]
async fn a_job_is_paused_resumed_and_canceled_and_says_each_time_what_it_waits_for() {
    let mill = Mill::sqlite();
    let open = [("GRISTMILL_AUTH_ENABLED", "false")];
    let server = Server::spawn(&mill, &["--no-workers"], &open);
    let folder = Folder::of(&[("a.md", "# A\n\nThe hopper is full.\n")]);
    let body = json!({ "kb": "default", "folder": { "roots": [folder.path()] } });
    let job = server.post("/v1/jobs", &body).await;
    let job = text(&job["job_id"]);

    let resume = format!("waits for `gristmill jobs resume {job}`");
    let steps = [
        ("start", "queued (no worker lists its source yet)"),
        ("pause", resume.as_str()),
        ("resume", "queued (no worker lists its source yet)"),
    ];
    for (verb, standing) in steps {
        let said = mill.ok(&["jobs", verb, job]);
        assert!(said.contains(standing), "{verb}: {said}");
        let status = mill.ok(&["status"]);
        assert!(status.contains(&format!("{job} ")), "{status}");
        assert!(status.contains(standing), "{status}");
    }
    for _ in 0..2 {
        let said = mill.ok(&["jobs", "cancel", job]);
        assert!(said.contains("canceled (Canceled by user)"), "{said}");
    }
    assert!(!mill.ok(&["status"]).contains(job), "it is over");
    assert!(!mill.run(&["jobs", "pause", job]).status.success());
}

#[tokio::test]
async fn status_names_a_job_that_failed_and_says_why() {
    let mill = Mill::sqlite();
    let server = Server::start(&mill, &[]);
    let folder = Folder::of(&[("a.md", "The hopper is full.")]);
    let body = json!({ "kb": "default", "folder": { "roots": [folder.path()] } });
    let job = server.post("/v1/jobs", &body).await;
    let job = text(&job["job_id"]);
    drop(folder);
    mill.ok(&["jobs", "start", job]);
    let failed = |job: &Value| job["status"] == "failed";
    server.until(&format!("/v1/jobs/{job}"), failed).await;
    let status = mill.ok(&["status"]);
    assert!(
        status.contains(&format!("{job} failed (cannot read")),
        "{status}"
    );
}

/// Taken in whole and nothing done with it; the job's id.
fn killed_once_taken_in(mill: &Mill, folder: &Folder) -> String {
    let mut ingest = mill.command(&["ingest", path(folder.path())]);
    ingest.env("GRISTMILL_CRASH_AT", "catalog.admit_batch:after:1");
    let died = ingest.output().expect("it starts");
    assert!(!died.status.success());
    let jobs = mill.lines(&["jobs", "list", "--json"]);
    text(&jobs[0]["job_id"]).to_owned()
}

async fn nothing_says_that_a_resumed_job_is_paused(mill: &Mill) {
    let folder = Folder::of(&[
        ("a.md", "The hopper is full."),
        ("b.md", "The sluice is shut."),
    ]);
    let job = killed_once_taken_in(mill, &folder);
    mill.ok(&["jobs", "pause", &job]);
    let server = Server::start(mill, &[]);
    let held_back = |status: &Value| status["work_waiting"] == 2;
    server.until("/v1/status", held_back).await;
    drop(server);

    mill.ok(&["jobs", "resume", &job]);
    let status = mill.ok(&["status"]);
    assert!(status.contains("(0 of both waiting)"), "{status}");
    assert!(status.contains("2 ready (0 of it stalled)"), "{status}");
    for told in [status, mill.ok(&["runs"]), mill.ok(&["runs", "--json"])] {
        assert!(!told.contains("paused"), "{told}");
    }
    let server = Server::start(mill, &[]);
    let done = |job: &Value| job["status"] == "completed";
    server.until(&format!("/v1/jobs/{job}"), done).await;
}

#[tokio::test]
async fn once_a_job_is_resumed_nothing_says_that_it_is_paused() {
    nothing_says_that_a_resumed_job_is_paused(&Mill::sqlite()).await;
}

#[tokio::test]
async fn once_a_job_is_resumed_nothing_says_that_it_is_paused_on_postgres() {
    nothing_says_that_a_resumed_job_is_paused(&Mill::postgres().await).await;
}

/// One of its two documents is there already, and the service never answers for the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_says_how_fast_it_goes_and_what_is_left_while_somebody_is_at_it() {
    let double = Double::start(vec![]).await;
    double.refuse("sluice", Answer::silence());
    let url = double.url();
    let mill = Mill::sqlite();
    let server = Server::start(&mill, &embeds_at(&url));
    let folder = Folder::of(&[("a.md", "The hopper is full.")]);
    mill.ok(&["ingest", path(folder.path())]);
    folder.write("b.md", "The sluice is shut.");
    let body = json!({ "kb": "default", "folder": { "roots": [folder.path()] } });
    let job = server.post("/v1/jobs", &body).await;
    let job = text(&job["job_id"]);
    mill.ok(&["jobs", "start", job]);

    let of_job = format!("/v1/jobs/{job}");
    let is_known = |job: &Value| job["pace"]["seconds_left"].is_u64();
    let pace = &server.until(&of_job, is_known).await["pace"];
    assert!(pace["documents_per_second"].as_f64() > Some(0.0), "{pace}");
    assert!(pace["chunks_per_second"].is_f64(), "{pace}");
    let shown: Value = serde_json::from_str(&mill.ok(&["jobs", "show", job])).expect("JSON");
    assert!(is_known(&shown), "{shown}");
    let status = mill.ok(&["status"]);
    assert!(status.contains(" documents/s, "), "{status}");
    assert!(status.contains(" chunks/s, about "), "{status}");

    mill.ok(&["jobs", "pause", job]);
    let pace = &server.get(&of_job).await["pace"];
    assert!(pace["documents_per_second"].is_f64(), "{pace}");
    assert_eq!(pace["seconds_left"], Value::Null, "nobody knows");
    assert!(!mill.ok(&["status"]).contains("left"));
}

/// Its objects are out of reach, so that nothing can be taken in.
#[tokio::test]
async fn a_listing_that_was_interrupted_says_why_and_until_when_it_waits() {
    let mill = Mill::sqlite();
    let server = Server::start(&mill, &[]);
    let folder = Folder::of(&[("a.md", "The hopper is full.")]);
    let body = json!({ "kb": "default", "folder": { "roots": [folder.path()] } });
    let job = server.post("/v1/jobs", &body).await;
    let job = text(&job["job_id"]);
    let objects = mill.data().join("objects");
    std::fs::rename(&objects, mill.data().join("away")).unwrap();
    std::fs::write(&objects, "not a folder").unwrap();
    mill.ok(&["jobs", "start", job]);

    let backs_off = |job: &Value| job["standing"]["state"] == "backing_off";
    let job = &server.until(&format!("/v1/jobs/{job}"), backs_off).await;
    assert_eq!(job["status"], "running", "{job}");
    assert_eq!(job["error"], Value::Null, "it has not failed");
    assert!(job["standing"]["until"].is_string(), "{job}");
    let why = text(&job["standing"]["detail"]);
    assert!(why.contains("objects"), "{why}");
    assert!(mill.ok(&["status"]).contains(why));
}

#[test]
fn a_job_that_was_refused_a_file_says_so() {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[("large.txt", &"The race is dry. ".repeat(1 << 17))]);
    let mut ingest = mill.command(&["ingest", path(folder.path())]);
    let told = ingest.env("GRISTMILL_UPLOAD_MAX_MB", "1").output().unwrap();
    assert!(!told.status.success());
    let job = &mill.lines(&["jobs", "list", "--json"])[0];
    let id = text(&job["job_id"]);
    let detail = format!("1 file refused; `gristmill jobs show {id}` tells why");
    assert_eq!(job["standing"]["detail"], detail, "{job}");
    assert!(mill.ok(&["status"]).contains(&detail));
    let listed = mill.ok(&["jobs"]);
    let row = listed.lines().nth(1).expect("its row").replace(&detail, "");
    let counts: Vec<_> = row.split_whitespace().rev().skip(1).take(3).collect();
    assert_eq!(counts, ["1", "0", "1"], "failed, open and seen: {listed}");
    let shown: Value = serde_json::from_str(&mill.ok(&["jobs", "show", id])).unwrap();
    let why = text(&shown["problems"][0]["message"]);
    assert!(why.contains("too large"), "{shown}");
}
