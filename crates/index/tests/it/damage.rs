//! A record that cannot be read costs what it held, and nothing else.

use std::path::{Path, PathBuf};

use index::{Fault, Flush, Index, IndexedChunk, Settings, What};
use model::VersionId;

use crate::kit::{chunk, live, objects, open_with, place, replace, space, version};
use crate::sweep::{CHUNK, SPACE, VECTOR, VERSION, spoil_at};

/// Few, so that a compaction has to look at each of them.
const FIRST: u32 = 3;
const OTHERS: u32 = 12;

/// So small that the second of the others makes postings.
fn settings() -> Settings {
    Settings {
        exact_up_to: 20,
        ..Settings::default()
    }
}

fn chunks(count: u32) -> Vec<IndexedChunk> {
    let of = |ordinal| {
        let (y, x) = (ordinal as f32 / 10.0).sin_cos();
        chunk(ordinal, "grain", &[x, y])
    };
    (0..count).map(of).collect()
}

async fn write(index: &Index, number: u32, count: u32) {
    let place = place(space(1), number, "u");
    let receipt = replace(index, place, 1, chunks(count)).await.unwrap();
    receipt.durable().await.unwrap();
}

async fn found(index: &Index) -> u32 {
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let all = live(0..9);
    let found = snapshot.search_vector(space(1), &[1.0, 0.0], &all, 99);
    found.await.unwrap().len() as u32
}

#[tokio::test]
async fn a_vector_that_cannot_be_read_stops_neither_clustering_nor_compaction_nor_searches() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let index = open_with(folder, settings()).await;
    write(&index, 0, FIRST).await;
    write(&index, 1, OTHERS).await;
    index.close().await.unwrap();

    spoil_at(folder, VECTOR, 0).await;
    let index = open_with(folder, settings()).await;
    write(&index, 2, OTHERS).await;
    assert_eq!(found(&index).await, FIRST + 2 * OTHERS - 1);
    index.close().await.unwrap();

    spoil_at(folder, VECTOR, 1).await;
    let index = open_with(folder, settings()).await;
    assert_eq!(found(&index).await, FIRST + 2 * OTHERS - 2);
    index.compact(space(1), &live([1, 2])).await.unwrap();
    write(&index, 3, FIRST).await;
    assert_eq!(found(&index).await, 2 * FIRST + 2 * OTHERS - 2);
    index.close().await.unwrap();
}

/// Every fault there is, by version and ordinal.
async fn faults(index: &Index) -> Vec<(Option<VersionId>, Option<u32>, What)> {
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let mut audit = snapshot.audit(space(1)).await.unwrap();
    let mut faults = Vec::new();
    for version in audit.versions().await.unwrap() {
        faults.extend(audit.version(version).await.unwrap().faults);
    }
    faults.extend(audit.strays().await.unwrap());
    let told = |fault: Fault| (fault.version, fault.ordinal, fault.what);
    faults.into_iter().map(told).collect()
}

async fn found_by_words(index: &Index) -> u32 {
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let all = live(0..9);
    let found = snapshot.search_text(space(1), "grain", &all, 99).await;
    found.unwrap().len() as u32
}

/// As `repair` does it.
async fn write_anew(index: &Index, number: u32, count: u32) {
    index.scour(space(1), version(number)).await.unwrap();
    let place = place(space(1), number, "u");
    let written = replace(index, place, 2, chunks(count)).await.unwrap();
    written.durable().await.unwrap();
}

#[tokio::test]
async fn a_version_written_anew_as_it_was_is_searched_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let index = open_with(folder.path(), settings()).await;
    write(&index, 0, FIRST).await;
    write_anew(&index, 0, FIRST).await;
    assert_eq!(found_by_words(&index).await, FIRST);
    index.close().await.unwrap();
}

