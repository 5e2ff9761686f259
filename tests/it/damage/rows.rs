//! Rows of the catalog changed one at a time: what is wrong is named for what it is, and what other
//! rows still tell is written again.

use serde_json::{Value, json};
use uuid::Uuid;

use super::Stores;
use crate::mill::{Folder, Mill, path, text};

struct Library {
    mill: Mill,
    digest: String,
    document: Uuid,
    version: Uuid,
    _folder: Folder,
}

/// Two documents, the first of them in its second version.
fn library() -> Library {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[
        ("a.md", "# A\n\nThe quern is new.\n"),
        ("b.md", "# B\n\nThe sluice is shut.\n"),
    ]);
    mill.ingest(folder.path());
    folder.write("a.md", "# A\n\nThe quern is old.\n");
    mill.ingest(folder.path());
    let documents = mill.lines(&["documents", "--json"]);
    let first = |row: &&Value| text(&row["source_uri"]).ends_with("a.md");
    let row = documents.iter().find(first).unwrap();
    let id = |name: &str| text(&row[name]).parse().unwrap();
    Library {
        digest: mill.digest(),
        document: id("document_id"),
        version: id("version_id"),
        mill,
        _folder: folder,
    }
}

impl Library {
    /// What `repair` found, all of which it mended.
    async fn mended_after(&self, sql: &str, id: Uuid) -> Vec<Value> {
        let mut stores = Stores::open(&self.mill.data()).await;
        stores.execute(sql, id).await;
        stores.close().await;
        assert!(!self.mill.run(&["verify"]).status.success(), "{sql}");
        let told = self.mill.lines(&["repair", "--json"]).remove(0);
        assert_eq!(told["digest"], *self.digest, "{sql}: {told}");
        assert_eq!(told["disagreements"], json!([]), "{sql}: {told}");
        let findings = told["findings"].as_array().unwrap().clone();
        for one in &findings {
            assert_eq!(one["mended"], true, "{sql}: {one}");
            let done = text(&one["done"]);
            assert!(!done.starts_with("cannot"), "{sql}: {one}");
        }
        self.mill.ok(&["verify"]);
        findings
    }
}

#[tokio::test]
async fn a_version_that_tells_of_other_bytes_has_not_lost_its_original() {
    let library = library();
    let sql = "UPDATE document_versions SET content_hash = zeroblob(32) WHERE id = $1";
    let findings = library.mended_after(sql, library.version).await;
    for one in findings {
        assert!(!text(&one["what"]).contains("original"), "{one}");
    }
    let replaced = "UPDATE document_versions SET content_hash = zeroblob(32)
        WHERE document_id = $1 AND number = (SELECT min(number) FROM document_versions)";
    for one in library.mended_after(replaced, library.document).await {
        assert!(!text(&one["what"]).contains("original"), "{one}");
    }
}

#[tokio::test]
async fn a_document_whose_newest_version_is_said_to_be_an_older_one_is_named() {
    let library = library();
    let sql = "UPDATE documents SET latest_version = (SELECT v.id FROM document_versions v
        WHERE v.document_id = documents.id ORDER BY v.number LIMIT 1) WHERE id = $1";
    let findings = library.mended_after(sql, library.document).await;
    assert_eq!(findings.len(), 1, "{findings:?}");
    let newest = "UPDATE documents SET updated_at = updated_at WHERE id = $1
        AND latest_version = (SELECT v.id FROM document_versions v
            WHERE v.document_id = documents.id ORDER BY v.number DESC LIMIT 1)";
    // It is done to no row that knows another.
    let mut stores = Stores::open(&library.mill.data()).await;
    stores.execute(newest, library.document).await;
    stores.close().await;
}

#[tokio::test]
async fn a_row_of_activations_that_went_to_an_unknown_document_is_taken_away() {
    let library = library();
    let sql = "UPDATE activations SET document_id = randomblob(16)
        WHERE document_id = $1 AND closed_at IS NULL";
    let findings = library.mended_after(sql, library.document).await;
    assert_eq!(findings.len(), 2, "{findings:?}");
}

#[tokio::test]
async fn what_a_versions_row_has_lost_comes_back_from_what_else_tells_it() {
    let library = library();
    for lost in [
        "text_hash = NULL, parsed_hash = NULL, order_sum = NULL",
        "needs_flush = NULL",
        "metadata = 'no JSON'",
        "created_at = 'no time'",
        "created_at = 'no time', metadata = '[]', needs_flush = NULL",
    ] {
        // Both the one that answers and the one it replaced.
        let sql = format!("UPDATE document_versions SET {lost} WHERE document_id = $1");
        let findings = library.mended_after(&sql, library.document).await;
        assert!(findings.len() > 1, "{lost}: {findings:?}");
    }
}

/// Files in it that answer, one that was replaced, and one nobody can read.
struct Several {
    library: Library,
    documents: Vec<Uuid>,
}

async fn several() -> Several {
    let library = library();
    let torn = Folder::of(&[("c.pdf", "%PDF-1.7 and nothing more")]);
    let failed = library.mill.run(&["ingest", path(torn.path()), "--json"]);
    assert!(!failed.status.success(), "it cannot be read");
    let documents = library.mill.lines(&["documents", "--all", "--json"]);
    let id = |row: &Value| text(&row["document_id"]).parse().unwrap();
    let mut documents: Vec<Uuid> = documents.iter().map(id).collect();
    documents.sort();
    assert_eq!(documents.len(), 3);
    Several { library, documents }
}

#[tokio::test]
async fn a_row_that_says_it_is_another_documents_goes_back_to_its_own() {
    let several = several().await;
    for table in ["document_versions", "ingestion_runs"] {
        // The other is looked at before it, or after it.
        for (its_own, other) in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)] {
            let its_own = several.documents[its_own];
            let sql = format!(
                "UPDATE {table} SET document_id = X'{}' WHERE document_id = $1",
                several.documents[other].simple()
            );
            for one in several.library.mended_after(&sql, its_own).await {
                let named = text(&one["document_id"]).parse();
                assert_eq!(named, Ok(its_own), "{sql}: {one}");
            }
        }
    }
}

#[tokio::test]
async fn a_part_in_a_removal_that_no_job_has_goes_back_to_the_job_that_has_it() {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[("a.md", "# A\n\nThe quern is old.\n")]);
    mill.ingest(folder.path());
    std::fs::remove_file(folder.file("a.md")).unwrap();
    mill.ok(&["ingest", path(folder.path()), "--remove-missing"]);
    let jobs = mill.lines(&["jobs", "--json"]);
    let newest = jobs.iter().max_by_key(|job| text(&job["job_id"])).unwrap();
    let job = text(&newest["job_id"]).parse().unwrap();
    let sql = "UPDATE job_removals SET job_id = randomblob(16) WHERE job_id = $1";
    let mut stores = Stores::open(&mill.data()).await;
    stores.execute(sql, job).await;
    stores.close().await;
    assert!(!mill.run(&["verify"]).status.success());
    mill.ok(&["repair"]);
    mill.ok(&["jobs", "cancel", &job.to_string()]);
    assert_eq!(mill.lines(&["documents", "--json"]).len(), 1);
    mill.ok(&["verify"]);
}
