//! What is shared by all documents of a knowledge base, damaged: the record of its space in the
//! index, and the catalog as a whole.

use super::stores::Stores;
use super::{House, copy};
use crate::mill::{Folder, Mill};

fn library() -> (Mill, String) {
    let folder = Folder::of(&[]);
    for n in 0..4 {
        let text = format!(
            "# Mill {n}\n\nThe wheels of mill {n} were turning all winters.\n\n\
             ## Stones\n\nThe millers dressed the stones of mill {n}.\n"
        );
        folder.write(&format!("{n}.md"), &text);
    }
    let mill = Mill::sqlite();
    mill.ingest(folder.path());
    let digest = mill.digest();
    (mill, digest)
}

/// Of the record of a space: see its layout in the index.
const NEXT_ID: usize = 6;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_space_that_lost_count_of_its_ids_is_named_and_made_right() {
    let (mill, digest) = library();
    type Spoil = fn(&mut Vec<u8>);
    let ways: [(&str, Spoil); 3] = [
        ("gone", Vec::clear),
        ("all ids given out again", |record| {
            record[NEXT_ID..NEXT_ID + 4].fill(0);
        }),
        ("half of the ids given out again", |record| {
            record[NEXT_ID] /= 2;
        }),
    ];
    for (way, spoil) in ways {
        let scratch = tempfile::tempdir().unwrap();
        let data = scratch.path().join("data");
        copy(&mill.data(), &data);
        let stores = Stores::open(&data).await;
        stores.spoil_space(spoil).await;
        stores.close().await;
        let house = House::open(&data).await;
        let found = house.engine.verify_all().await;
        let found = found.unwrap_or_else(|error| panic!("{way}: {error:?}"));
        assert!(!found.disagreements.is_empty(), "{way} is named");
        let repaired = house.engine.repair_all().await.unwrap();
        let left = &repaired.after.disagreements;
        assert!(left.is_empty(), "{way}: {repaired:#?}");
        assert_eq!(repaired.after.digest.to_string(), digest, "{way}");
        house.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_goes_on_though_the_count_of_its_fences_is_lost_or_set_back() {
    for harm in [
        "DELETE FROM counters WHERE name = 'fence' OR name = $1",
        "UPDATE counters SET last = 0 WHERE name = 'fence' OR name = $1",
    ] {
        let (mill, _) = library();
        let mut stores = Stores::open(&mill.data()).await;
        stores.execute(harm, uuid::Uuid::nil()).await;
        stores.close().await;
        let folder = Folder::of(&[("new.md", "# New\n\nThe race is dry.\n")]);
        mill.ingest(folder.path());
        assert_eq!(mill.lines(&["documents", "--json"]).len(), 5);
        assert!(mill.run(&["verify"]).status.success());
    }
}

#[test]
fn a_repair_that_cannot_mend_what_is_nobodys_says_so() {
    let (mill, _) = library();
    for name in ["catalog.db", "catalog.db-wal", "catalog.db-shm"] {
        let gone = std::fs::remove_file(mill.data().join(name));
        assert!(gone.is_ok() || name != "catalog.db");
    }
    let output = mill.run(&["repair"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success(), "{told}");
    for said in [
        "not mended",
        "the index holds a tenant the catalog does not know",
        "restore a backup",
    ] {
        assert!(told.contains(said), "{said} is not in {told}");
    }
}