/// The text is lost too, as in a backup, which holds none.
#[tokio::test]
async fn a_chunk_that_cannot_be_read_keeps_no_text_from_being_made() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let index = open_with(folder, settings()).await;
    write(&index, 0, FIRST).await;
    write(&index, 1, FIRST).await;
    index.close().await.unwrap();
    spoil_at(folder, CHUNK, 1).await;
    std::fs::remove_dir_all(folder.join("text")).unwrap();

    let index = open_with(folder, settings()).await;
    assert_eq!(found_by_words(&index).await, 2 * FIRST - 1);
    let damaged = [(Some(version(0)), Some(1), What::ChunkChanged)];
    assert_eq!(faults(&index).await, damaged);
    let made = index.rebuild_text(space(1)).await.unwrap();
    made.durable().await.unwrap();
    assert_eq!(faults(&index).await, damaged);
    write_anew(&index, 0, FIRST).await;
    assert_eq!(faults(&index).await, []);
    assert_eq!(found_by_words(&index).await, 2 * FIRST);
    index.close().await.unwrap();
}

/// What is written first opens the text, which is to be made then.
#[tokio::test]
async fn a_version_that_cannot_be_read_keeps_no_text_from_being_made() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let index = open_with(folder, settings()).await;
    write(&index, 0, FIRST).await;
    write(&index, 1, FIRST).await;
    index.close().await.unwrap();
    spoil_at(folder, VERSION, 0).await;
    std::fs::remove_dir_all(folder.join("text")).unwrap();

    let index = open_with(folder, settings()).await;
    write(&index, 2, FIRST).await;
    assert_eq!(found_by_words(&index).await, 2 * FIRST);
    let named = faults(&index).await;
    let whole = (Some(version(0)), None, What::NoVersion);
    assert!(named.contains(&whole), "{named:?}");
    let mine = |(of, ..): &(Option<VersionId>, _, _)| *of == Some(version(0));
    assert!(named.iter().all(mine), "{named:?}");
    write_anew(&index, 0, FIRST).await;
    assert_eq!(faults(&index).await, []);
    assert_eq!(found_by_words(&index).await, 3 * FIRST);
    index.close().await.unwrap();
}

/// What a crash leaves: the store has more than the text, and says what.
#[tokio::test]
async fn a_record_that_cannot_be_read_keeps_no_index_from_being_opened_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let [living, dead] = ["living", "dead"].map(|name| folder.path().join(name));
    let index = open_with(&living, settings()).await;
    write(&index, 0, FIRST).await;
    index.close().await.unwrap();
    copy(&living.join("text"), &dead.join("text"));
    let index = open_with(&living, settings()).await;
    write(&index, 1, FIRST).await;
    copy(&living.join("index"), &dead.join("index"));
    index.close().await.unwrap();

    spoil_at(&dead, CHUNK, FIRST as usize).await;
    let index = open_with(&dead, settings()).await;
    assert_eq!(found_by_words(&index).await, 2 * FIRST - 1);
    let damaged = [(Some(version(1)), Some(0), What::ChunkChanged)];
    assert_eq!(faults(&index).await, damaged);
    index.close().await.unwrap();
}

#[tokio::test]
async fn a_space_that_cannot_be_read_keeps_no_index_from_being_opened_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let [living, dead] = ["living", "dead"].map(|name| folder.path().join(name));
    let index = open_with(&living, settings()).await;
    let other = place(space(4), 0, "u");
    replace(&index, other, 1, chunks(FIRST)).await.unwrap();
    write(&index, 0, FIRST).await;
    copy(&living, &dead);
    index.close().await.unwrap();

    spoil_at(&dead, SPACE, 1).await;
    let index = open_with(&dead, settings()).await;
    assert_eq!(found_by_words(&index).await, FIRST);
    index.close().await.unwrap();
}

fn postings(folder: &Path) -> Option<PathBuf> {
    ending(folder, "idx")
}

