//! Documents that never answered: no ledger tells of them, and their originals are all that is left
//! to try them again from.

use serde_json::{Value, json};
use uuid::Uuid;

use super::stores::{Stores, age_originals};
use crate::mill::{Folder, Mill, path, text};

/// One document that answers and one that could not be read, both of which came two days ago.
struct Library {
    mill: Mill,
    document: Uuid,
    version: Uuid,
    run: String,
    shown: Value,
    _folder: Folder,
}

fn library() -> Library {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[
        ("a.md", "# A\n\nThe quern is new.\n"),
        ("bad.pdf", "%PDF-1.7 and nothing more"),
    ]);
    let told = mill.run(&["ingest", path(folder.path()), "--json"]);
    assert!(!told.status.success(), "one cannot be read");
    age_originals(&mill.data());
    let shown = unread(&mill);
    let runs = mill.lines(&["runs", "--status", "failed", "--json"]);
    Library {
        document: text(&shown["document_id"]).parse().unwrap(),
        version: text(&shown["version_id"]).parse().unwrap(),
        run: text(&runs[0]["run_id"]).to_owned(),
        shown,
        mill,
        _folder: folder,
    }
}

fn unread(mill: &Mill) -> Value {
    let mut documents = mill.lines(&["documents", "--all", "--json"]);
    documents.retain(|row| text(&row["source_uri"]).ends_with("bad.pdf"));
    documents.remove(0)
}

impl Library {
    fn has_its_original(&self) -> bool {
        let tenants = std::fs::read_dir(self.mill.data().join("objects/originals")).unwrap();
        let hash = text(&self.shown["content_hash"]);
        tenants
            .flatten()
            .any(|tenant| tenant.path().join(hash).exists())
    }

    async fn harm(&self, sql: &[&str]) {
        let mut stores = Stores::open(&self.mill.data()).await;
        for sql in sql {
            let id = match sql.contains("document_id") {
                true => self.document,
                false => self.version,
            };
            stores.execute(sql, id).await;
        }
        stores.close().await;
    }
}

#[tokio::test]
async fn what_never_answered_keeps_its_original_and_gets_back_its_row() {
    for sql in [
        &["DELETE FROM document_versions WHERE id = $1"][..],
        &["UPDATE ingestion_runs SET content_hash = zeroblob(32) WHERE document_id = $1"],
        &["UPDATE document_versions SET content_hash = zeroblob(32) WHERE id = $1"],
        &[
            "DELETE FROM document_versions WHERE id = $1",
            "DELETE FROM ingestion_runs WHERE document_id = $1",
        ],
        &[
            "DELETE FROM document_versions WHERE id = $1",
            "DELETE FROM run_witnesses WHERE document_id = $1",
            "DELETE FROM version_witnesses WHERE version_id = $1",
        ],
        &[
            "DELETE FROM document_versions WHERE id = $1",
            "DELETE FROM documents WHERE id IN
                 (SELECT document_id FROM ingestion_runs WHERE document_id = $1)",
        ],
        &[
            "DELETE FROM document_versions WHERE id = $1",
            "DELETE FROM documents WHERE id IN
                 (SELECT document_id FROM ingestion_runs WHERE document_id = $1)",
            "DELETE FROM run_witnesses WHERE document_id = $1",
            "DELETE FROM witnesses WHERE owner IN
                 (SELECT document_id FROM ingestion_runs WHERE document_id = $1)",
        ],
    ] {
        let library = library();
        let mill = &library.mill;
        library.harm(sql).await;
        assert!(!mill.run(&["verify"]).status.success(), "{sql:?}");
        let told = mill.lines(&["repair", "--json"]).remove(0);
        assert_eq!(told["disagreements"], json!([]), "{sql:?}: {told}");
        assert_eq!(told["leftovers_deleted"], 0, "{sql:?}: {told}");
        for one in told["findings"].as_array().unwrap() {
            assert_eq!(one["mended"], true, "{sql:?}: {one}");
            assert!(!text(&one["what"]).contains("original"), "{sql:?}: {one}");
        }
        assert!(library.has_its_original(), "{sql:?}");
        let now = unread(mill);
        assert_eq!(now["version_id"], library.shown["version_id"], "{sql:?}");
        assert_eq!(now["state"], library.shown["state"], "{sql:?}");
        mill.ok(&["verify"]);
        mill.ok(&["runs", "retry", &library.run]);
    }
}

#[tokio::test]
async fn what_a_failed_version_says_of_its_way_is_known_and_put_back() {
    let library = library();
    let mill = &library.mill;
    let version = |change: &str| format!("UPDATE document_versions SET {change} WHERE id = $1");
    for sql in [
        version("generation_id = zeroblob(16)"),
        version("number = number + 1000"),
        version("media_type = 'text/plain', language = 'xx'"),
        version("pass = pass + 1"),
        version("units_total = units_total + 1"),
        version("units_open = units_open + 1"),
        version("needs_flush = 7"),
        version("chunks = 7, tokens = 9"),
        version("root_hash = zeroblob(32)"),
        version("root_hash = zeroblob(7)"),
        version("parsed_hash = zeroblob(7)"),
        version("state = 'superseded'"),
        version("state = 'pending'"),
        version("state = 'processing'"),
        version("id = randomblob(16)"),
        "DELETE FROM version_witnesses WHERE version_id = $1".to_owned(),
        "UPDATE ingestion_runs SET source_order = NULL WHERE document_id = $1".to_owned(),
    ] {
        library.harm(&[&sql]).await;
        assert!(!mill.run(&["verify"]).status.success(), "{sql}");
        let told = mill.lines(&["repair", "--json"]).remove(0);
        assert_eq!(told["disagreements"], json!([]), "{sql}: {told}");
        assert_eq!(unread(mill), library.shown, "{sql}");
        mill.ok(&["verify"]);
    }
}
