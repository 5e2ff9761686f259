//! Opening what a walk found, without being led elsewhere meanwhile.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use chrono::{DateTime, Utc};
use model::SourceOrder;
use rustix::fs::{Mode, OFlags};

use crate::Error;

/// A file held open, described by the handle itself and not by its name.
#[derive(Debug)]
pub struct Opened {
    pub file: File,
    pub size: u64,
    /// When the file's content or name last changed here; see ADR 0060.
    pub order: SourceOrder,
}

/// Refuses links, pipes and devices: between the walk and now the name may have changed hands.
pub fn open(path: &Path) -> Result<Opened, Error> {
    let unreadable = |cause| Error::Unreadable {
        path: path.to_owned(),
        cause,
    };
    // Without NONBLOCK, opening a pipe nobody writes to would wait for ever.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd: OwnedFd =
        rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| unreadable(errno.into()))?;
    described(fd, path)
}

fn described(fd: OwnedFd, path: &Path) -> Result<Opened, Error> {
    let file = File::from(fd);
    let metadata = file.metadata().map_err(|cause| Error::Unreadable {
        path: path.to_owned(),
        cause,
    })?;
    if !metadata.is_file() {
        return Err(Error::NotAFile {
            path: path.to_owned(),
        });
    }
    let changed = DateTime::<Utc>::from_timestamp(metadata.ctime(), metadata.ctime_nsec() as u32);
    Ok(Opened {
        size: metadata.len(),
        order: SourceOrder::of_time(changed.unwrap_or_default()),
        file,
    })
}

/// Opens what a bucket's key names below the folder that stands for the bucket. No part of
/// the way may be a link or lead upwards, whatever the key says.
pub fn open_below(root: &Path, key: &str) -> Result<Opened, Error> {
    let leads_away = || Error::KeyLeadsAway(key.to_owned());
    let plain = |part: &&str| !matches!(*part, "" | "." | "..") && !part.contains('\0');
    let parts: Vec<&str> = key.split('/').collect();
    if !parts.iter().all(plain) {
        return Err(leads_away());
    }
    let (name, folders) = parts.split_last().ok_or_else(leads_away)?;
    let unreadable = |errno: rustix::io::Errno| Error::Unreadable {
        path: root.join(key),
        cause: errno.into(),
    };
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at =
        rustix::fs::open(root, folder, Mode::empty()).map_err(|errno| Error::NoBucket {
            path: root.to_owned(),
            cause: errno.into(),
        })?;
    for part in folders {
        let inside = folder | OFlags::NOFOLLOW;
        at = rustix::fs::openat(&at, *part, inside, Mode::empty()).map_err(unreadable)?;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(&at, *name, flags, Mode::empty()).map_err(unreadable)?;
    described(fd, &root.join(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a test writes files nobody keeps"
    )]
    fn a_key_reaches_only_what_is_below_its_bucket() {
        let bucket = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let path = |name: &str| bucket.path().join(name);
        std::fs::create_dir(path("a")).unwrap();
        std::fs::write(path("a/b.txt"), "in").unwrap();
        std::fs::write(outside.path().join("secret"), "out").unwrap();
        std::os::unix::fs::symlink(outside.path(), path("link")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), path("file")).unwrap();
        let open = |key: &str| open_below(bucket.path(), key);
        assert_eq!(open("a/b.txt").unwrap().size, 2);
        for key in ["link/secret", "file", "a"] {
            assert!(open(key).is_err(), "{key}");
        }
        for key in ["../secret", "a/../../x", "/etc/passwd", "a//b.txt", ""] {
            assert!(matches!(open(key), Err(Error::KeyLeadsAway(_))), "{key}");
        }
        assert!(open("gone.txt").unwrap_err().is_missing());
        let unmounted = open_below(&path("nowhere"), "a/b.txt").unwrap_err();
        assert!(
            !unmounted.is_missing(),
            "a bucket that is away lost nothing"
        );
    }
}