fn ending(folder: &Path, name_end: &str) -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|one| one.unwrap().path());
    entries.find_map(|path| match path.is_dir() {
        true => ending(&path, name_end),
        false => path
            .extension()
            .is_some_and(|end| end == name_end)
            .then_some(path),
    })
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// What the audit says of the text as a whole.
async fn text_faults(index: &Index) -> Vec<What> {
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let mut audit = snapshot.audit(space(1)).await.unwrap();
    for version in audit.versions().await.unwrap() {
        audit.version(version).await.unwrap();
    }
    let strays = audit.strays().await.unwrap();
    strays.into_iter().map(|fault| fault.what).collect()
}

#[tokio::test]
async fn a_file_that_vanishes_beneath_an_open_text_index_is_a_fault_and_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let index = open_with(folder.path(), settings()).await;
    write(&index, 0, FIRST).await;
    assert_eq!(text_faults(&index).await, []);
    let file = postings(&folder.path().join("text")).expect("there are words");
    std::fs::remove_file(file).unwrap();
    assert_eq!(text_faults(&index).await, [What::TextFiles]);
    let receipt = index.rebuild_text(space(1)).await.unwrap();
    receipt.durable().await.unwrap();
    assert_eq!(text_faults(&index).await, []);
    index.close().await.unwrap();
}

/// A name that leads to itself stands for all that a machine cannot open.
#[tokio::test]
async fn a_text_index_the_machine_cannot_open_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let index = open_with(folder.path(), settings()).await;
    write(&index, 0, FIRST).await;
    index.close().await.unwrap();
    let text = folder.path().join("text");
    let words = postings(&text).expect("there are words");
    let head = words.with_file_name("meta.json");
    let kept = words.with_file_name("kept");
    std::fs::rename(&head, &kept).unwrap();
    std::os::unix::fs::symlink("meta.json", &head).unwrap();

    let index = open_with(folder.path(), settings()).await;
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let asked = snapshot.search_text(space(1), "grain", &live([0]), 9).await;
    let error = asked.expect_err("it cannot be opened");
    assert!(error.is_transient(), "{error:?}");
    std::fs::rename(&kept, &head).unwrap();
    assert_eq!(found_by_words(&index).await, FIRST);
    assert!(words.exists(), "it was not made again");
    index.close().await.unwrap();
}

/// What a process would leave behind if it was killed now, and somebody then took the postings.
fn killed_and_spoilt(living: &Path, dead: &Path) {
    copy(living, dead);
    std::fs::remove_file(postings(&dead.join("text")).expect("there are words")).unwrap();
}

/// After a crash what is behind is caught up with or made again, and nobody's fault: also when
/// the first to come after it has looked at no text, and when it died long after its last word.
#[tokio::test]
async fn a_text_index_spoilt_in_a_crash_is_made_again_and_not_named() {
    let folder = tempfile::tempdir().unwrap();
    let [living, early, late] = ["living", "early", "late"].map(|name| folder.path().join(name));
    let index = open_with(&living, settings()).await;
    write(&index, 0, FIRST).await;
    killed_and_spoilt(&living, &early);
    let sealed = index.seal(space(1), version(0)).await.unwrap();
    sealed.durable().await.unwrap();
    killed_and_spoilt(&living, &late);
    index.close().await.unwrap();
    for dead in [early, late] {
        let index = open_with(&dead, settings()).await;
        index.close().await.unwrap();
        let index = open_with(&dead, settings()).await;
        assert_eq!(text_faults(&index).await, [], "{}", dead.display());
        index.close().await.unwrap();
    }
}

/// One life ends in order, the next dies at a write of its own.
#[tokio::test]
async fn a_crash_after_an_orderly_end_is_no_fault_of_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let [living, dead] = ["living", "dead"].map(|name| folder.path().join(name));
    let index = open_with(&living, settings()).await;
    write(&index, 0, FIRST).await;
    index.close().await.unwrap();
    let index = open_with(&living, settings()).await;
    index.compact(space(1), &live(0..9)).await.unwrap();
    killed_and_spoilt(&living, &dead);
    index.close().await.unwrap();
    let index = open_with(&dead, settings()).await;
    assert_eq!(text_faults(&index).await, []);
    index.close().await.unwrap();
}

