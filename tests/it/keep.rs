//! One moment of everything, kept and brought back; and the versions that answered when.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use engine::backup::Manifest;
use serde_json::{Value, json};

use crate::mill::{Catalog, Folder, Mill, outcomes, path, text};
use crate::server::Server;

fn many(count: usize) -> Folder {
    let folder = Folder::of(&[]);
    for n in 0..count {
        let text = format!("# Part {n}\n\nThe wheel numbered {n} is greased every spring.\n");
        folder.write(&format!("{n}.md"), &text);
    }
    folder
}

/// Enough that an ingest is still under way when it has said how far it is.
const FILES: usize = 120;

/// A mill whose folder is made of a backup.
fn restored(backup: &str, catalog: Catalog) -> (Mill, Value) {
    let mill = Mill::new(catalog);
    let told = mill.lines(&["restore", backup, "--json"]).remove(0);
    (mill, told)
}

fn backup_and_back(mill: &Mill, catalog: Catalog) {
    let folder = many(8);
    mill.ingest(folder.path());
    let places = tempfile::tempdir().unwrap();
    let to = places.path().join("backup");
    let server = Server::start(mill, &[]);
    let done = &mill.lines(&["backup", path(&to), "--json"])[0];
    assert_eq!(
        (&done["versions"], &done["missing"]),
        (&json!(8), &json!([]))
    );
    drop(server);

    let (again, told) = restored(path(&to), catalog);
    assert_eq!(told["disagreements"], json!([]), "{told}");
    assert_eq!(text(&told["digest"]), mill.digest());
    let search = ["search", "wheel numbered 3", "--json"];
    assert_eq!(
        again.lines(&search)[0]["hits"][0]["text"],
        mill.lines(&search)[0]["hits"][0]["text"]
    );
    assert_eq!(
        outcomes(&again.ingest(folder.path())),
        ["skipped"; 8],
        "it goes on from there"
    );
}

#[test]
fn a_restored_folder_has_the_same_digest() {
    backup_and_back(&Mill::sqlite(), Catalog::Sqlite);
}

#[tokio::test]
async fn a_restored_folder_has_the_same_digest_on_postgres() {
    let url = testkit::postgres().await;
    backup_and_back(&Mill::postgres().await, Catalog::Postgres { url });
}

/// Names both folders and the way out.
fn refuses_anothers_catalog(mill: &Mill, owner: &Mill) {
    let refused = mill.run(&["status"]);
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    for named in [mill.data(), owner.data()] {
        assert!(said.contains(path(&named)), "{said}");
    }
    assert!(said.contains("catalog.url"), "{said}");
}

#[tokio::test]
async fn a_catalog_is_opened_from_the_folder_it_belongs_to_alone() {
    let url = testkit::postgres().await;
    let on = |url: &str| {
        let url = url.to_owned();
        Mill::new(Catalog::Postgres { url })
    };
    let (first, second) = (on(&url), on(&url));
    let folder = many(2);
    first.ingest(folder.path());
    std::fs::create_dir(second.data()).unwrap();
    refuses_anothers_catalog(&second, &first);
    let digest = first.digest();

    // A folder made of its backup has a catalog of its own, and none but that.
    let places = tempfile::tempdir().unwrap();
    let to = places.path().join("backup");
    first.ok(&["backup", path(&to)]);
    let other = testkit::postgres().await;
    let (restored, _) = restored(path(&to), Catalog::Postgres { url: other });
    assert_eq!(restored.digest(), digest);
    let strayed = restored.now_on(&url);
    refuses_anothers_catalog(&strayed, &first);

    // Moved, it is the same.
    let moved = on(&url);
    std::fs::rename(first.data(), moved.data()).unwrap();
    assert_eq!(moved.digest(), digest);
}

