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
    let file = File::from(fd);
    let metadata = file.metadata().map_err(unreadable)?;
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
