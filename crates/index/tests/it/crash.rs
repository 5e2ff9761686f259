//! Kills the process at every durable step of a flush, and looks at what is left.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use index::{Flush, Index};

use crate::kit::*;

const FOLDER: &str = "GRISTMILL_INDEX_CRASH_FOLDER";
const POINT: &str = "GRISTMILL_INDEX_CRASH_AT";
const STEPS: u32 = 5;

/// One step: a unit written, and from the third on an earlier version forgotten.
async fn write_step(index: &Index, step: u32) {
    let text = format!("common only{step}");
    let chunks = vec![
        chunk(0, &text, &[1.0, step as f32]),
        chunk(1, "second", &[0.5, 0.5]),
    ];
    let written = replace(index, place(space(1), step, "u"), 1, chunks)
        .await
        .unwrap();
    if step >= 3 {
        index
            .forget(space(1), version(step - 3))
            .await
            .unwrap()
            .durable()
            .await
            .unwrap();
    }
    written.durable().await.unwrap();
}

/// What the parent test starts again as its own child; alone it has nothing to do.
#[tokio::test]
async fn a_child_writes_until_it_is_killed() {
    let (Ok(folder), Ok(point)) = (std::env::var(FOLDER), std::env::var(POINT)) else {
        return;
    };
    let folder = Path::new(&folder);
    let index = open(folder).await;
    durable::watch(Some(point.parse().unwrap()));
    let mut acknowledged = std::fs::File::create(folder.join("acknowledged")).unwrap();
    for step in 0..STEPS {
        write_step(&index, step).await;
        writeln!(acknowledged, "{step}").unwrap();
    }
    index.close().await.unwrap();
    panic!("{point} was never passed");
}

fn run_child(folder: &Path, point: &str) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "crash::a_child_writes_until_it_is_killed",
            "--nocapture",
        ])
        .env(FOLDER, folder)
        .env(POINT, point)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    assert_eq!(
        child.status.code(),
        None,
        "{point} did not kill the child: {said}"
    );
}

async fn check(folder: &Path, point: &str) {
    let acknowledged = std::fs::read_to_string(folder.join("acknowledged")).unwrap();
    let done = acknowledged.lines().count() as u32;
    let index = open(folder).await;
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let held: BTreeSet<u32> = snapshot
        .versions()
        .await
        .unwrap()
        .iter()
        .map(|v| v.2)
        .collect();
    // Step n forgets version n - 3; what was acknowledged is there, unless that came after.
    for step in 0..done {
        let forgotten = step + 3 < done;
        assert!(
            !(forgotten && held.contains(&step)),
            "{point}: {step} was durably forgotten"
        );
        let kept = step + 3 > done;
        assert!(
            !kept || held.contains(&step),
            "{point}: {step} was durable and is gone"
        );
    }
    let all = live(0..STEPS);
    for number in &held {
        let stored = snapshot
            .chunks_of(space(1), version(*number))
            .await
            .unwrap();
        assert_eq!(stored.len(), 2, "{point}: a unit is whole");
        assert!(
            stored.iter().all(|c| c.has_vector && c.has_text),
            "{point}: both stores agree"
        );
    }
    let found = snapshot
        .search_text(space(1), "common", &all, 99)
        .await
        .unwrap();
    let found: BTreeSet<u32> = found.iter().map(|s| s.number).collect();
    assert_eq!(
        found, held,
        "{point}: text finds what is stored and no more"
    );
    let found = snapshot
        .search_vector(space(1), &[1.0, 1.0], &all, 99)
        .await
        .unwrap();
    assert_eq!(found.len(), held.len() * 2, "{point}");
    write_step(&index, done).await;
    index.close().await.unwrap();
}

#[tokio::test]
async fn killed_at_any_step_of_a_flush_both_stores_agree_and_every_durable_receipt_is_honoured() {
    for (effect, hits) in [
        ("index.flush", &[1, 2, 4][..]),
        ("index.text", &[1, 2, 4]),
        ("index.close", &[1]),
    ] {
        for when in ["before", "after"] {
            for hit in hits {
                let point = format!("{effect}:{when}:{hit}");
                let folder = tempfile::tempdir().unwrap();
                run_child(folder.path(), &point);
                check(folder.path(), &point).await;
            }
        }
    }
}