/// A closed text is looked at like one nobody has opened, and with another open in its place.
#[tokio::test]
async fn a_file_that_vanishes_from_a_text_that_was_put_aside_is_a_fault() {
    let folder = tempfile::tempdir().unwrap();
    let one_at_a_time = Settings {
        open_texts: 1,
        ..settings()
    };
    let index = open_with(folder.path(), one_at_a_time).await;
    write(&index, 0, FIRST).await;
    let file = postings(&folder.path().join("text")).expect("there are words");
    let other = place(space(4), 0, "u");
    let receipt = replace(&index, other, 1, chunks(FIRST)).await.unwrap();
    receipt.durable().await.unwrap();
    std::fs::remove_file(file).unwrap();
    assert_eq!(text_faults(&index).await, [What::TextFiles]);
    index.close().await.unwrap();
}

/// Copies of a folder, in each of which a few bytes of the names of units and versions, which a
/// commit looks up, are others.
fn with_spoilt_names(whole: &Path) -> impl Iterator<Item = (usize, tempfile::TempDir)> {
    let names = ending(&whole.join("text"), "term").expect("there are words");
    let bytes = std::fs::read(&names).unwrap();
    (0..bytes.len()).step_by(13).map(move |at| {
        let there = tempfile::tempdir().unwrap();
        copy(whole, there.path());
        let mut bytes = bytes.clone();
        for byte in bytes.iter_mut().skip(at).take(16) {
            *byte = !*byte;
        }
        let file = there.path().join(names.strip_prefix(whole).unwrap());
        std::fs::write(file, bytes).unwrap();
        (at, there)
    })
}

/// What the reading of words meets is told, and never more is found than there is; made again it
/// has all.
async fn found_or_told_and_found_once_made_again(index: &Index, there: u32, at: usize) {
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let all = live(0..9);
    let asked = snapshot.search_text(space(1), "grain", &all, 99).await;
    assert!(
        asked.is_err() || asked.is_ok_and(|found| found.len() as u32 <= there),
        "byte {at}"
    );
    let made = index.rebuild_text(space(1)).await.unwrap();
    made.durable().await.unwrap();
    assert_eq!(found_by_words(index).await, there, "byte {at}");
}

/// A version is written over, which looks its unit up in the text.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spoilt_text_keeps_nothing_from_being_written_nor_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let index = open_with(folder.path(), settings()).await;
    write(&index, 0, FIRST).await;
    index.close().await.unwrap();
    for (at, there) in with_spoilt_names(folder.path()) {
        let index = open_with(there.path(), settings()).await;
        write(&index, 1, FIRST).await;
        write(&index, 0, FIRST).await;
        index.close().await.unwrap();
        let index = open_with(there.path(), settings()).await;
        found_or_told_and_found_once_made_again(&index, 2 * FIRST, at).await;
        index.close().await.unwrap();
    }
}

/// What a crash leaves whose text is behind the store, and is spoilt before anybody comes again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spoilt_text_that_is_behind_keeps_no_index_from_being_opened() {
    let folder = tempfile::tempdir().unwrap();
    let [living, dead] = ["living", "dead"].map(|name| folder.path().join(name));
    let index = open_with(&living, settings()).await;
    write(&index, 0, FIRST).await;
    index.close().await.unwrap();
    copy(&living.join("text"), &dead.join("text"));
    let index = open_with(&living, settings()).await;
    write(&index, 1, FIRST).await;
    copy(&living.join("index"), &dead.join("index"));
    index.close().await.unwrap();

    for (at, there) in with_spoilt_names(&dead) {
        let index = open_with(there.path(), settings()).await;
        write(&index, 2, FIRST).await;
        found_or_told_and_found_once_made_again(&index, 3 * FIRST, at).await;
        index.close().await.unwrap();
    }
}

