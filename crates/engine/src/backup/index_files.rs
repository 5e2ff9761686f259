//! The index's files under a second name.
//!
//! Its store writes every file once and only ever takes whole files away. A list of what is
//! there needs what it names, and what it names was there when it was written: so first the
//! data, then the lists, then the data that came meanwhile. What vanishes between listing
//! and naming sends the whole back to its beginning; what came meanwhile is too young to
//! vanish.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::OwnedRwLockWriteGuard;

use super::beside::{self, BACKUP, Beside};
use super::files::{Writing, io};
use crate::Error;

/// Folders that hold lists.
const LISTS: [&str; 2] = ["manifest", "compactions"];
const TRIES: usize = 10;

/// Nothing is purged while somebody has it.
pub type Still = Arc<OwnedRwLockWriteGuard<()>>;

/// Second names, gone when this is dropped. A purge that passed them by would leave its text in
/// them: so it waits for them, also where nobody waits for the backup any more.
pub struct Staged {
    /// Before what holds purges back: they go first.
    beside: Beside,
    _still: Still,
}

pub async fn stage(index: PathBuf, still: Still) -> Result<Staged, Error> {
    let staged = tokio::task::spawn_blocking(move || stage_blocking(&index, &still));
    staged.await.map_err(|_| Error::StageStopped)?
}

/// Takes away what a backup that died left behind.
pub fn clear(index: &Path) -> Result<(), Error> {
    beside::clear(index, BACKUP)
}

fn stage_blocking(index: &Path, still: &Still) -> Result<Staged, Error> {
    for _ in 0..TRIES {
        let staged = Staged {
            beside: Beside::make(index, BACKUP)?,
            _still: Arc::clone(still),
        };
        let folder = staged.beside.folder();
        fs::create_dir_all(&folder).map_err(io("make the folder", &folder))?;
        let named = link(index, &folder, false)
            .and_then(|()| link(index, &folder, true))
            .and_then(|()| link(index, &folder, false));
        match named {
            Ok(()) => return Ok(staged),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(io("link", index)(error)),
        }
    }
    Err(Error::BadRequest {
        what: "backup",
        why: "the index changes too fast; try again".to_owned(),
    })
}

/// Names all files of lists, or all others.
#[expect(
    clippy::disallowed_methods,
    reason = "second names may go at any moment"
)]
fn link(from: &Path, to: &Path, lists: bool) -> std::io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            link(&entry.path(), &target, lists)?;
        } else if is_list(from) == lists && !is_unfinished(&entry.path()) {
            match fs::hard_link(entry.path(), &target) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

fn is_list(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    LISTS.iter().any(|list| name == *list)
}

/// A write under way, which nothing refers to: `name#1`.
pub fn is_unfinished(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some((_, digits)) = name.rsplit_once('#') else {
        return false;
    };
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

pub async fn copy(staged: Staged, writing: Writing) -> Result<Writing, Error> {
    let copied = tokio::task::spawn_blocking(move || {
        let mut writing = writing;
        copy_below(&staged.beside.folder(), "index", &mut writing)?;
        Ok(writing)
    });
    copied.await.map_err(|_| Error::StageStopped)?
}

fn copy_below(from: &Path, name: &str, writing: &mut Writing) -> Result<(), Error> {
    for entry in fs::read_dir(from).map_err(io("list", from))? {
        let entry = entry.map_err(io("list", from))?;
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().map_err(io("list", from))?.is_dir() {
            copy_below(&entry.path(), &name, writing)?;
        } else {
            let bytes = fs::read(entry.path()).map_err(io("read", &entry.path()))?;
            writing.write(&name, &bytes)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::sync::RwLock;

    use super::*;

    #[test]
    fn a_purge_waits_for_second_names_nobody_waits_for_any_more() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        let data = tempfile::tempdir().unwrap();
        let index = data.path().join("index");
        fs::create_dir(&index).unwrap();
        runtime.block_on(async {
            // The one thread there is has something else to do, until it is told.
            let (told, until) = std::sync::mpsc::channel::<()>();
            tokio::task::spawn_blocking(move || until.recv());
            let purges = Arc::new(RwLock::new(()));
            let still = Arc::new(purges.clone().write_owned().await);
            let mut staging = Box::pin(stage(index.clone(), still));
            assert!(futures::poll!(&mut staging).is_pending());
            drop(staging);
            assert!(purges.try_read().is_err(), "they are about to be made");
            drop(told);
            let _purge = purges.read().await;
            let left = fs::read_dir(data.path()).unwrap();
            assert_eq!(left.count(), 1, "the index itself");
        });
    }

    #[test]
    fn a_write_under_way_is_known_by_its_number() {
        assert!(is_unfinished(Path::new("wal/0001.sst#12")));
        assert!(!is_unfinished(Path::new("wal/0001.sst")));
        assert!(!is_unfinished(Path::new("notes#one")));
        assert!(!is_unfinished(Path::new("notes#")));
    }
}
