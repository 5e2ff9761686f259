//! Files of the index's store damaged, one by one, and all of it lost: what it held is made again
//! from the originals.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{copy, text_files::files};
use crate::mill::{Folder, Mill, path, text};

const NAMED: &str = "files of the index are damaged: ";

/// With one document that was replaced.
fn library() -> Mill {
    let folder = Folder::of(&[
        ("a.md", "# A\n\nThe quern is old.\n"),
        ("b.md", "# B\n\nThe sluice is shut.\n"),
    ]);
    let mill = Mill::sqlite();
    mill.ingest(folder.path());
    folder.write("a.md", "# A\n\nThe quern is new.\n");
    mill.ingest(folder.path());
    mill
}

fn newest(mill: &Mill, of: &str) -> PathBuf {
    let folder = mill.data().join("index/slate").join(of);
    files(&folder).pop().expect("there is one")
}

fn flip(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

fn cut(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

type Way = (&'static str, &'static str, fn(&Path));

/// Each of what everything is read from, and of what is read first.
const WAYS: [Way; 7] = [
    ("compacted", "a bit", |path| flip(path, 40)),
    ("compacted", "cut", cut),
    ("compacted", "emptied", |path| {
        std::fs::write(path, "").unwrap();
    }),
    ("compacted", "lost", |path| {
        std::fs::remove_file(path).unwrap();
    }),
    ("compactions", "cut", cut),
    ("manifest", "cut", cut),
    ("manifest", "emptied", |path| {
        std::fs::write(path, "").unwrap();
    }),
];

#[test]
fn a_file_of_the_index_that_is_gone_or_changed_is_named_and_the_index_made_again() {
    let whole = library();
    let digest = whole.digest();
    for (of, way, spoil) in WAYS {
        let mill = Mill::sqlite();
        copy(&whole.data(), &mill.data());
        spoil(&newest(&mill, of));
        let output = mill.run(&["verify", "--json"]);
        assert!(!output.status.success(), "{of} {way}");
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let found = told["disagreements"].as_array().unwrap();
        assert_eq!(found.len(), 1, "{of} {way}: {told}");
        let what = text(&found[0]["what"]);
        assert!(what.starts_with(NAMED), "{of} {way}: {what}");

        let told = mill.lines(&["repair", "--json"]).remove(0);
        let first = &told["findings"][0];
        assert_eq!(text(&first["what"]), what, "{of} {way}: {told}");
        assert_eq!(
            told["disagreements"],
            Value::Array(Vec::new()),
            "{of} {way}"
        );
        assert_eq!(text(&told["digest"]), digest, "{of} {way}: {told}");
        assert_eq!(mill.digest(), digest, "{of} {way}");
        let names = std::fs::read_dir(mill.data()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name());
        let aside = names.filter(|name| name.to_string_lossy().starts_with("index.damaged-"));
        assert_eq!(aside.count(), 1, "{of} {way}");
    }
}

#[test]
fn every_command_says_the_way_out_of_a_damaged_index() {
    let mill = library();
    cut(&newest(&mill, "manifest"));
    for command in [&["search", "quern"][..], &["status"], &["documents"]] {
        let output = mill.run(command);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success());
        assert!(said.contains(NAMED), "{said}");
        assert!(said.contains("`gristmill repair`"), "{said}");
    }
}

#[test]
fn an_index_that_is_lost_whole_is_named_by_version_and_made_again_in_one_go() {
    let mill = library();
    let digest = mill.digest();
    std::fs::remove_dir_all(mill.data().join("index")).unwrap();
    let output = mill.run(&["verify", "--json"]);
    assert!(!output.status.success());
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = told["disagreements"].as_array().unwrap();
    let versions = found.iter().map(|one| text(&one["version_id"]));
    let versions: std::collections::BTreeSet<_> = versions.collect();
    assert_eq!(versions.len(), 3, "the replaced one as well: {told}");
    let told = mill.lines(&["repair", "--json"]).remove(0);
    assert_eq!(text(&told["digest"]), digest, "{told}");
    mill.ok(&["verify"]);
}

#[test]
fn an_index_older_than_the_catalog_answers_nothing_rather_than_less() {
    let mill = library();
    let digest = mill.digest();
    std::fs::remove_dir_all(mill.data().join("index")).unwrap();
    let new = Folder::of(&[("new.md", "The race is dry.")]);
    let commands: [&[&str]; 3] = [
        &["search", "sluice"],
        &["ingest", path(new.path())],
        &["serve", "--listen", "127.0.0.1:0"],
    ];
    for command in commands {
        let output = mill.run(command);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{command:?}");
        assert!(
            said.contains("the index is older than"),
            "{command:?}: {said}"
        );
        assert!(said.contains("`gristmill repair`"), "{command:?}: {said}");
    }
    mill.ok(&["repair"]);
    assert_eq!(mill.digest(), digest);
    assert!(mill.ok(&["search", "sluice"]).contains("b.md"));
    mill.ingest(new.path());
}
