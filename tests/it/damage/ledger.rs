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
