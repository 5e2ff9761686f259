//! A forgotten space stays forgotten, whatever is asked of it behind.

use std::path::Path;
use std::process::Command;

use index::{CompactReport, Error, Flush, Index, Receipt, Scope, Settings, Space};

use crate::kit::*;
use crate::sweep::{CHUNK, POSTING, count, left, spoil_at};

/// An index with a space so large that it has postings, and its removal not yet flushed.
async fn forgetting(folder: &Path) -> Index {
    let index = open(folder).await;
    fill(&index).await;
    forget(&index).await.unwrap();
    index
}

async fn forget(index: &Index) -> Result<Receipt, Error> {
    index.forget_space(Scope::Generation(space(1))).await
}

async fn fill(index: &Index) {
    let near = |n: u32| [1.0, n as f32 / 100.0, (n % 7) as f32];
    let chunks = (0..3000).map(|n| chunk(n, "grain", &near(n))).collect();
    let written = replace(index, place(space(1), 0, "u"), 1, chunks).await;
    written.unwrap().durable().await.unwrap();
}

async fn nothing_is_left(index: &Index) {
    assert!(index.has_forgotten(space(1)).await.unwrap());
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let (query, all) = ([1.0, 1.0, 1.0], live([0]));
    let found = snapshot.search_vector(space(1), &query, &all, 3).await;
    assert!(found.unwrap().is_empty());
    let found = snapshot.search_text(space(1), "grain", &all, 3).await;
    assert!(found.unwrap().is_empty());
    let late = vec![chunk(0, "late", &query)];
    let late = replace(index, place(space(1), 5, "u"), 1, late).await;
    assert!(matches!(late, Err(Error::ForgottenSpace)), "{late:?}");
}

#[tokio::test]
async fn a_forgotten_space_that_is_compacted_stays_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let index = forgetting(folder.path()).await;
    let report = index.compact(space(1), &live([0])).await.unwrap();
    assert_eq!(report, CompactReport::default());
    nothing_is_left(&index).await;
    index.close().await.unwrap();
    let index = open(folder.path()).await;
    nothing_is_left(&index).await;
    index.close().await.unwrap();
}

#[tokio::test]
async fn an_audit_as_of_before_a_space_was_forgotten_is_refused_whether_or_not_its_text_was_open() {
    for opened in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let index = open(folder.path()).await;
        let chunks = vec![chunk(0, "grain", &[1.0])];
        let written = replace(&index, place(space(1), 0, "u"), 1, chunks).await;
        written.unwrap().durable().await.unwrap();
        index.close().await.unwrap();
        let index = open(folder.path()).await;
        let before = index.snapshot(Flush(0)).await.unwrap();
        if opened {
            let found = before.search_text(space(1), "grain", &live([0]), 1).await;
            assert_eq!(found.unwrap().len(), 1);
        }
        let gone = index.forget_space(Scope::Generation(space(1))).await;
        gone.unwrap().durable().await.unwrap();
        let audit = before.audit(space(1)).await;
        assert!(matches!(audit, Err(Error::ForgottenSpace)), "{opened}");
        index.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_forgotten_space_whose_text_is_to_be_made_again_stays_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let index = forgetting(folder.path()).await;
    let refused = index.rebuild_text(space(1)).await;
    assert!(matches!(refused, Err(Error::ForgottenSpace)), "{refused:?}");
    index.close().await.unwrap();
    // Opened anew nobody has looked yet whether it is forgotten.
    let index = open(folder.path()).await;
    let nothing_to_do = index.rebuild_text(space(1)).await.unwrap();
    nothing_to_do.durable().await.unwrap();
    nothing_is_left(&index).await;
    index.close().await.unwrap();
    let index = open(folder.path()).await;
    nothing_is_left(&index).await;
    index.close().await.unwrap();
}

/// So little that a space goes in many parts.
fn in_parts() -> Settings {
    Settings {
        unflushed_bytes: 256 << 10,
        ..Settings::default()
    }
}

const FOLDER: &str = "GRISTMILL_INDEX_FORGET_FOLDER";
const POINT: &str = "GRISTMILL_INDEX_FORGET_CRASH_AT";
const WHOLE_KB: &str = "GRISTMILL_INDEX_FORGET_WHOLE_KB";

fn whole_kb() -> Scope {
    let Space { tenant, kb, .. } = space(1);
    Scope::Kb { tenant, kb }
}

