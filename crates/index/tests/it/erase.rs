//! What is forgotten leaves the files, too: looked for in every byte of them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use index::{Error, Flush, Gone, Index, IndexedChunk, Scope, Settings};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use testkit::holding;

use crate::kit::{chunk, live, open, open_with, place, replace, space, version};
use crate::sweep::{SPACE, spoil_at};

/// A word of one version.
const MARK: &str = "zqxjkvw7hb3f9d";
/// Whose it is, among so many.
const MARKED: u32 = 2;
const VERSIONS: u32 = 5;
const CHUNKS: u32 = 40;
const DIMENSIONS: usize = 16;

/// Small enough for a test to have postings.
fn settings() -> Settings {
    Settings {
        exact_up_to: 20,
        ..Settings::default()
    }
}

fn chunks(number: u32) -> Vec<IndexedChunk> {
    let mut random = StdRng::seed_from_u64(number.into());
    let text = |ordinal: u32| match number {
        MARKED => format!("{MARK} on sheet {ordinal} of {number}"),
        _ => format!("grain on sheet {ordinal} of {number}"),
    };
    let of = |ordinal| {
        let vector: Vec<f32> = (0..DIMENSIONS).map(|_| random.random()).collect();
        chunk(ordinal, &text(ordinal), &vector)
    };
    (0..CHUNKS).map(of).collect()
}

async fn write(index: &Index, number: u32) {
    let place = place(space(1), number, "u");
    let receipt = replace(index, place, 1, chunks(number)).await.unwrap();
    receipt.durable().await.unwrap();
}

/// Forgets a version, and takes it out of the postings.
async fn forget(index: &Index, number: u32) -> Gone {
    let receipt = index.forget(space(1), version(number)).await.unwrap();
    receipt.durable().await.unwrap();
    let left = live((0..VERSIONS).filter(|other| *other != number));
    index.compact(space(1), &left).await.unwrap();
    Gone {
        space: space(1),
        version: version(number),
        number: Some(number),
    }
}

/// Any of the vectors of a version, as it is written.
fn holding_vectors(folder: &Path, number: u32) -> Vec<PathBuf> {
    let bytes = |chunk: IndexedChunk| -> Vec<u8> {
        let floats = chunk.vector.iter();
        floats.flat_map(|x| x.to_le_bytes()).collect()
    };
    let vectors = chunks(number).into_iter().map(bytes);
    vectors
        .flat_map(|vector| holding(folder, &vector))
        .collect()
}

/// Whether the text index knows a word, of whatever chunk, deleted or not.
fn text_knows(folder: &Path, word: &str) -> bool {
    let space = space(1);
    let folder = folder.join("text").join(space.tenant.to_string());
    let folder = folder
        .join(space.kb.to_string())
        .join(space.generation.to_string());
    let index = tantivy::Index::open_in_dir(folder).unwrap();
    let body = index.schema().get_field("body").unwrap();
    let searcher = index.reader().unwrap().searcher();
    searcher.segment_readers().iter().any(|segment| {
        let words = segment.inverted_index(body).unwrap();
        words.terms().get(word).unwrap().is_some()
    })
}

/// Files that were taken away and still take room, as this process holds them.
fn held_though_gone(folder: &Path) -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let folder = folder.to_str().unwrap();
    let held = |line: &&str| line.contains(folder) && line.ends_with("(deleted)");
    maps.lines().filter(held).map(str::to_owned).collect()
}

