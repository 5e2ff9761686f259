//! Documents that are under way: what the queue has lost of them, or nobody can read there.

use serde_json::json;

use super::under_way::harm;
use crate::mill::{Folder, Mill, path, text};
use crate::server::Server;

/// Three documents, killed at a point of their way.
fn killed_at(point: &str) -> (Mill, Folder) {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[
        ("a.md", "# A\n\nThe hopper is full.\n"),
        ("b.md", "# B\n\nThe sluice is shut.\n"),
        ("c.md", "# C\n\nThe stone is dressed.\n"),
    ]);
    let mut ingest = mill.command(&["ingest", path(folder.path())]);
    ingest.env("GRISTMILL_CRASH_AT", point);
    assert!(!ingest.output().expect("it starts").status.success());
    (mill, folder)
}

#[tokio::test]
async fn what_the_queue_has_lost_of_a_document_is_named_and_put_back() {
    let admitted = "catalog.admit_batch:after:1";
    let prepared = "catalog.prepared:after:1";
    let (lost, unread) = (
        "it is under way, and nothing is left to be done for it",
        "what is to be done for it cannot be read",
    );
    for (point, sql, what) in [
        (
            admitted,
            "DELETE FROM work WHERE id = (SELECT min(id) FROM work)",
            lost,
        ),
        (
            admitted,
            "UPDATE work SET step = 'x' WHERE id = (SELECT min(id) FROM work)",
            unread,
        ),
        (prepared, "DELETE FROM work WHERE kind = 'extract'", lost),
        (prepared, "DELETE FROM document_units", lost),
    ] {
        let (mill, _folder) = killed_at(point);
        mill.ok(&["verify"]);
        harm(&mill, sql).await;
        let told = mill.run(&["verify", "--json"]);
        assert!(!told.status.success(), "{sql}");
        let told: serde_json::Value = serde_json::from_slice(&told.stdout).expect("one line");
        let named = told["disagreements"].as_array().unwrap();
        assert_eq!(named.len(), 1, "{sql}: {told}");
        assert_eq!(named[0]["what"], what, "{sql}");
        assert!(text(&named[0]["source_uri"]).ends_with(".md"), "{sql}");

        let told = mill.lines(&["repair", "--json"]).remove(0);
        assert_eq!(told["disagreements"], json!([]), "{sql}: {told}");
        let server = Server::start(&mill, &[]);
        let all = |status: &serde_json::Value| status["documents_active"] == 3;
        server.until("/v1/status", all).await;
        drop(server);
        mill.ok(&["verify"]);
    }
}

/// Whatever it is, nobody else waits for it, and nobody need repair anything.
#[tokio::test]
async fn a_step_nobody_can_read_keeps_no_document_from_answering() {
    let (mill, _folder) = killed_at("catalog.admit_batch:after:1");
    harm(
        &mill,
        "UPDATE work SET step = 'x' WHERE id = (SELECT min(id) FROM work)",
    )
    .await;
    let server = Server::start(&mill, &[]);
    let all = |status: &serde_json::Value| status["documents_active"] == 3;
    server.until("/v1/status", all).await;
    drop(server);
    mill.ok(&["verify"]);
}