/// What the tests below start again as their own child; alone it has nothing to do.
#[tokio::test]
async fn a_child_forgets_until_it_is_killed() {
    let (Ok(folder), Ok(point)) = (std::env::var(FOLDER), std::env::var(POINT)) else {
        return;
    };
    let index = open_with(Path::new(&folder), in_parts()).await;
    if index.snapshot(Flush(0)).await.unwrap().flush() == Flush(0) {
        fill(&index).await;
    }
    durable::watch(Some(point.parse().unwrap()));
    let forgotten = match std::env::var(WHOLE_KB) {
        Ok(_) => index.forget_space(whole_kb()).await,
        Err(_) => forget(&index).await,
    };
    forgotten.unwrap().durable().await.unwrap();
    panic!("it was not forgotten in as many parts");
}

/// Has a process die after so many parts of a space, or of its whole knowledge base.
fn cut_off(folder: &Path, parts: u32, whole_kb: bool) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "forgotten::a_child_forgets_until_it_is_killed"]);
    let point = format!("index.forget:after:{parts}");
    child.env(FOLDER, folder).env(POINT, point);
    if whole_kb {
        child.env(WHOLE_KB, "1");
    }
    let child = child.output().unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert_eq!(child.status.code(), None, "{said}");
}

/// So many that some of its rows are gone, and so few that others are not.
const SOME: u32 = 3;

/// Nobody takes what is left for what there is, or for damage.
async fn is_read_no_more(index: &Index) {
    assert!(!index.has_forgotten(space(1)).await.unwrap());
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let audit = snapshot.audit(space(1)).await;
    assert!(matches!(audit, Err(Error::ForgottenSpace)), "it is audited");
    let (query, all) = ([1.0, 1.0, 1.0], live([0]));
    let found = snapshot.search_vector(space(1), &query, &all, 3).await;
    assert!(found.unwrap().is_empty());
    let found = snapshot.search_text(space(1), "grain", &all, 3).await;
    assert!(found.unwrap().is_empty());
    let late = vec![chunk(0, "late", &query)];
    let late = replace(index, place(space(1), 5, "u"), 1, late).await;
    assert!(matches!(late, Err(Error::ForgottenSpace)), "{late:?}");
    assert_eq!(snapshot.spaces().await.unwrap(), [space(1)].into());
}

#[tokio::test]
async fn a_space_whose_forgetting_was_cut_off_is_read_no_more_and_forgotten_again() {
    let folder = tempfile::tempdir().unwrap();
    cut_off(folder.path(), SOME, false);
    let index = open_with(folder.path(), in_parts()).await;
    is_read_no_more(&index).await;
    forget(&index).await.unwrap().durable().await.unwrap();
    nothing_is_left(&index).await;
    index.close().await.unwrap();
    assert_eq!(left(folder.path()).await, (0, 0));
}

#[tokio::test]
async fn a_space_whose_forgetting_was_cut_off_is_still_so_after_an_orderly_end() {
    let folder = tempfile::tempdir().unwrap();
    cut_off(folder.path(), SOME, false);
    for _ in 0..2 {
        let index = open_with(folder.path(), in_parts()).await;
        is_read_no_more(&index).await;
        index.compact(space(1), &live([0])).await.unwrap();
        index.close().await.unwrap();
    }
}

/// A purge of one of its versions has the rest go, too: without the whole nobody knows what is its.
#[tokio::test]
async fn whoever_forgets_a_version_of_a_space_whose_forgetting_was_cut_off_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    cut_off(folder.path(), SOME, false);
    let index = open_with(folder.path(), in_parts()).await;
    let gone = index.forget(space(1), version(0)).await.unwrap();
    gone.durable().await.unwrap();
    nothing_is_left(&index).await;
    index.close().await.unwrap();
    assert_eq!(left(folder.path()).await, (0, 0));
}

/// After so many parts nothing but vectors and postings was left to go.
#[tokio::test]
async fn a_knowledge_base_whose_forgetting_was_cut_off_is_found_and_forgotten_again() {
    let folder = tempfile::tempdir().unwrap();
    cut_off(folder.path(), 12, true);
    let index = open_with(folder.path(), in_parts()).await;
    let forgotten = index.forget_space(whole_kb()).await;
    forgotten.unwrap().durable().await.unwrap();
    nothing_is_left(&index).await;
    index.close().await.unwrap();
    assert_eq!(count(folder.path(), POSTING).await, 0);
}

/// It does not say which vector is its, nor what would have that reused; and after the first part
/// it is gone.
#[tokio::test]
async fn a_chunk_that_cannot_be_read_leaves_nothing_to_reuse_though_its_forgetting_was_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let index = open_with(folder.path(), in_parts()).await;
    fill(&index).await;
    index.close().await.unwrap();
    spoil_at(folder.path(), CHUNK, 1500).await;
    cut_off(folder.path(), 1, false);
    let index = open_with(folder.path(), in_parts()).await;
    forget(&index).await.unwrap().durable().await.unwrap();
    nothing_is_left(&index).await;
    index.close().await.unwrap();
    assert_eq!(left(folder.path()).await, (0, 0));
}
