//! What is shared by all documents of a knowledge base, damaged: the record of its space in the
//! index, and the catalog as a whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::stores::Stores;
use super::{House, copy};
use crate::mill::{Folder, Mill, path};

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

const CATALOG: [&str; 3] = ["catalog.db", "catalog.db-wal", "catalog.db-shm"];

fn lose_catalog(mill: &Mill) {
    for name in CATALOG {
        let gone = std::fs::remove_file(mill.data().join(name));
        assert!(gone.is_ok() || name != "catalog.db");
    }
}

/// The catalog of another folder in place of its own, as somebody may bring it by mistake.
#[test]
fn a_repair_that_cannot_mend_what_is_nobodys_says_so() {
    let (mill, _) = library();
    let other = Mill::sqlite();
    std::fs::create_dir(other.data()).unwrap();
    other.ok(&["status"]);
    lose_catalog(&mill);
    // Its log too, which a command that has ended may leave behind.
    for name in CATALOG.into_iter().chain(["identity"]) {
        let brought = std::fs::copy(other.data().join(name), mill.data().join(name));
        assert!(brought.is_ok() || name.starts_with("catalog.db-"));
    }
    let output = mill.run(&["repair"]);
    let told = String::from_utf8(output.stdout).unwrap();
    let told = format!("{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(!output.status.success(), "{told}");
    for said in [
        "not mended",
        "the index holds a tenant the catalog does not know",
        "restore a backup",
    ] {
        assert!(told.contains(said), "{said} is not in {told}");
    }
}

/// All files below a folder but the lock, by what they hold.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if !path.ends_with("lock") {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

fn is_refused(mill: &Mill, args: &[&str], said: &[&str]) {
    let output = mill.run(args);
    let told = String::from_utf8_lossy(&output.stderr);
    let told = format!("{told}{}", String::from_utf8_lossy(&output.stdout));
    assert!(!output.status.success(), "{args:?}: {told}");
    for said in said {
        assert!(told.contains(said), "{args:?}: {said} is not in {told}");
    }
}

#[test]
fn a_folder_whose_catalog_is_gone_is_refused_and_left_as_it_is() {
    let (mill, digest) = library();
    let kept = std::fs::read(mill.data().join("catalog.db")).unwrap();
    let new = Folder::of(&[("new.md", "The race is dry.")]);
    for left in [None, Some("")] {
        lose_catalog(&mill);
        if let Some(left) = left {
            std::fs::write(mill.data().join("catalog.db"), left).unwrap();
        }
        let log = mill.data().join("catalog.db-wal");
        std::fs::write(&log, "what was committed last").unwrap();
        let before = files(&mill.data());
        let commands: [&[&str]; 6] = [
            &["serve", "--listen", "127.0.0.1:0"],
            &["status"],
            &["verify"],
            &["repair"],
            &["doctor"],
            &["ingest", path(new.path())],
        ];
        for command in commands {
            let said = ["catalog.db", "put catalog.db back", "restore a backup"];
            is_refused(&mill, command, &said);
            assert!(files(&mill.data()) == before, "{command:?} left a mark");
        }
        std::fs::remove_file(log).unwrap();
        std::fs::write(mill.data().join("catalog.db"), &kept).unwrap();
        assert_eq!(mill.digest(), digest);
    }
}

#[tokio::test]
async fn a_folder_is_not_opened_with_an_empty_database_on_postgres() {
    let folder = Folder::of(&[("a.md", "The hopper is full.")]);
    let mill = Mill::postgres().await;
    mill.ingest(folder.path());
    let mill = mill.now_on(&testkit::postgres().await);
    for _ in 0..2 {
        is_refused(&mill, &["status"], &["its catalog is empty", "catalog.url"]);
    }
}

fn a_first_start_cut_off_goes_on(mill: &Mill, death: &str) {
    let folder = Folder::of(&[("a.md", "The hopper is full.")]);
    let mut ingest = mill.command(&["ingest", path(folder.path())]);
    let died = ingest.env("GRISTMILL_CRASH_AT", death).output().unwrap();
    assert!(!died.status.success(), "{death}");
    assert_eq!(mill.ingest(folder.path()).len(), 1, "{death}");
}

/// Before and behind everything a first start makes.
const DEATHS: [&str; 7] = [
    "app.write_secrets:after:1",
    "catalog.migrate:before:1",
    "catalog.migrate:after:1",
    "app.write_identity:after:1",
    "catalog.bind:after:1",
    "catalog.ensure_first_start:before:1",
    "catalog.ensure_first_start:after:1",
];

#[test]
fn a_first_start_that_was_cut_off_anywhere_goes_on() {
    for death in DEATHS.iter().chain(&["app.make_catalog_file:after:1"]) {
        a_first_start_cut_off_goes_on(&Mill::sqlite(), death);
    }
}

#[tokio::test]
async fn a_first_start_that_was_cut_off_anywhere_goes_on_on_postgres() {
    for death in DEATHS {
        a_first_start_cut_off_goes_on(&Mill::postgres().await, death);
    }
}

#[test]
fn a_damaged_catalog_is_named_and_so_is_the_way_out() {
    let (mill, _) = library();
    lose_catalog(&mill);
    std::fs::write(mill.data().join("catalog.db"), "grist".repeat(4096)).unwrap();
    let said = ["the catalog's file is damaged", "restore a backup"];
    is_refused(&mill, &["status"], &said);
}

#[test]
fn a_small_file_that_is_damaged_is_named_with_the_way_out() {
    let (mill, digest) = library();
    for name in ["identity", "secrets.json"] {
        let file = mill.data().join(name);
        let kept = std::fs::read(&file).unwrap();
        for spoilt in ["", "{"] {
            std::fs::write(&file, spoilt).unwrap();
            is_refused(
                &mill,
                &["status"],
                &[name, "put the file back", "remove it"],
            );
        }
        std::fs::write(&file, kept).unwrap();
    }
    assert_eq!(mill.digest(), digest);
}
