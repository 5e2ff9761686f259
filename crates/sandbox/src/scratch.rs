//! A folder for one document, gone with it whatever was made in it.
//!
//! A program of others writes here, and may have been taken over by what it read. So nothing
//! is followed, no depth is recursed into, and neither names nor modes are taken for granted.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::ops::RangeFrom;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Files and folders in it. An office suite makes about a hundred.
const ENTRIES: u64 = 10_000;

pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    pub(crate) fn within(place: &Path) -> io::Result<Self> {
        let made = tempfile::Builder::new().prefix("").tempdir_in(place)?;
        Ok(Self { path: made.keep() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    #[expect(clippy::disallowed_methods, reason = "gone with the folder it is in")]
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(bytes)
    }

    /// Neither a link to elsewhere nor a pipe without an end is followed.
    #[expect(clippy::disallowed_methods, reason = "it is only read")]
    pub(crate) fn read(&self, name: &str, limit: u64) -> io::Result<Vec<u8>> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(self.path.join(name))
            .map_err(|error| io::Error::other(format!("it left nothing: {error}")))?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("what it left is no file"));
        }
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(io::Error::other("it left more than it may"));
        }
        Ok(bytes)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = clear(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a folder stays behind");
        }
    }
}

/// Makes a place for such folders, and takes away those that somebody died over.
#[expect(clippy::disallowed_methods, reason = "nothing in it is worth keeping")]
pub fn empty(place: &Path) -> io::Result<()> {
    fs::create_dir_all(place)?;
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            clear(&entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Whether more was written below a folder than may be.
pub(crate) fn is_full(folder: &Path, bytes: u64) -> bool {
    let (mut entries, mut written) = (0, 0);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // What cannot be read may have gone meanwhile.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else {
                continue;
            };
            entries += 1;
            written += found.len();
            if entries > ENTRIES || written > bytes {
                return true;
            }
            if found.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    false
}

/// Takes a folder away with all that is in it. Folders within folders are first moved to the
/// top: however deep they stand, no path is longer than two names.
#[expect(clippy::disallowed_methods, reason = "nothing in it is worth keeping")]
fn clear(top: &Path) -> io::Result<()> {
    fs::set_permissions(top, Permissions::from_mode(0o700))?;
    let mut names = 0_u64..;
    loop {
        let mut entries = fs::read_dir(top)?.peekable();
        if entries.peek().is_none() {
            return fs::remove_dir(top);
        }
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                lift(&entry.path(), top, &mut names)?;
                fs::remove_dir(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
    }
}

/// Moves the folders in a folder to the top and takes away the rest.
#[expect(clippy::disallowed_methods, reason = "nothing in it is worth keeping")]
fn lift(folder: &Path, top: &Path, names: &mut RangeFrom<u64>) -> io::Result<()> {
    // One that nobody may read can be made, and is ours all the same.
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    for inner in fs::read_dir(folder)? {
        let inner = inner?;
        if !inner.file_type()?.is_dir() {
            fs::remove_file(inner.path())?;
            continue;
        }
        let free = |path: &PathBuf| path.symlink_metadata().is_err();
        let mut there = names
            .by_ref()
            .map(|name| top.join(name.to_string()))
            .filter(free);
        let there = there.next().expect("numbers do not end");
        // Moving one changes what it says of its parent, which takes the right to write to it.
        fs::set_permissions(inner.path(), Permissions::from_mode(0o700))?;
        fs::rename(inner.path(), there)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test writes its own files")]

    use super::*;

    #[test]
    fn what_is_deep_closed_or_a_link_goes_with_the_folder_and_nothing_else_does() {
        let place = tempfile::tempdir().unwrap();
        let kept = place.path().join("kept");
        fs::write(&kept, "kept").unwrap();
        let scratch = Scratch::within(place.path()).unwrap();
        scratch.write("a/b/c/d/e/file", b"deep").unwrap();
        for taken in ["0", "2/file", "a/1/file"] {
            scratch.write(taken, b"in the way").unwrap();
        }
        std::os::unix::fs::symlink(&kept, scratch.path().join("link")).unwrap();
        std::os::unix::fs::symlink(place.path(), scratch.path().join("a/b/up")).unwrap();
        for closed in ["a/b/c", "a"] {
            let closed = scratch.path().join(closed);
            fs::set_permissions(closed, Permissions::from_mode(0o0)).unwrap();
        }
        drop(scratch);
        let died_over = place.path().join("scratch");
        fs::create_dir_all(died_over.join("of/another")).unwrap();
        empty(&died_over).unwrap();
        fs::remove_dir(died_over).unwrap();
        let left = fs::read_dir(place.path()).unwrap().flatten();
        let left: Vec<_> = left.map(|entry| entry.path()).collect();
        assert_eq!(left, std::slice::from_ref(&kept));
        assert_eq!(fs::read_to_string(kept).unwrap(), "kept");
    }

    #[test]
    fn a_folder_is_full_by_its_bytes_wherever_they_stand() {
        let place = tempfile::tempdir().unwrap();
        let scratch = Scratch::within(place.path()).unwrap();
        scratch.write("a/b/file", &[0; 100_000]).unwrap();
        assert!(is_full(scratch.path(), 100_000));
        assert!(!is_full(scratch.path(), 1 << 20));
    }
}
