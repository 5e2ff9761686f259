//! A power cut: what was not synced is forgotten.
//!
//! This binary defines `fsync` and `fdatasync` itself, so every sync of every library in
//! it, SQLite's included, comes here first. While recording, a sync copies the file, or the
//! names in the folder, aside: that copy is what the disk is sure to hold. After the death,
//! [`cut`] makes the folder anew from the copies; what was never synced survives or not,
//! as it is drawn.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::UNIX_EPOCH;

use durable::When;
use rand::Rng;
use rand::rngs::StdRng;
use serde::{Deserialize, Serialize};

static RECORDER: OnceLock<Recorder> = OnceLock::new();

struct Recorder {
    synced: PathBuf,
    death: Option<(When, u64)>,
    syncs: AtomicU64,
    /// Held from reading to writing: an older look may not replace a newer one.
    one_at_a_time: Mutex<()>,
}

/// A name in a folder, and what stood behind it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Named {
    name: String,
    key: String,
    folder: bool,
}

/// From now on syncs are recorded in `synced`; at the one given, the process dies.
pub fn record(synced: PathBuf, death: Option<(When, u64)>) {
    let recorder = Recorder {
        synced,
        death,
        syncs: AtomicU64::new(0),
        one_at_a_time: Mutex::default(),
    };
    assert!(RECORDER.set(recorder).is_ok(), "one life, one recorder");
}

/// Takes everything below a folder for synced, as it is before the first life.
pub fn record_all(folder: &Path, synced: &Path) -> io::Result<()> {
    for kind in ["files", "folders"] {
        fs::create_dir_all(synced.join(kind))?;
    }
    keep_folder(folder, synced)?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            record_all(&path, synced)?;
        } else {
            keep_file(&path, synced)?;
        }
    }
    Ok(())
}

impl Recorder {
    fn sync(&self, path: &Path) -> io::Result<()> {
        let hit = self.syncs.fetch_add(1, Ordering::SeqCst) + 1;
        self.die_if_due(When::Before, hit);
        let alone = self.one_at_a_time.lock().expect("no sync panics");
        if fs::metadata(path)?.is_dir() {
            keep_folder(path, &self.synced)?;
        } else {
            keep_file(path, &self.synced)?;
        }
        drop(alone);
        self.die_if_due(When::After, hit);
        Ok(())
    }

    fn die_if_due(&self, when: When, hit: u64) {
        if self.death == Some((when, hit)) {
            std::process::abort();
        }
    }
}

/// Which file it is, whatever its name: numbers of deleted files are given out again.
fn key(path: &Path) -> io::Result<String> {
    let meta = fs::metadata(path)?;
    let born = meta.created()?.duration_since(UNIX_EPOCH);
    let born = born.map_err(io::Error::other)?.as_nanos();
    Ok(format!("{}-{born}", meta.ino()))
}

fn keep_file(path: &Path, synced: &Path) -> io::Result<()> {
    put(&synced.join("files").join(key(path)?), &fs::read(path)?)
}

fn keep_folder(path: &Path, synced: &Path) -> io::Result<()> {
    let names = serde_json::to_vec(&names(path)?)?;
    put(&synced.join("folders").join(key(path)?), &names)
}

fn names(folder: &Path) -> io::Result<Vec<Named>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Gone again since it was listed: then it is not there.
        let Ok(key) = key(&entry.path()) else {
            continue;
        };
        names.push(Named {
            name: entry.file_name().to_string_lossy().into_owned(),
            key,
            folder: entry.file_type()?.is_dir(),
        });
    }
    Ok(names)
}

/// Whole or not at all, should the process be killed here.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let draft = path.with_extension(format!("draft-{n}"));
    fs::write(&draft, bytes)?;
    fs::rename(draft, path)
}

/// Makes `folder` what a disk may hold after the cut.
pub fn cut(folder: &Path, synced: &Path, random: &mut StdRng) -> io::Result<()> {
    let mut there = HashMap::new();
    find(folder, &mut there)?;
    let after = folder.with_extension("after");
    let mut disk = Disk {
        synced,
        there,
        random,
    };
    disk.folder(&key(folder)?, &after)?;
    fs::remove_dir_all(folder)?;
    fs::rename(after, folder)?;
    fs::remove_dir_all(synced)?;
    record_all(folder, synced)
}

/// Where each file and folder is now, by its key.
fn find(folder: &Path, there: &mut HashMap<String, PathBuf>) -> io::Result<()> {
    there.insert(key(folder)?, folder.to_owned());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, there)?;
        } else {
            there.insert(key(&path)?, path);
        }
    }
    Ok(())
}

struct Disk<'a> {
    synced: &'a Path,
    there: HashMap<String, PathBuf>,
    random: &'a mut StdRng,
}

impl Disk<'_> {
    fn folder(&mut self, key: &str, to: &Path) -> io::Result<()> {
        fs::create_dir(to)?;
        for named in self.entries(key)? {
            let to = to.join(&named.name);
            if named.folder {
                self.folder(&named.key, &to)?;
            } else {
                fs::write(to, self.content(&named.key)?)?;
            }
        }
        Ok(())
    }

    fn entries(&mut self, key: &str) -> io::Result<Vec<Named>> {
        let kept = fs::read(self.synced.join("folders").join(key)).ok();
        match (kept, self.there.get(key)) {
            (_, Some(now)) if self.random.random_bool(0.3) => names(now),
            (Some(kept), _) => Ok(serde_json::from_slice(&kept)?),
            (None, _) => Ok(Vec::new()),
        }
    }

    fn content(&mut self, key: &str) -> io::Result<Vec<u8>> {
        let kept = fs::read(self.synced.join("files").join(key)).ok();
        match self.there.get(key) {
            Some(now) if self.random.random_bool(0.3) => fs::read(now),
            _ => Ok(kept.unwrap_or_default()),
        }
    }
}

/// The two calls themselves.
#[expect(
    unsafe_code,
    reason = "the C library's own functions are stood in for here, to see every sync"
)]
mod calls {
    use std::ffi::c_int;
    use std::path::Path;

    use super::RECORDER;

    #[unsafe(no_mangle)]
    extern "C" fn fsync(file: c_int) -> c_int {
        sync(file, libc::SYS_fsync)
    }

    #[unsafe(no_mangle)]
    extern "C" fn fdatasync(file: c_int) -> c_int {
        sync(file, libc::SYS_fdatasync)
    }

    fn sync(file: c_int, number: libc::c_long) -> c_int {
        let Some(recorder) = RECORDER.get() else {
            // SAFETY: the call takes a descriptor and touches no memory of ours.
            let answer = unsafe { libc::syscall(number, file) };
            return c_int::try_from(answer).unwrap_or(-1);
        };
        let path = format!("/proc/self/fd/{file}");
        match recorder.sync(Path::new(&path)) {
            Ok(()) => 0,
            Err(error) => panic!("cannot record a sync of {path}: {error}"),
        }
    }
}