async fn all_but_the_marked_answer(index: &Index) {
    let others = (0..VERSIONS).filter(|number| *number != MARKED);
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    for number in others {
        let stored = snapshot.chunks_of(space(1), version(number)).await.unwrap();
        assert_eq!(stored.len(), CHUNKS as usize);
        assert!(
            stored
                .iter()
                .all(|chunk| chunk.has_vector && chunk.has_text)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_erased_is_in_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let index = open_with(folder, settings()).await;
    for number in 0..VERSIONS - 1 {
        write(&index, number).await;
    }
    index.close().await.unwrap();
    let index = open_with(folder, settings()).await;
    write(&index, VERSIONS - 1).await;
    let gone = forget(&index, MARKED).await;
    assert!(
        !holding(folder, MARK.as_bytes()).is_empty(),
        "it is only written down as gone"
    );
    assert!(!holding_vectors(folder, MARKED).is_empty());

    assert!(index.erase(&[gone]).await.unwrap() > 0);
    assert_eq!(holding(folder, MARK.as_bytes()), Vec::<PathBuf>::new());
    assert_eq!(holding_vectors(folder, MARKED), Vec::<PathBuf>::new());
    assert!(text_knows(folder, "grain") && !text_knows(folder, MARK));
    all_but_the_marked_answer(&index).await;

    // Nothing is left to do, and what comes later is nobody's business.
    write(&index, VERSIONS).await;
    assert!(index.erase(&[gone]).await.unwrap() > 0);
    index.close().await.unwrap();
    all_but_the_marked_answer(&open_with(folder, settings()).await).await;
}

/// As after a switch of generations: versions of the old one are purged, whose postings nobody can
/// read any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_erased_of_a_forgotten_space_is_in_no_file_nor_is_the_rest_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let index = open_with(folder, settings()).await;
    for number in (0..VERSIONS).filter(|number| *number != MARKED) {
        write(&index, number).await;
    }
    // The first table has postings and nothing of the version, the last says that they are gone.
    index.close().await.unwrap();
    let index = open_with(folder, settings()).await;
    write(&index, MARKED).await;
    index.close().await.unwrap();
    let index = open_with(folder, settings()).await;
    let forgotten = index.forget_space(Scope::Generation(space(1))).await;
    forgotten.unwrap().durable().await.unwrap();
    assert!(!holding(folder, MARK.as_bytes()).is_empty());

    let gone = Gone {
        space: space(1),
        version: version(MARKED),
        number: Some(MARKED),
    };
    assert!(index.erase(&[gone]).await.unwrap() > 0);
    assert_eq!(holding(folder, MARK.as_bytes()), Vec::<PathBuf>::new());
    for number in 0..VERSIONS {
        assert_eq!(holding_vectors(folder, number), Vec::<PathBuf>::new());
    }
    index.close().await.unwrap();
}

/// Nothing then tells how long its vectors are, and so what its postings hold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_called_erased_of_a_space_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let index = open_with(folder.path(), settings()).await;
    write(&index, 0).await;
    write(&index, MARKED).await;
    let gone = forget(&index, MARKED).await;
    index.close().await.unwrap();
    spoil_at(folder.path(), SPACE, 0).await;
    let index = open_with(folder.path(), settings()).await;
    let told = index.erase(&[gone]).await.unwrap_err();
    assert!(told.is_damage(), "{told}");
    index.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_taken_out_of_a_text_takes_no_room_though_nothing_is_written_after() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let index = open_with(folder, settings()).await;
    // Both in one file of the text.
    let mut last = None;
    for number in [MARKED, MARKED + 1] {
        let place = place(space(1), number, "u");
        last = Some(replace(&index, place, 1, chunks(number)).await.unwrap());
    }
    last.unwrap().durable().await.unwrap();
    forget(&index, MARKED).await;
    assert_eq!(held_though_gone(folder), Vec::<String>::new());
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let all = live([MARKED, MARKED + 1]);
    let found = snapshot.search_text(space(1), "sheet", &all, 99).await;
    assert_eq!(found.unwrap().len(), CHUNKS as usize);
    index.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_forgot_is_told_and_not_merged_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let index = open_with(folder.path(), settings()).await;
    write(&index, MARKED).await;
    let kept = Gone {
        space: space(1),
        version: version(MARKED),
        number: None,
    };
    let told = index.erase(&[kept]).await.unwrap_err();
    assert!(matches!(told, Error::StillKept), "{told}");
    index.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_still_reads_is_not_called_erased() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let hasty = Settings {
        erase_within: Duration::from_secs(2),
        ..settings()
    };
    let index = open_with(folder, hasty).await;
    write(&index, MARKED).await;
    let reader = index.snapshot(Flush(0)).await.unwrap();
    let gone = forget(&index, MARKED).await;
    let told = index.erase(&[gone]).await.unwrap_err();
    assert!(matches!(told, Error::NotErased), "{told}");
    let stored = reader.texts_of(space(1), version(MARKED)).await.unwrap();
    assert_eq!(
        stored.len(),
        CHUNKS as usize,
        "it reads what it read before"
    );
    drop(reader);
    index.close().await.unwrap();

    let index = open(folder).await;
    index.erase(&[gone]).await.unwrap();
    assert_eq!(holding(folder, MARK.as_bytes()), Vec::<PathBuf>::new());
    index.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_go_on_while_files_are_taken_away() {
    let folder = tempfile::tempdir().unwrap();
    let index = open_with(folder.path(), settings()).await;
    for number in 0..VERSIONS {
        write(&index, number).await;
    }
    let (done, until) = tokio::sync::watch::channel(false);
    let reading = tokio::spawn({
        let index = index.clone();
        async move {
            while !*until.borrow() {
                let snapshot = index.snapshot(Flush(0)).await.unwrap();
                let audit = snapshot.audit(space(1)).await.unwrap();
                assert!(!audit.versions().await.unwrap().is_empty());
                let texts = snapshot.texts_of(space(1), version(0)).await.unwrap();
                assert_eq!(texts.len(), CHUNKS as usize);
            }
        }
    });
    for number in [MARKED, MARKED + 1] {
        let gone = forget(&index, number).await;
        index.erase(&[gone]).await.unwrap();
    }
    done.send(true).unwrap();
    reading.await.unwrap();
    index.close().await.unwrap();
}
