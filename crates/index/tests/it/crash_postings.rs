//! Kills the process, or cuts its power, while postings are made, appended to, parted, made anew
//! and dissolved; and looks at what is left.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::Command;

use index::{Flush, Index, Probe, Settings};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::faults::{disk, impatient};
use crate::kit::*;

const FOLDER: &str = "GRISTMILL_POSTINGS_CRASH_FOLDER";
const POINT: &str = "GRISTMILL_POSTINGS_CRASH_AT";
const CHUNKS: u32 = 60;
const DIMENSIONS: usize = 8;

/// What is done, a flush each.
#[derive(Clone, Copy)]
enum Step {
    /// A version is written, its vectors spread or all in one spot.
    Spread(u32),
    Heaped(u32),
    Forget(u32),
    /// Only these are live: the others are set aside, and short postings dissolved.
    Compact(&'static [u32]),
}

/// Space for 40 is scanned, so the first makes postings. They are made anew whenever half as many
/// have come since: at 60, 120, 180, 300 and 480. After that 150 heaped are appended to one
/// posting, which is parted beyond 192.
const STEPS: &[Step] = &[
    Step::Spread(0),
    Step::Spread(1),
    Step::Spread(2),
    Step::Spread(3),
    Step::Spread(4),
    Step::Spread(5),
    Step::Spread(6),
    Step::Spread(7),
    Step::Heaped(8),
    Step::Heaped(9),
    Step::Heaped(10),
    Step::Forget(2),
    Step::Forget(8),
    Step::Compact(&[0, 1, 9]),
    Step::Heaped(11),
];

/// Every entry is a candidate: what is found is what postings hold.
fn settings(of: Settings) -> Settings {
    Settings {
        exact_up_to: 40,
        probe: Probe {
            barren: 10_000,
            postings: 10_000,
            doubt: 1e9,
            measure: 10_000,
        },
        ..of
    }
}

fn chunks(number: u32, heaped: bool) -> Vec<index::IndexedChunk> {
    let mut rng = StdRng::seed_from_u64(number.into());
    let mut vector = || -> Vec<f32> {
        let spread = if heaped { 0.01 } else { 1.0 };
        let at = |rng: &mut StdRng| rng.random_range(-spread..spread) + f32::from(heaped as u8);
        (0..DIMENSIONS).map(|_| at(&mut rng)).collect()
    };
    let text = format!("common only{number}");
    (0..CHUNKS).map(|n| chunk(n, &text, &vector())).collect()
}

async fn take(index: &Index, step: Step) -> Result<(), index::Error> {
    let write = async |number: u32, heaped: bool| {
        let place = place(space(1), number, "u");
        let receipt = replace(index, place, 1, chunks(number, heaped)).await?;
        receipt.durable().await.map(drop)
    };
    match step {
        Step::Spread(number) => write(number, false).await,
        Step::Heaped(number) => write(number, true).await,
        Step::Forget(number) => {
            let receipt = index.forget(space(1), version(number)).await?;
            receipt.durable().await.map(drop)
        }
        Step::Compact(numbers) => {
            let live = live(numbers.iter().copied());
            index.compact(space(1), &live).await.map(drop)
        }
    }
}

/// The versions held after so many steps.
fn held_after(steps: usize) -> BTreeSet<u32> {
    let mut held = BTreeSet::new();
    for step in &STEPS[..steps] {
        match step {
            Step::Spread(number) | Step::Heaped(number) => held.insert(*number),
            Step::Forget(number) => held.remove(number),
            Step::Compact(_) => false,
        };
    }
    held
}

/// What is held is what was acknowledged, or with the step after it; and postings hold all of it.
async fn check(folder: &Path, done: usize, what: &str) {
    let index = open_with(folder, settings(Settings::default())).await;
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let versions = snapshot.versions().await.unwrap();
    let held: BTreeSet<u32> = versions.iter().map(|v| v.2).collect();
    let next = held_after((done + 1).min(STEPS.len()));
    assert!(held == held_after(done) || held == next, "{what}: {held:?}");
    for number in &held {
        let stored = snapshot.chunks_of(space(1), version(*number)).await;
        let stored = stored.unwrap();
        assert_eq!(stored.len() as u32, CHUNKS, "{what}: a unit is whole");
        let found = stored.iter().all(|c| c.has_vector && c.has_text);
        assert!(found, "{what}: both stores have {number}");
        let mut audit = snapshot.audit(space(1)).await.unwrap();
        let audited = audit.version(version(*number)).await.unwrap();
        assert_eq!(audited.faults, [], "{what}: {number}");
    }
    let (query, all_live) = ([1.0; DIMENSIONS], live(0..99));
    let found = snapshot.search_vector(space(1), &query, &all_live, 10_000);
    let found = found.await.unwrap();
    let places: BTreeSet<_> = found.iter().map(|s| s.id.to_string()).collect();
    let all = held.len() * CHUNKS as usize;
    assert_eq!((found.len(), places.len()), (all, all), "{what}: each once");
    // Life goes on: the step that was under way is done again, and all after it.
    for step in &STEPS[done..] {
        take(&index, *step).await.unwrap();
    }
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let found = snapshot.search_vector(space(1), &query, &all_live, 10_000);
    let all = held_after(STEPS.len()).len() * CHUNKS as usize;
    assert_eq!(found.await.unwrap().len(), all, "{what}: in the end");
    index.close().await.unwrap();
}

/// What the parent test starts again as its own child; alone it has nothing to do.
#[tokio::test]
async fn a_child_makes_postings_until_it_is_killed() {
    let (Ok(folder), Ok(point)) = (std::env::var(FOLDER), std::env::var(POINT)) else {
        return;
    };
    let folder = Path::new(&folder);
    let index = open_with(folder, settings(Settings::default())).await;
    durable::watch(Some(point.parse().unwrap()));
    let mut acknowledged = std::fs::File::create(folder.join("acknowledged")).unwrap();
    for step in STEPS {
        take(&index, *step).await.unwrap();
        writeln!(acknowledged, "done").unwrap();
    }
    panic!("{point} was never passed");
}

fn run_child(folder: &Path, point: &str) -> usize {
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "crash_postings::a_child_makes_postings_until_it_is_killed",
            "--nocapture",
        ])
        .env(FOLDER, folder)
        .env(POINT, point)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    assert_eq!(child.status.code(), None, "{point} did not kill: {said}");
    let acknowledged = std::fs::read_to_string(folder.join("acknowledged")).unwrap();
    acknowledged.lines().count()
}

