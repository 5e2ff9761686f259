//! A backup becomes a data folder: whole and proven, or not at all.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::beside::{Beside, RESTORE, make};
use super::files::{io, rename, sync, write_new};
use super::manifest::{Entry, Manifest};
use crate::Error;

#[derive(Debug)]
pub struct Restored {
    pub manifest: Manifest,
    /// Where the catalog's files lie now, for a database that has to load them.
    pub catalog: PathBuf,
}

/// Every file is checked on the way; the folder appears when all of them are there.
pub fn restore(backup: &Path, folder: &Path) -> Result<Restored, Error> {
    let manifest = Manifest::read(backup)?;
    clear(folder)?;
    let beside = Beside::make(folder, RESTORE)?;
    let making = beside.folder();
    make(&making)?;
    for file in &manifest.files {
        let to = making.join(place(&file.path));
        if let Some(parent) = to.parent() {
            make(parent)?;
        }
        let bytes = checked(backup, file)?;
        durable::effect_blocking("restore.write", || write_new(&to, &bytes))
            .map_err(io("write", &to))?;
    }
    sync(&making)?;
    rename(&making, folder)?;
    if let Some(parent) = folder.parent().filter(|parent| parent.is_dir()) {
        sync(parent)?;
    }
    Ok(Restored {
        manifest,
        catalog: folder.join("catalog"),
    })
}

/// Where a file of the backup belongs in the folder.
fn place(path: &str) -> &str {
    match path {
        "catalog/catalog.db" => "catalog.db",
        other => other.strip_prefix("beside/").unwrap_or(other),
    }
}

fn checked(backup: &Path, file: &Entry) -> Result<Vec<u8>, Error> {
    let broken = |why: &str| Error::BadRequest {
        what: "the backup",
        why: format!("`{}` {why}", file.path),
    };
    let bytes = match fs::read(backup.join(&file.path)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(broken("is gone")),
        Err(error) => return Err(broken(&format!("cannot be read: {error}"))),
    };
    match super::hash(&bytes) == (file.hash, file.size) {
        true => Ok(bytes),
        false => Err(broken("is not what was written")),
    }
}

/// Only into a folder that is not there, or empty: nothing is ever restored over something.
#[expect(clippy::disallowed_methods, reason = "what is empty holds nothing")]
fn clear(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir(folder) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Err(Error::BadRequest {
            what: "restore",
            why: format!("`{}` is not empty", folder.display()),
        }),
        Err(error) => Err(io("clear", folder)(error)),
    }
}