#[test]
fn a_backup_beside_an_ingest_holds_exactly_what_answered_at_its_moment() {
    let mill = Mill::sqlite();
    let folder = many(FILES);
    let places = tempfile::tempdir().unwrap();
    let _server = Server::start(&mill, &[]);
    let mut ingest = mill
        .command(&["ingest", path(folder.path()), "--json"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It says how far it is while it goes on, and the moment is drawn by that.
    let mut said = BufReader::new(ingest.stderr.take().unwrap()).lines();
    let some = |line: &String| line.contains(" ready") && !line.contains(" 0 ready");
    said.by_ref().map_while(Result::ok).find(some);
    let to = places.path().join("backup");
    mill.ok(&["backup", path(&to)]);
    said.for_each(drop);
    assert!(ingest.wait().unwrap().success());

    let (again, told) = restored(path(&to), Catalog::Sqlite);
    assert_eq!(told["disagreements"], json!([]), "{told}");
    assert_eq!(told["leftovers"], json!([]), "{told}");
    let active = again.lines(&["documents", "--json"]);
    assert_eq!(told["documents"], active.len());
    let part = Folder::of(&[]);
    for document in &active {
        let name = text(&document["source_uri"]).rsplit('/').next().unwrap();
        part.write(name, &std::fs::read_to_string(folder.file(name)).unwrap());
    }
    // The same files alone, under the same names: the folder's own name is part of them.
    let alone = Mill::sqlite();
    let here = folder.path().to_owned();
    let aside = here.with_extension("aside");
    std::fs::rename(&here, &aside).unwrap();
    std::fs::rename(part.path(), &here).unwrap();
    if !active.is_empty() {
        alone.ingest(&here);
    }
    assert_eq!(
        alone.digest(),
        text(&told["digest"]),
        "{} of 60",
        active.len()
    );
    std::fs::remove_dir_all(&here).unwrap();
    std::fs::rename(&aside, &here).unwrap();

    // What was under way at that moment is finished by whoever restores it.
    again.ingest(folder.path());
    assert_eq!(again.digest(), mill.digest());
}

#[test]
fn a_backup_that_is_not_whole_is_refused_by_name() {
    let mill = Mill::sqlite();
    mill.ingest(many(2).path());
    let places = tempfile::tempdir().unwrap();
    let to = places.path().join("backup");
    mill.ok(&["backup", path(&to)]);
    let twice = mill.run(&["backup", path(&to)]);
    assert!(!twice.status.success(), "a backup is never written over");
    let said = String::from_utf8_lossy(&twice.stderr);
    assert!(said.contains("name another folder"), "{said}");

    let refused = |mill: &Mill| {
        let output = mill.run(&["restore", path(&to)]);
        assert!(!output.status.success() && !mill.data().exists());
        String::from_utf8(output.stderr).unwrap()
    };
    let manifest = to.join("manifest.json");
    let list: Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    let file = list["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| text(&file["path"]));
    let file = file
        .into_iter()
        .find(|file| file.starts_with("objects/originals"))
        .unwrap();
    let original = std::fs::read(to.join(file)).unwrap();
    std::fs::write(to.join(file), "something else").unwrap();
    let said = refused(&Mill::sqlite());
    assert!(
        said.contains(file) && said.contains("is not what was written"),
        "{said}"
    );
    std::fs::remove_file(to.join(file)).unwrap();
    let said = refused(&Mill::sqlite());
    assert!(said.contains(file) && said.contains("is gone"), "{said}");
    std::fs::write(to.join(file), original).unwrap();
    let whole = std::fs::read(&manifest).unwrap();
    std::fs::write(&manifest, &whole[..whole.len() / 2]).unwrap();
    assert!(refused(&Mill::sqlite()).contains("manifest.json"));
    std::fs::remove_file(&manifest).unwrap();
    assert!(refused(&Mill::sqlite()).contains("never finished"));
    std::fs::write(&manifest, whole).unwrap();
    let (_, told) = restored(path(&to), Catalog::Sqlite);
    assert_eq!(told["disagreements"], json!([]));
    let taken = mill.run(&["restore", path(&to)]);
    assert!(String::from_utf8_lossy(&taken.stderr).contains("is not empty"));
}

#[test]
fn a_backup_in_a_folder_that_is_ingested_is_no_document() {
    let mill = Mill::sqlite();
    let folder = many(2);
    mill.ingest(folder.path());
    mill.ok(&["backup", path(&folder.file("backup"))]);
    assert_eq!(outcomes(&mill.ingest(folder.path())), ["skipped"; 2]);
}

#[test]
fn a_backup_into_the_data_folder_is_refused() {
    let mill = Mill::sqlite();
    mill.ingest(many(1).path());
    let places = ["backup", "index/backup", "objects/backup", "text/backup"];
    for within in places.into_iter().chain(["index.backup"]) {
        let within = mill.data().join(within);
        let refused = mill.run(&["backup", path(&within)]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(
            !refused.status.success() && said.contains("within the data folder"),
            "{said}"
        );
        assert!(!within.exists());
    }
}

#[test]
fn second_names_of_a_backup_that_died_go_at_the_next_start() {
    let mill = Mill::sqlite();
    mill.ingest(many(1).path());
    let places = tempfile::tempdir().unwrap();
    let to = places.path().join("backup");
    // The rules of both folders come first, then the index's files.
    let died = mill
        .command(&["backup", path(&to)])
        .env("GRISTMILL_CRASH_AT", "backup.write:before:3")
        .output()
        .unwrap();
    assert!(!died.status.success(), "{died:?}");
    let left = || {
        let entries = std::fs::read_dir(mill.data()).unwrap();
        let mut names = entries.map(|entry| entry.unwrap().file_name());
        names.any(|name| name.to_string_lossy().starts_with("index.backup"))
    };
    assert!(left());
    mill.ok(&["verify"]);
    assert!(!left());
}

#[test]
fn a_restore_takes_away_nothing_beside_its_folder() {
    let mill = Mill::sqlite();
    mill.ingest(many(1).path());
    let places = tempfile::tempdir().unwrap();
    let (to, rooms) = (places.path().join("backup"), places.path().join("rooms"));
    mill.ok(&["backup", path(&to)]);
    let users = rooms.join("my.restoring/notes.txt");
    std::fs::create_dir_all(users.parent().unwrap()).unwrap();
    std::fs::write(&users, "kept").unwrap();
    for name in ["my.data", "my.other"] {
        let data = rooms.join(name);
        mill.ok(&["restore", path(&to), "--data", path(&data)]);
    }
    assert_eq!(std::fs::read_to_string(&users).unwrap(), "kept");
    let entries = std::fs::read_dir(&rooms).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["my.data", "my.other", "my.restoring"]);
}

#[tokio::test]
async fn a_restore_whose_database_takes_nothing_leaves_no_folder_behind() {
    let url = testkit::postgres().await;
    let mill = Mill::new(Catalog::Postgres { url: url.clone() });
    mill.ingest(many(1).path());
    let places = tempfile::tempdir().unwrap();
    let to = places.path().join("backup");
    mill.ok(&["backup", path(&to)]);
    let refused = |again: &Mill, why: &str| {
        let refused = again.run(&["restore", path(&to)]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && said.contains(why), "{said}");
        assert!(!again.data().exists(), "nothing is in the way");
    };
    let again = Mill::new(Catalog::Postgres { url });
    refused(&again, "it is in use");

    // The database is empty, and refuses the rows.
    let again = again.now_on(&testkit::postgres().await);
    let (schema, manifest) = ("catalog/schema_migrations", to.join("manifest.json"));
    let kept = [to.join(schema), manifest.clone()].map(|file| std::fs::read(file).unwrap());
    std::fs::write(to.join(schema), "another\trelease").unwrap();
    let mut told = Manifest::read(&to).unwrap();
    let entry = told.files.iter_mut().find(|file| file.path == schema);
    let entry = entry.expect("it is part of the backup");
    let bytes = std::fs::read(to.join(schema)).unwrap();
    (entry.size, entry.hash) = (bytes.len() as u64, model::ContentHash::of(&bytes));
    told.sum = told.computed_sum();
    std::fs::write(&manifest, serde_json::to_vec(&told).unwrap()).unwrap();
    refused(&again, "another release");

    std::fs::write(to.join(schema), &kept[0]).unwrap();
    std::fs::write(&manifest, &kept[1]).unwrap();
    again.ok(&["restore", path(&to)]);
    assert_eq!(again.digest(), mill.digest());
}

#[test]
fn a_restored_folder_that_is_not_what_was_backed_up_is_refused() {
    let mill = Mill::sqlite();
    mill.ingest(many(3).path());
    let places = tempfile::tempdir().unwrap();
    let to = places.path().join("backup");
    mill.ok(&["backup", path(&to)]);
    let mut manifest = Manifest::read(&to).unwrap();
    let counts = manifest.counts.as_mut().unwrap();
    let (documents, versions) = (counts.documents, counts.versions);
    assert_eq!((documents, versions, counts.answering), (3, 3, 3));
    counts.documents += 1;
    manifest.sum = manifest.computed_sum();
    let bytes = serde_json::to_vec(&manifest).unwrap();
    std::fs::write(to.join("manifest.json"), bytes).unwrap();

    let refused = Mill::sqlite().run(&["restore", path(&to)]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "{said}");
    assert!(
        said.contains("3 documents") && said.contains("instead of 4 documents"),
        "{said}"
    );
}

/// Searches by word for what answers, now or then.
fn found(mill: &Mill, query: &str, as_of: Option<&str>) -> usize {
    let mut args = vec!["search", query, "--mode", "text", "--json"];
    args.extend(as_of.iter().flat_map(|time| ["--as-of", *time]));
    mill.lines(&args)[0]["hits"].as_array().unwrap().len()
}

#[test]
fn history_is_kept_read_rolled_back_and_purged_with_a_proof() {
    the_whole_history(&Mill::sqlite());
}

#[test]
fn history_is_the_same_over_a_server() {
    let mill = Mill::sqlite();
    let _server = Server::start(&mill, &[]);
    the_whole_history(&mill);
}

fn the_whole_history(mill: &Mill) {
    let folder = Folder::of(&[("a.md", "# A\n\nThe miller is called Anselm.\n")]);
    mill.ingest(folder.path());
    let between = chrono::Utc::now().to_rfc3339();
    folder.write("a.md", "# A\n\nThe miller is called Benedikt.\n");
    mill.ingest(folder.path());
    assert_eq!(
        (found(mill, "Anselm", None), found(mill, "Benedikt", None)),
        (0, 1)
    );
    let then = Some(between.as_str());
    assert_eq!(
        (found(mill, "Anselm", then), found(mill, "Benedikt", then)),
        (1, 0)
    );

    let file = folder.file("a.md");
    let history = &mill.lines(&["documents", "history", path(&file), "--json"])[0];
    let first = text(&history["activations"][0]["version_id"]).to_owned();
    assert_eq!(history["activations"].as_array().unwrap().len(), 2);
    mill.ok(&["documents", "rollback", path(&file), "--to", &first]);
    assert_eq!(
        (found(mill, "Anselm", None), found(mill, "Benedikt", None)),
        (1, 0)
    );
    // The source still shows what was rolled back: asked again, it is not news.
    assert_eq!(outcomes(&mill.ingest(folder.path())), ["skipped"]);
    assert_eq!(found(mill, "Anselm", None), 1);
    let history = &mill.lines(&["documents", "history", path(&file), "--json"])[0];
    let kinds: Vec<_> = history["ledger"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| text(&e["kind"]))
        .collect();
    assert_eq!(kinds, ["activated", "activated", "rolled_back"]);
    let told = mill.ok(&["documents", "history", path(&file)]);
    for entry in history["ledger"].as_array().unwrap() {
        let fields = ["kind", "at", "version", "root_hash", "hash"].map(|f| text(&entry[f]));
        let tells = |line: &str| fields.iter().all(|field| line.contains(field));
        assert!(told.lines().any(tells), "{entry} is not in {told}");
    }
    assert_eq!(
        mill.lines(&["verify", "--json"])[0]["disagreements"],
        json!([])
    );

    mill.ok(&["documents", "deactivate", path(&file)]);
    assert_eq!(
        (found(mill, "Anselm", None), found(mill, "Anselm", then)),
        (0, 1)
    );
    assert!(
        !mill
            .run(&["documents", "purge", path(&file)])
            .status
            .success()
    );
    let purged = &mill.lines(&["documents", "purge", path(&file), "--yes", "--json"])[0];
    assert_eq!(purged["versions"], 2);
    let nothing = json!({
        "rows": 0, "chunks": 0, "vectors": 0, "text_entries": 0, "objects": 0,
    });
    assert_eq!(purged["residue"], nothing);
    assert_eq!(
        (found(mill, "Anselm", None), found(mill, "Anselm", then)),
        (0, 0)
    );
    let left = mill.lines(&["verify", "--json"]).remove(0);
    assert_eq!(
        (&left["disagreements"], &left["leftovers"]),
        (&json!([]), &json!([]))
    );
    assert_eq!(
        bytes_of(&mill.data().join("objects/originals"), "Anselm"),
        0
    );
}

/// How many files below a folder hold a word.
fn bytes_of(folder: &std::path::Path, word: &str) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            count += bytes_of(&path, word);
        } else {
            let bytes = std::fs::read(&path).unwrap();
            count += usize::from(bytes.windows(word.len()).any(|w| w == word.as_bytes()));
        }
    }
    count
}
