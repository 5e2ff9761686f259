//! Files of the text index damaged, one by one: it is made of what the store has, so all of it can
//! be made again.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{House, copy};
use crate::mill::{Folder, Mill, text};

const NAMED: &str = "files of the text index were changed";

fn library() -> Mill {
    let folder = Folder::of(&[
        ("a.md", "# A\n\nThe quern is old.\n"),
        ("b.md", "# B\n\nThe sluice is shut.\n"),
    ]);
    let mill = Mill::sqlite();
    mill.ingest(folder.path());
    mill
}

pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.retain(|path| !path.to_string_lossy().ends_with(".lock"));
    found.sort();
    found
}

type Way = (&'static str, fn(&Path));

const WAYS: [Way; 3] = [
    ("lost", |path| std::fs::remove_file(path).unwrap()),
    ("cut", |path| {
        let bytes = std::fs::read(path).unwrap();
        std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    }),
    ("written over", |path| {
        std::fs::write(path, "nonsense").unwrap();
    }),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_the_text_index_that_is_gone_or_changed_is_named_and_made_again() {
    let mill = library();
    let digest = mill.digest();
    let count = files(&mill.data().join("text")).len();
    assert!(count > 5, "there are {count} files");
    for (at, (way, spoil)) in (0..count).flat_map(|at| WAYS.map(|way| (at, way))) {
        let scratch = tempfile::tempdir().unwrap();
        let data = scratch.path().join("data");
        copy(&mill.data(), &data);
        let file = files(&data.join("text")).remove(at);
        spoil(&file);
        let told = format!("{way}: {}", file.display());
        let house = House::open(&data).await;
        let found = house.engine.verify_all().await;
        let found = found.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        let what: Vec<_> = found.disagreements.iter().map(|one| one.what).collect();
        assert_eq!(what, [NAMED], "{told}");
        assert_eq!(found.digest.to_string(), digest, "{told}");
        let repaired = house.engine.repair_all().await.unwrap();
        assert!(
            repaired.after.disagreements.is_empty(),
            "{told}: {repaired:#?}"
        );
        assert_eq!(repaired.after.digest.to_string(), digest, "{told}");
        house.close().await;
        let house = House::open(&data).await;
        let found = house.engine.verify_all().await.unwrap();
        assert!(found.disagreements.is_empty(), "{told}: {found:#?}");
        house.close().await;
    }
}

#[test]
fn the_command_line_names_a_text_file_that_is_gone_until_it_is_repaired() {
    let mill = library();
    let postings = |path: &PathBuf| path.extension().is_some_and(|end| end == "idx");
    let file = files(&mill.data().join("text")).into_iter().find(postings);
    std::fs::remove_file(file.expect("there are words")).unwrap();
    for _ in 0..2 {
        let output = mill.run(&["verify", "--json"]);
        assert!(!output.status.success());
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(text(&told["disagreements"][0]["what"]), NAMED, "{told}");
    }
    let told = mill.lines(&["repair", "--json"]).remove(0);
    let done = text(&told["findings"][0]["done"]);
    assert_eq!(done, "made the text index again from the store");
    mill.ok(&["verify"]);
    let found = mill.lines(&["search", "quern", "--mode", "text", "--json"]);
    assert_eq!(found[0]["hits"].as_array().unwrap().len(), 1, "{found:?}");
}

/// A restored folder has none yet, and nothing is wrong with it.
#[test]
fn a_text_index_that_is_not_there_at_all_is_made_when_it_is_needed() {
    let mill = library();
    let digest = mill.digest();
    std::fs::remove_dir_all(mill.data().join("text")).unwrap();
    assert_eq!(mill.digest(), digest);
}

/// One after the other, so that each leaves a segment of its own.
fn library_of_segments() -> Mill {
    let mill = Mill::sqlite();
    for name in ["quern", "sluice", "hopper"] {
        let part = |n: usize| format!("The {name} was mended in year {n}{n}. ");
        let text: String = (1..40).map(part).collect();
        let folder = Folder::of(&[(&*format!("{name}.md"), &*format!("# {name}\n\n{text}\n"))]);
        mill.ingest(folder.path());
    }
    mill
}

/// Those of one part, of every segment.
fn of_part(data: &Path, part: &str) -> Vec<PathBuf> {
    let mut found = files(&data.join("text"));
    found.retain(|path| path.extension().is_some_and(|end| end == part));
    found
}

/// Named as something that is made again from the store, which `repair` then does.
async fn is_named_and_made_again(data: &Path, digest: &str, told: &str) {
    const MADE: &str = "made the text index again from the store";
    let house = House::open(data).await;
    let found = house.engine.verify_all().await;
    let found = found.unwrap_or_else(|error| panic!("{told}: {error:?}"));
    assert!(!found.disagreements.is_empty(), "{told}");
    let repaired = house.engine.repair_all().await.unwrap();
    let done = |one: &engine::Outcome| one.mended && one.done == MADE;
    assert!(repaired.findings.iter().all(done), "{told}: {repaired:#?}");
    assert!(repaired.after.disagreements.is_empty(), "{told}");
    assert_eq!(repaired.after.digest.to_string(), digest, "{told}");
    house.close().await;
}

/// Each file sums itself up, so that one in another's place looks whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_file_put_in_place_of_another_is_named_and_made_again() {
    let mill = library_of_segments();
    let digest = mill.digest();
    for part in ["term", "idx", "fast"] {
        let count = of_part(&mill.data(), part).len();
        assert!(count > 1, "{count} files of {part}");
        for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))) {
            let scratch = tempfile::tempdir().unwrap();
            let data = scratch.path().join("data");
            copy(&mill.data(), &data);
            let files = of_part(&data, part);
            if std::fs::read(&files[from]).unwrap() == std::fs::read(&files[to]).unwrap() {
                continue;
            }
            std::fs::copy(&files[from], &files[to]).unwrap();
            let told = format!("{part}: {from} over {to}");
            is_named_and_made_again(&data, &digest, &told).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_in_place_of_a_text_file_is_named_and_made_again() {
    let mill = library();
    let digest = mill.digest();
    for at in 0..files(&mill.data().join("text")).len() {
        let scratch = tempfile::tempdir().unwrap();
        let data = scratch.path().join("data");
        copy(&mill.data(), &data);
        let file = files(&data.join("text")).remove(at);
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        is_named_and_made_again(&data, &digest, &file.display().to_string()).await;
    }
}

#[test]
fn no_command_takes_a_spoilt_text_index_for_its_own_mistake() {
    let mill = library_of_segments();
    let words = of_part(&mill.data(), "idx");
    std::fs::copy(&words[0], &words[1]).unwrap();
    std::fs::copy(&words[0], &words[2]).unwrap();
    let terms = of_part(&mill.data(), "term");
    std::fs::copy(&terms[2], &terms[0]).unwrap();
    for command in [
        &["verify"][..],
        &["search", "quern", "--mode", "text"],
        &["search", "hopper", "--mode", "text"],
        &["repair"],
        &["verify"],
    ] {
        let output = mill.run(command);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("mistake"), "{command:?}: {said}");
        assert!(!said.contains("our side"), "{command:?}: {said}");
    }
    mill.ok(&["verify"]);
}
