//! The place beside a folder in which it is put together.
//!
//! It has a name nobody else chooses and is made, never taken over. A file in it says whose it
//! is and is locked for as long as somebody is at it: what carries the file and is not locked
//! was left by a restore that died, and nothing else is ever taken away.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::files::{io, keep_out_of_ingests};
use crate::Error;

const MARK: &str = "restoring";
const SAYS: &[u8] = b"gristmill is restoring a backup here\n";

/// Gone when it is dropped, with whatever is still in it.
pub struct Beside {
    place: PathBuf,
    _mark: File,
}

impl Beside {
    /// Beside a folder that need not be there; what restores into it left is taken away.
    pub fn make(folder: &Path) -> Result<Self, Error> {
        let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
            return Err(Error::BadRequest {
                what: "restore",
                why: format!("`{}` is no place for a folder", folder.display()),
            });
        };
        make(parent)?;
        let begin = format!("{}.{MARK}-", name.to_string_lossy());
        sweep(parent, &begin)?;
        let place = parent.join(format!("{begin}{}", Uuid::now_v7().simple()));
        let made = DirBuilder::new().mode(0o700).create(&place);
        made.map_err(io("make the folder", &place))?;
        let mark = mark(&place.join(MARK)).map_err(io("mark", &place))?;
        keep_out_of_ingests(&place)?;
        Ok(Self { place, _mark: mark })
    }

    /// Where the folder itself is put together.
    pub fn folder(&self) -> PathBuf {
        self.place.join("data")
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.place) {
            let path = self.place.display();
            tracing::warn!(%path, %error, "what a restore no longer needs could not be removed");
        }
    }
}

/// Locked before it says anything: what says nothing yet is not taken for left behind.
#[expect(clippy::disallowed_methods, reason = "gone with the restore")]
fn mark(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.try_lock()?;
    file.write_all(SAYS)?;
    Ok(file)
}

fn sweep(parent: &Path, begin: &str) -> Result<(), Error> {
    for entry in fs::read_dir(parent).map_err(io("list", parent))? {
        let entry = entry.map_err(io("list", parent))?;
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with(begin) && is_left(&path.join(MARK)) {
            remove(&path).map_err(io("clear", &path))?;
            tracing::info!(path = %path.display(), "took away what a restore had left");
        }
    }
    Ok(())
}

/// Whether it is ours, and nobody is at it.
fn is_left(mark: &Path) -> bool {
    let ours = fs::read(mark).is_ok_and(|says| says == SAYS);
    ours && File::open(mark).is_ok_and(|file| file.try_lock().is_ok())
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where it becomes an effect"
)]
fn remove(place: &Path) -> std::io::Result<()> {
    let removed = durable::effect_blocking("restore.tidy", || fs::remove_dir_all(place));
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub fn make(folder: &Path) -> Result<(), Error> {
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(folder);
    made.map_err(io("make the folder", folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "in a scratch folder")]
    fn only_what_a_dead_restore_left_is_taken_away() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("my.data");
        let users = scratch.path().join("my.restoring");
        let alike = scratch.path().join("my.data.restoring-notes");
        let left = scratch.path().join("my.data.restoring-left");
        for place in [&users, &alike, &left] {
            fs::create_dir(place).unwrap();
            fs::write(place.join("file"), "kept").unwrap();
        }
        fs::write(left.join(MARK), SAYS).unwrap();

        let first = Beside::make(&folder).unwrap();
        let second = Beside::make(&folder).unwrap();
        assert_ne!(first.folder(), second.folder());
        assert!(first.place.exists(), "somebody is at it");
        assert!(users.exists() && alike.exists() && !left.exists());
        let place = first.place.clone();
        drop(first);
        assert!(!place.exists() && second.place.exists());
    }
}
