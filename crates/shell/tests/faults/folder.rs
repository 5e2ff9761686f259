//! What a folder of objects has taken is there after a power cut, at once.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use anyhow::ensure;
use engine::SyncedFolder;
use futures::future::try_join_all;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt as _};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::process::Command;

use crate::power;

const ASKED: &str = "GRISTMILL_FAULT_FOLDER";
const CARELESS: &str = "GRISTMILL_FAULT_CARELESS";
/// A cut spares some of what was not synced: what none of so many takes is safe.
const CUTS: u64 = 12;

fn taken() -> impl Iterator<Item = (Key, String)> {
    // Several in a folder none has made yet, and one where somebody was killed making them.
    let names = (0..6).map(|n| format!("a/b/c/{n}"));
    let names = names.chain(["a/b/d".into(), "left/by/the/dead/e".into(), "f".into()]);
    names.map(|name| (Key::from(name.as_str()), format!("the text of {name}")))
}

async fn put_all(folder: &Path, careless: bool) -> anyhow::Result<()> {
    let store: Arc<dyn ObjectStore> = match careless {
        true => Arc::new(LocalFileSystem::new_with_prefix(folder)?),
        false => Arc::new(SyncedFolder::open(folder)?),
    };
    let put = |key, text: String| {
        let store = store.clone();
        async move { store.put(&key, text.into()).await }
    };
    try_join_all(taken().map(|(key, _)| put(key, "a draft".into()))).await?;
    try_join_all(taken().map(|(key, text)| put(key, text))).await?;
    Ok(())
}

/// How many of the objects a folder has taken it has no more after the cut.
async fn lost(seed: u64, careless: bool) -> anyhow::Result<usize> {
    let scratch = tempfile::tempdir()?;
    let (folder, synced) = (scratch.path().join("disk"), scratch.path().join("synced"));
    std::fs::create_dir(&folder)?;
    power::record_all(&folder, &synced)?;
    std::fs::create_dir_all(folder.join("objects/left/by/the/dead"))?;
    let mut child = Command::new(std::env::current_exe()?);
    child
        .args(["--exact", "folder::objects_are_put_when_asked_for"])
        .env(ASKED, scratch.path())
        .envs(careless.then_some((CARELESS, "1")))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = child.output().await?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{said}");
    power::cut(&folder, &synced, &mut StdRng::seed_from_u64(seed))?;
    let read = |key: &Key| std::fs::read_to_string(folder.join("objects").join(key.as_ref()));
    let there = |(key, text): &(Key, String)| read(key).is_ok_and(|read| read == *text);
    Ok(taken().filter(|object| !there(object)).count())
}

#[tokio::test]
async fn objects_are_put_when_asked_for() -> anyhow::Result<()> {
    let Some(scratch) = std::env::var_os(ASKED).map(PathBuf::from) else {
        return Ok(());
    };
    power::record(scratch.join("synced"), None);
    let careless = std::env::var_os(CARELESS).is_some();
    put_all(&scratch.join("disk/objects"), careless).await?;
    // Nothing is closed or flushed on the way out.
    std::process::exit(0)
}

#[tokio::test]
async fn what_a_folder_has_taken_survives_a_power_cut() -> anyhow::Result<()> {
    for seed in 0..CUTS {
        ensure!(lost(seed, false).await? == 0, "lost with seed {seed}");
    }
    ensure!(
        lost(0, true).await? > 0,
        "a store that syncs nothing was taken for a safe one"
    );
    Ok(())
}
