//! Rows whose own id was changed: everything else still calls them by the one they were given, and
//! by that they come back whole.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::harm::{Expected, Target};
use super::stores::Stores;
use super::{House, named};
use crate::mill::{Folder, Mill};

struct Library {
    mill: Mill,
    digest: String,
    target: Target,
    /// Everything that is listed, by command.
    shown: Vec<String>,
    _folder: Folder,
}

fn shown(mill: &Mill) -> Vec<String> {
    let lists: [&[&str]; 3] = [
        &["documents", "--all", "--json"],
        &["runs", "--json"],
        &["jobs", "--json"],
    ];
    lists.map(|list| mill.ok(list)).to_vec()
}

fn library() -> Library {
    let folder = Folder::of(&[
        ("a.md", "# The wheel\n\nIt turns with the water.\n"),
        ("b.md", "# The stone\n\nIt turns with the wheel.\n"),
    ]);
    let mill = Mill::sqlite();
    mill.ingest(folder.path());
    let documents = mill.lines(&["documents", "--json"]);
    Library {
        digest: mill.digest(),
        target: Target::read(&documents[0]),
        shown: shown(&mill),
        mill,
        _folder: folder,
    }
}

impl Library {
    async fn is_whole_after(&self, sql: &str, id: Uuid, expected: &[Expected]) {
        self.is_mended_after(sql, id, expected).await;
        assert_eq!(shown(&self.mill), self.shown, "{sql}");
    }

    async fn is_mended_after(&self, sql: &str, id: Uuid, expected: &[Expected]) {
        let mut stores = Stores::open(&self.mill.data()).await;
        stores.execute(sql, id).await;
        stores.close().await;
        let house = House::open(&self.mill.data()).await;
        let found = house.engine.verify_all().await.unwrap();
        assert_eq!(
            named(&found),
            expected.iter().cloned().collect::<BTreeSet<_>>(),
            "{sql}: {found:#?}"
        );
        let repaired = house.engine.repair_all().await.unwrap();
        let left = &repaired.after.disagreements;
        assert!(left.is_empty(), "{sql}: {repaired:#?}");
        assert_eq!(repaired.after.digest.to_string(), self.digest, "{sql}");
        house.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_answers_or_its_run_gets_its_own_id_back() {
    let library = library();
    let Target {
        document, version, ..
    } = library.target;
    for sql in [
        "UPDATE document_versions SET id = randomblob(16) WHERE id = $1",
        "UPDATE document_versions SET id = randomblob(16), title = 'x' WHERE id = $1",
        "UPDATE ingestion_runs SET id = randomblob(16) WHERE version_id = $1",
        "UPDATE ingestion_runs SET id = zeroblob(16) WHERE version_id = $1",
    ] {
        let expected = Expected::Document(document);
        library.is_whole_after(sql, version, &[expected]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_gets_its_own_id_back() {
    let library = library();
    let document = library.target.document;
    let other = Uuid::from_u128(7);
    let sql = format!(
        "UPDATE documents SET id = X'{}' WHERE id = $1",
        other.simple()
    );
    let expected = [Expected::Document(document), Expected::Document(other)];
    library.is_mended_after(&sql, document, &expected).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_or_a_knowledge_base_gets_its_own_id_back() {
    let library = library();
    let mut stores = Stores::open(&library.mill.data()).await;
    let (job, kb) = (stores.job(0).await, stores.kb().await);
    stores.close().await;
    for is in ["zeroblob(16)", "randomblob(16)"] {
        let sql = format!("UPDATE jobs SET id = {is} WHERE id = $1");
        library
            .is_whole_after(&sql, job, &[Expected::Job(job)])
            .await;
        let sql = format!("UPDATE knowledge_bases SET id = {is} WHERE id = $1");
        let expected = Expected::Kb("default".to_owned());
        library.is_whole_after(&sql, kb, &[expected]).await;
    }
}

/// Numbers answer for versions in the index, and no two have the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_version_gets_back_its_number_though_another_has_it() {
    let library = library();
    let mut stores = Stores::open(&library.mill.data()).await;
    for sql in [
        "DELETE FROM document_versions WHERE id = $1",
        "UPDATE document_versions SET number =
             (SELECT number FROM activations WHERE version_id = $1)",
    ] {
        stores.execute(sql, library.target.version).await;
    }
    stores.close().await;
    let told = library.mill.lines(&["repair", "--json"]).remove(0);
    assert_eq!(told["disagreements"], serde_json::json!([]), "{told}");
    assert_eq!(told["digest"], *library.digest, "{told}");
    library.mill.ok(&["verify"]);
}
