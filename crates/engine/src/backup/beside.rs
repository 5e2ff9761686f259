//! The place beside a folder in which another is put together.
//!
//! It has a name nobody else chooses and is made, never taken over. A file in it says whose it
//! is and is locked for as long as somebody is at it: what carries the file and is not locked
//! was left by somebody who died, and nothing else is ever taken away.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::files::{io, keep_out_of_ingests};
use crate::Error;

/// Where in it the folder itself is put together.
const FOLDER: &str = "data";

/// What a place is for.
#[derive(Debug, Clone, Copy)]
pub struct Purpose {
    what: &'static str,
    /// Part of its name, and the name of the file that says whose it is.
    mark: &'static str,
    says: &'static str,
    tidy: &'static str,
}

pub const RESTORE: Purpose = Purpose {
    what: "restore",
    mark: "restoring",
    says: "gristmill is restoring a backup here\n",
    tidy: "restore.tidy",
};

pub const BACKUP: Purpose = Purpose {
    what: "backup",
    mark: "backup",
    says: "gristmill keeps second names of its index here while it is backed up\n",
    tidy: "backup.tidy",
};

/// Gone when it is dropped, with whatever is still in it.
pub struct Beside {
    place: PathBuf,
    purpose: Purpose,
    _mark: File,
}

impl Beside {
    /// Beside a folder that need not be there; what others for the same purpose left is taken
    /// away.
    pub fn make(folder: &Path, purpose: Purpose) -> Result<Self, Error> {
        let (parent, begin) = names(folder, purpose)?;
        make(parent)?;
        sweep(parent, &begin, purpose)?;
        let place = parent.join(format!("{begin}{}", Uuid::now_v7().simple()));
        let made = DirBuilder::new().mode(0o700).create(&place);
        made.map_err(io("make the folder", &place))?;
        let mark = mark(&place, purpose).map_err(io("mark", &place))?;
        keep_out_of_ingests(&place)?;
        Ok(Self {
            place,
            purpose,
            _mark: mark,
        })
    }

    pub fn folder(&self) -> PathBuf {
        self.place.join(FOLDER)
    }
}

/// What those who died left beside a folder goes.
pub fn clear(folder: &Path, purpose: Purpose) -> Result<(), Error> {
    let (parent, begin) = names(folder, purpose)?;
    sweep(parent, &begin, purpose)
}

/// Where such places are, and how their names begin.
fn names(folder: &Path, purpose: Purpose) -> Result<(&Path, String), Error> {
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err(Error::BadRequest {
            what: purpose.what,
            why: format!("`{}` is no place for a folder", folder.display()),
        });
    };
    let begin = format!("{}.{}-", name.to_string_lossy(), purpose.mark);
    Ok((parent, begin))
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.place, self.purpose) {
            let (path, what) = (self.place.display(), self.purpose.what);
            tracing::warn!(%path, what, %error, "what is no longer needed could not be removed");
        }
    }
}

/// Locked before it says anything: what says nothing yet is not taken for left behind.
#[expect(clippy::disallowed_methods, reason = "gone with the place it marks")]
fn mark(place: &Path, purpose: Purpose) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(place.join(purpose.mark))?;
    file.try_lock()?;
    file.write_all(purpose.says.as_bytes())?;
    Ok(file)
}

fn sweep(parent: &Path, begin: &str, purpose: Purpose) -> Result<(), Error> {
    for entry in fs::read_dir(parent).map_err(io("list", parent))? {
        let entry = entry.map_err(io("list", parent))?;
        let path = entry.path();
        let is_named_so = entry.file_name().to_string_lossy().starts_with(begin);
        if is_named_so && is_folder(&entry) && is_left(&path, purpose) {
            remove(&path, purpose).map_err(io("clear", &path))?;
            tracing::info!(path = %path.display(), "took away what a {} had left", purpose.what);
        }
    }
    Ok(())
}

fn is_folder(entry: &fs::DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}

/// Whether it is ours, and nobody is at it.
fn is_left(place: &Path, purpose: Purpose) -> bool {
    let mark = place.join(purpose.mark);
    let ours = fs::read(&mark).is_ok_and(|says| says == purpose.says.as_bytes());
    ours && File::open(mark).is_ok_and(|file| file.try_lock().is_ok())
}

fn remove(place: &Path, purpose: Purpose) -> std::io::Result<()> {
    durable::effect_blocking(purpose.tidy, || {
        // The mark goes after it: without that nobody would know whose the rest is.
        remove_all(&place.join(FOLDER))?;
        remove_all(place)
    })
}

#[expect(clippy::disallowed_methods, reason = "the caller makes it an effect")]
fn remove_all(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
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
        fs::write(left.join(RESTORE.mark), RESTORE.says).unwrap();

        let first = Beside::make(&folder, RESTORE).unwrap();
        let second = Beside::make(&folder, RESTORE).unwrap();
        assert_ne!(first.folder(), second.folder());
        assert!(first.place.exists(), "somebody is at it");
        assert!(users.exists() && alike.exists() && !left.exists());
        let place = first.place.clone();
        drop(first);
        assert!(!place.exists() && second.place.exists());
    }
}
