//! Ledgers that lost something: they are named for it, and nothing is made of what is left.

use serde_json::{Value, json};

use super::copy;
use super::stores::Stores;
use super::under_way::{OPEN, harm};
use crate::mill::{Folder, Mill, path, text};
use crate::server::Server;

#[tokio::test]
async fn a_ledger_that_lost_its_end_is_named_and_nothing_is_made_of_the_rest() {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[("a.md", "# A\n\nSomething to read.\n")]);
    mill.ingest(folder.path());
    mill.ok(&["documents", "deactivate", path(&folder.file("a.md"))]);
    let before = mill.digest();
    let document = &mill.lines(&["documents", "--all", "--json"])[0];
    let id = text(&document["document_id"]).parse().unwrap();
    let mut stores = Stores::open(&mill.data()).await;
    let last = "DELETE FROM ledger WHERE document_id = $1 AND kind = 'deactivated'";
    stores.execute(last, id).await;
    stores.close().await;

    let output = mill.run(&["repair", "--json"]);
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = told["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{told}");
    assert_eq!(findings[0]["what"], "the ledger lacks its last entries");
    assert_eq!(
        (&findings[0]["mended"], text(&told["digest"])),
        (&json!(false), &*before)
    );
    assert_eq!(
        mill.lines(&["documents", "--json"]).len(),
        0,
        "it stays as it was"
    );
}

/// What comes next must not make the chain whole, or what it lost is taken for what never was.
#[tokio::test]
async fn a_lost_end_of_a_ledger_stays_lost_whatever_comes_after_it() {
    for lost in [
        "DELETE FROM ledger WHERE seq = (SELECT max(seq) FROM ledger)",
        "DELETE FROM ledger",
    ] {
        let mill = Mill::sqlite();
        let folder = Folder::of(&[("a.md", "# A\n\nThe first quern.\n")]);
        mill.ingest(folder.path());
        folder.write("a.md", "# A\n\nThe second quern.\n");
        mill.ingest(folder.path());
        harm(&mill, lost).await;
        folder.write("a.md", "# A\n\nThe third quern.\n");
        mill.ingest(folder.path());
        let uri = mill.lines(&["documents", "--json"])[0]["document_id"].clone();
        let history = || mill.lines(&["documents", "history", text(&uri), "--json"]);
        let before = history();

        let output = mill.run(&["repair", "--json"]);
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = told["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{lost}: {told}");
        assert_eq!(
            findings[0]["what"], "the ledger's chain is broken",
            "{lost}"
        );
        assert_eq!(findings[0]["mended"], false, "{lost}");
        assert_eq!(history(), before, "{lost}: nothing is made of the rest");
    }
}

/// It told of a version that never answered, so nothing but the document's row misses it.
#[tokio::test]
async fn a_lost_end_of_a_ledger_is_named_though_nothing_else_tells_of_it() {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[("a.md", "# A\n\nThe first quern.\n")]);
    mill.ingest(folder.path());
    folder.write("a.md", "# A\n\nThe second quern.\n");
    let mut ingest = mill.command(&["ingest", path(folder.path())]);
    ingest.env("GRISTMILL_CRASH_AT", "catalog.admit_batch:after:1");
    assert!(!ingest.output().unwrap().status.success());
    let job = &mill.lines(&["jobs", "--json"])[0];
    mill.ok(&["jobs", "cancel", text(&job["job_id"])]);
    let clean = mill.run(&["verify"]);
    assert!(clean.status.success());
    let lost = "DELETE FROM ledger WHERE kind = 'removed'
        AND seq = (SELECT max(seq) FROM ledger)";
    harm(&mill, lost).await;

    // Twice: repair does not make the row fit what is left.
    for _ in 0..2 {
        let output = mill.run(&["repair", "--json"]);
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = told["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{told}");
        assert_eq!(findings[0]["what"], "the ledger lacks its last entries");
        assert_eq!(findings[0]["mended"], false, "{told}");
    }
}

/// A document that was removed while it was on its way, came again, was removed and came once more.
async fn removed_twice() -> Mill {
    let mill = Mill::sqlite();
    let upload = async |server: &Server| {
        let file = reqwest::multipart::Part::text("# A\n\nThe quern is new.\n").file_name("a.md");
        server
            .upload(reqwest::multipart::Form::new().part("file", file))
            .await
    };
    let remove = || {
        let documents = mill.lines(&["documents", "--all", "--json"]);
        mill.ok(&[
            "documents",
            "deactivate",
            text(&documents[0]["document_id"]),
        ]);
    };
    let idle = |status: &Value| status["work"] == 0;
    upload(&Server::spawn(&mill, &["--no-workers"], &OPEN)).await;
    remove();
    for last in [false, true] {
        let server = Server::spawn(&mill, &[], &OPEN);
        server.until("/v1/status", idle).await;
        upload(&server).await;
        server.until("/v1/status", idle).await;
        drop(server);
        if !last {
            remove();
        }
    }
    mill
}

/// A version that never answered lost its row as well: it comes back, and what answers stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_answers_goes_on_answering_though_its_ledger_lost_something() {
    let pristine = removed_twice().await;
    let digest = pristine.digest();
    let last = "SELECT max(seq) FROM ledger";
    for sql in [
        format!("DELETE FROM ledger WHERE seq = ({last})"),
        format!("DELETE FROM ledger WHERE seq = ({last}) - 1"),
        format!("UPDATE ledger SET kind = 'deactivated' WHERE seq = ({last})"),
    ] {
        let mill = Mill::sqlite();
        copy(&pristine.data(), &mill.data());
        harm(&mill, &sql).await;
        let never_answered = "DELETE FROM document_versions WHERE state = 'superseded'
             AND id NOT IN (SELECT version_id FROM activations)";
        harm(&mill, never_answered).await;
        let told: Value = serde_json::from_slice(&mill.run(&["repair", "--json"]).stdout).unwrap();
        assert_eq!(text(&told["digest"]), digest, "{sql}: {told}");
        let found = mill.lines(&["search", "quern", "--json"]).remove(0);
        assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{sql}");
        let left = told["disagreements"].as_array().unwrap();
        assert_eq!(left.len(), 1, "{sql}: {told}");
        assert!(
            text(&left[0]["what"]).contains("the ledger"),
            "{sql}: {told}"
        );
    }
}
