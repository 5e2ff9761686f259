//! What an index takes on the disk, and of what that consists.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::index::Settings;
use object_store::local::LocalFileSystem;
use slatedb::admin::Admin;

use super::open;
use crate::report::Report;

/// Seconds without a change after which nothing more will go: longer than a hurried store
/// keeps anything.
const SETTLED: usize = 20;

/// What lies there when the index is closed, and once the store has collected its garbage:
/// logs and files that newer ones replaced, which it keeps for a quarter of an hour.
pub async fn on_disk(
    report: &mut Report,
    name: &str,
    folder: &Path,
    given: u64,
) -> anyhow::Result<()> {
    report.figure(
        format!("{name}: on disk when closed"),
        megabytes(folder),
        "MB",
    );
    keep_nothing_for_readers(folder).await?;
    let hurried = Settings {
        collect_every: Duration::from_secs(1),
        ..Settings::default()
    };
    let index = open(folder, hurried).await?;
    let (mut before, mut same) = (bytes(folder), 0);
    while same < SETTLED {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = bytes(folder);
        same = if now == before { same + 1 } else { 0 };
        before = now;
    }
    index.close().await?;
    let beside = ("vectors and texts as given", given as f64 / 1e6);
    let what = format!("{name}: on disk, garbage collected");
    report.against(what, megabytes(folder), "MB", beside);
    let slate = folder.join("index/slate");
    let parts = [
        ("sorted files", slate.join("compacted")),
        ("log", slate.join("wal")),
        ("text index", folder.join("text")),
    ];
    for (part, folder) in parts {
        let what = format!("{name}: on disk, of that its {part}");
        report.figure(what, megabytes(&folder), "MB");
    }
    Ok(())
}

/// Nobody reads a closed index: what compactions left for those who may have begun before goes.
async fn keep_nothing_for_readers(folder: &Path) -> anyhow::Result<()> {
    let objects = LocalFileSystem::new_with_prefix(folder.join("index"))?;
    let admin = Admin::builder("slate", Arc::new(objects)).build();
    for checkpoint in admin.list_checkpoints(None).await? {
        admin.delete_checkpoint(checkpoint.id).await?;
    }
    Ok(())
}

fn megabytes(folder: &Path) -> f64 {
    bytes(folder) as f64 / 1e6
}

fn bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => bytes(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}
