//! A knowledge base and its generations are few rows that everything hangs on.

use std::collections::BTreeSet;

use super::harm::{Expected, Target};
use super::stores::Stores;
use super::{House, copy, named};
use crate::mill::{Folder, Mill, outcomes, path};

/// With the id of the knowledge base.
const HARMS: &[&str] = &[
    "UPDATE knowledge_bases SET name = 'other' WHERE id = $1",
    "UPDATE knowledge_bases SET retention = '{\"versions\":1,\"days\":null}' WHERE id = $1",
    "UPDATE knowledge_bases SET retention = 'no JSON' WHERE id = $1",
    "UPDATE knowledge_bases SET created_at = '2001-01-01T00:00:00+00:00' WHERE id = $1",
    "UPDATE knowledge_bases SET tenant_id = zeroblob(16) WHERE id = $1",
    "UPDATE knowledge_bases SET id = randomblob(16) WHERE id = $1",
    "DELETE FROM knowledge_bases WHERE id = $1",
    "DELETE FROM generations WHERE kb_id = $1",
    "DELETE FROM generations WHERE kb_id = $1 AND state = 'retired'",
    "UPDATE generations SET id = zeroblob(16) WHERE kb_id = $1 AND state = 'serving'",
    "UPDATE generations SET kb_id = zeroblob(16) WHERE kb_id = $1 AND state = 'serving'",
    "UPDATE generations SET spec = '{}' WHERE kb_id = $1 AND state = 'serving'",
    "UPDATE generations SET spec = replace(spec, '130', '131') WHERE kb_id = $1",
    "UPDATE generations SET state = 'retired' WHERE kb_id = $1 AND state = 'serving'",
    "UPDATE generations SET state = 'building' WHERE kb_id = $1 AND state = 'retired'",
    "UPDATE generations SET number = number + 7 WHERE kb_id = $1",
    "UPDATE generations SET serving_since = NULL WHERE kb_id = $1",
    "DELETE FROM witnesses WHERE kind = 'kb' AND subject = $1",
    "UPDATE witnesses SET subject = zeroblob(16) WHERE kind = 'kb' AND subject = $1",
    "UPDATE witnesses SET subject = randomblob(16) WHERE kind = 'kb' AND subject = $1",
    "UPDATE witnesses SET facts = '{}' WHERE kind = 'kb' AND subject = $1",
    "UPDATE witnesses SET sum = zeroblob(7) WHERE kind = 'kb' AND subject = $1",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_or_lost_knowledge_base_is_named_alone_and_comes_back() {
    let folder = Folder::of(&[
        ("a.md", "# The wheel\n\nIt turns with the water.\n"),
        ("b.md", "# The stone\n\nIt turns with the wheel.\n"),
    ]);
    let mill = Mill::sqlite();
    mill.ingest(folder.path());
    // So that there is one that has served, too.
    mill.ok(&["generations", "build", "--target", "130"]);
    let digest = mill.digest();
    let documents = mill.lines(&["documents", "--json"]);
    let target = Target::read(&documents[0]);
    for harm in HARMS {
        let scratch = tempfile::tempdir().unwrap();
        let data = scratch.path().join("data");
        copy(&mill.data(), &data);
        let mut stores = Stores::open(&data).await;
        let kb = stores.kb().await;
        stores.execute(harm, kb).await;
        // What else is wrong is named beside it.
        let lost = "DELETE FROM document_units WHERE version_id = $1";
        stores.execute(lost, target.version).await;
        stores.close().await;
        let house = House::open(&data).await;
        let found = house.engine.verify_all().await.unwrap();
        let expected = [
            Expected::Kb("default".to_owned()),
            Expected::Document(target.document),
        ];
        assert_eq!(
            named(&found),
            BTreeSet::from(expected),
            "{harm}: {found:#?}"
        );
        let repaired = house.engine.repair_all().await.unwrap();
        assert_eq!(
            named(&repaired.after),
            BTreeSet::new(),
            "{harm}: {repaired:#?}"
        );
        assert!(
            repaired.findings.iter().all(|one| one.mended),
            "{repaired:#?}"
        );
        assert_eq!(repaired.after.digest.to_string(), digest, "{harm}");
        house.close().await;
    }
}

#[test]
fn a_knowledge_base_whose_name_was_changed_answers_by_it_again() {
    let folder = Folder::of(&[("a.md", "# The wheel\n\nIt turns with the water.\n")]);
    let mill = Mill::sqlite();
    mill.ingest(folder.path());
    let search = ["search", "water", "--json"];
    let before = mill.lines(&search);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut stores = Stores::open(&mill.data()).await;
        let kb = stores.kb().await;
        stores.execute(HARMS[0], kb).await;
        stores.close().await;
    });
    let told = mill.run(&["verify"]);
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("knowledge base default"), "{told}");
    mill.ok(&["repair"]);
    assert_eq!(mill.lines(&search), before);
}

/// Most installations have one, and everybody asks by the command line.
#[test]
fn a_folder_that_lost_its_only_knowledge_base_is_opened_and_gets_it_back() {
    let folder = Folder::of(&[("a.md", "# The wheel\n\nIt turns with the water.\n")]);
    let mill = Mill::sqlite();
    mill.ingest(folder.path());
    let search = ["search", "water", "--json"];
    let (digest, before) = (mill.digest(), mill.lines(&search));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for harm in [
        "DELETE FROM knowledge_bases WHERE id = $1",
        "UPDATE knowledge_bases SET tenant_id = zeroblob(16) WHERE id = $1",
    ] {
        runtime.block_on(async {
            let mut stores = Stores::open(&mill.data()).await;
            let kb = stores.kb().await;
            stores.execute(harm, kb).await;
            stores.close().await;
        });
        let told = mill.run(&["verify"]);
        assert!(!told.status.success(), "{harm}");
        let told = String::from_utf8(told.stdout).unwrap();
        assert!(told.contains("knowledge base default"), "{harm}: {told}");
        mill.ok(&["status"]);
        mill.ok(&["repair"]);
        assert_eq!(mill.digest(), digest, "{harm}");
        assert_eq!(mill.lines(&search), before, "{harm}");
    }
}

/// An ingest makes what it is asked to bring files into, if it is not there.
#[test]
fn what_is_ingested_into_a_lost_knowledge_base_waits_for_its_repair() {
    let folder = Folder::of(&[("a.md", "# The wheel\n\nIt turns with the water.\n")]);
    let mill = Mill::sqlite();
    mill.ingest(folder.path());
    let digest = mill.digest();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut stores = Stores::open(&mill.data()).await;
        let kb = stores.kb().await;
        let lost = "DELETE FROM knowledge_bases WHERE id = $1";
        stores.execute(lost, kb).await;
        stores.close().await;
    });
    let refused = mill.run(&["ingest", path(folder.path())]);
    assert!(!refused.status.success());
    let why = String::from_utf8(refused.stderr).unwrap();
    assert!(why.contains("run `gristmill repair`"), "{why}");
    mill.ok(&["repair"]);
    assert_eq!(mill.digest(), digest);
    assert_eq!(outcomes(&mill.ingest(folder.path())), ["skipped"]);
}
