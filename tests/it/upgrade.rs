//! Data folders that older releases have left.

use serde_json::json;
use testkit::{Older, older_postgres, older_sqlite};

use crate::mill::{Folder, Mill, outcomes, path};

/// Two documents, one of them in its second version.
fn lived_in(mill: &Mill) -> (Folder, String) {
    let folder = Folder::of(&[
        ("a.md", "# A\n\nThe first draft.\n"),
        ("b.txt", "The miller is out.\n"),
    ]);
    mill.ingest(folder.path());
    folder.write("a.md", "# A\n\nThe second draft.\n");
    mill.lines(&[
        "ingest",
        path(folder.path()),
        "--metadata",
        "topic=mills",
        "--json",
    ]);
    let digest = mill.digest();
    (folder, digest)
}

/// `verify` has nothing to say, and whatever is there is known.
fn goes_on(mill: &Mill, folder: &Folder, digest: &str, from: &str) {
    let told = &mill.lines(&["verify", "--json"])[0];
    assert_eq!(told["digest"], digest, "from {from}");
    assert_eq!(told["disagreements"], json!([]), "from {from}");
    let again = mill.ingest(folder.path());
    assert_eq!(outcomes(&again), ["skipped"; 2], "from {from}");
}

#[tokio::test]
async fn a_data_folder_of_any_older_release_verifies_and_goes_on() {
    let mill = Mill::sqlite();
    let (folder, digest) = lived_in(&mill);
    let aside = tempfile::tempdir().unwrap();
    let (here, today) = (mill.data().join("catalog.db"), aside.path().join("today"));
    std::fs::rename(&here, &today).unwrap();
    for older in Older::all_sqlite() {
        older_sqlite(&older, &today, &here).await;
        goes_on(&mill, &folder, &digest, older.name());
        std::fs::remove_file(&here).unwrap();
    }
}

#[tokio::test]
async fn a_catalog_in_postgres_of_any_older_release_verifies_and_goes_on() {
    let url = testkit::postgres().await;
    let mut mill = Mill::sqlite().now_on(&url);
    let (folder, digest) = lived_in(&mill);
    for older in Older::all_postgres() {
        mill = mill.now_on(&older_postgres(&older, &url).await);
        goes_on(&mill, &folder, &digest, older.name());
    }
}