#[tokio::test]
async fn killed_while_postings_change_they_hold_what_is_stored_and_nothing_else() {
    for hit in 1..=STEPS.len() {
        for when in ["before", "after"] {
            let point = format!("index.flush:{when}:{hit}");
            let folder = tempfile::tempdir().unwrap();
            let done = run_child(folder.path(), &point);
            check(folder.path(), done, &point).await;
        }
    }
    // Text follows postings that were parted, and ones that were dissolved.
    for point in [
        "index.text:before:11",
        "index.text:after:11",
        "index.text:before:12",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let done = run_child(folder.path(), point);
        check(folder.path(), done, point).await;
    }
}

#[tokio::test]
async fn a_power_cut_while_postings_change_takes_nothing_that_was_acknowledged() {
    for left in [4, 9, 14, 19, 24] {
        let folder = tempfile::tempdir().unwrap();
        let disk = disk(folder.path(), ErrorKind::Other);
        disk.leave(left);
        let text = folder.path().join("text");
        let mut done = 0;
        if let Ok(index) = Index::open(settings(impatient()), disk, text.clone()).await {
            for step in STEPS {
                match take(&index, *step).await {
                    Ok(()) => done += 1,
                    Err(_) => break,
                }
            }
            assert!(index.close().await.is_err(), "{left} writes were enough");
        }
        // Nothing of the text was synced either.
        if left % 2 == 0 {
            std::fs::remove_dir_all(&text).ok();
        }
        check(folder.path(), done, &format!("{left} writes")).await;
    }
}