/// A manifest is read on trust: whatever the library does then, a panic included, is an error, and
/// of most bits one that tells of damage.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_manifest_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let index = open_with(folder.path(), settings()).await;
    write(&index, 0, FIRST).await;
    index.close().await.unwrap();
    let listed = std::fs::read_dir(folder.path().join("index/slate/manifest")).unwrap();
    let newest = listed.map(|one| one.unwrap().path()).max().unwrap();
    let whole = std::fs::read(&newest).unwrap();
    let mut told = 0;
    for bit in (0..2_000.min(whole.len() * 8)).step_by(17) {
        let there = tempfile::tempdir().unwrap();
        copy(folder.path(), there.path());
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let file = there
            .path()
            .join(newest.strip_prefix(folder.path()).unwrap());
        std::fs::write(file, bytes).unwrap();
        let text = there.path().join("text");
        match Index::open(settings(), objects(there.path()), text).await {
            Ok(index) => drop(index.close().await),
            Err(error) => told += u32::from(error.is_damage()),
        }
    }
    assert!(told > 0, "some of the damage was where it matters");
}

/// Whatever bit of the figures of a text index is turned, it is made again or is told of.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_column_of_a_text_index_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let index = open_with(folder.path(), settings()).await;
    write(&index, 0, FIRST).await;
    index.close().await.unwrap();
    let column = ending(&folder.path().join("text"), "fast").expect("a column");
    let whole = std::fs::read(&column).unwrap();
    for byte in (0..whole.len()).step_by(9) {
        let there = tempfile::tempdir().unwrap();
        copy(folder.path(), there.path());
        let mut bytes = whole.clone();
        bytes[byte] ^= 0x40;
        let file = there
            .path()
            .join(column.strip_prefix(folder.path()).unwrap());
        std::fs::write(file, bytes).unwrap();
        let index = open_with(there.path(), settings()).await;
        let snapshot = index.snapshot(Flush(0)).await.unwrap();
        let asked = snapshot.search_text(space(1), "grain", &live([0]), 9).await;
        if let Err(error) = asked {
            let spoilt = matches!(error, index::Error::SpoiltText { .. });
            assert!(spoilt, "byte {byte}: {error:?}");
        }
        write(&index, 1, FIRST).await;
        index.close().await.unwrap();
    }
}

/// Copies of a folder, in each of which a part of one file of the text is others' bytes.
fn with_spoilt_parts<'a>(
    whole: &'a Path,
    name_end: &str,
) -> impl Iterator<Item = (usize, tempfile::TempDir)> + 'a {
    const PART: usize = 32;
    let file = ending(&whole.join("text"), name_end).expect("there is one");
    let bytes = std::fs::read(&file).unwrap();
    (0..bytes.len()).step_by(PART).map(move |at| {
        let there = tempfile::tempdir().unwrap();
        copy(whole, there.path());
        let mut bytes = bytes.clone();
        for (n, byte) in bytes.iter_mut().skip(at).take(PART).enumerate() {
            *byte = byte.wrapping_mul(31).wrapping_add(n as u8 ^ 0xa5);
        }
        let file = there.path().join(file.strip_prefix(whole).unwrap());
        std::fs::write(file, bytes).unwrap();
        (at, there)
    })
}

/// Merging reads whole files, of which nobody has read most before. It takes what was forgotten out
/// of them, and where it cannot, they are made again without.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spoilt_text_keeps_nothing_from_being_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let index = open_with(folder.path(), settings()).await;
    // All in one file, of which too little is taken out for it to be merged unasked.
    let mut last = None;
    for number in 0..5 {
        let place = place(space(1), number, "u");
        last = Some(replace(&index, place, 1, chunks(FIRST)).await.unwrap());
    }
    last.unwrap().durable().await.unwrap();
    let forgotten = index.forget(space(1), version(0)).await.unwrap();
    forgotten.durable().await.unwrap();
    index.close().await.unwrap();
    for name_end in ["store", "idx", "term"] {
        for (at, there) in with_spoilt_parts(folder.path(), name_end) {
            let index = open_with(there.path(), settings()).await;
            let compacted = index.compact(space(1), &live(0..9)).await;
            assert!(compacted.is_ok(), "{name_end}, byte {at}: {compacted:?}");
            index.close().await.unwrap();
        }
    }
}
