//! Files under some roots, in one order, in batches that can be resumed.
//!
//! In: paths as a person gave them. Out: regular files, depth first, siblings by
//! the bytes of their names, so two walks of an unchanged folder are equal and a
//! cursor says exactly what lies behind it. `.gitignore` and `.gristmillignore`
//! inside a root are honoured; nothing outside it (a global ignore file, a parent's)
//! changes what is found. Hidden files are left out, links are not followed. A root
//! that is itself a file is always found: somebody asked for it by name.

mod open;
pub mod roots;
mod walk;

use std::path::{Path, PathBuf};

use model::SourceUri;
use serde::{Deserialize, Serialize};

pub use open::{Opened, open, open_below};
pub use walk::Walk;

use crate::{Error, uri};

/// The name of our own ignore file; its rules are written like `.gitignore`'s and win over them.
pub const IGNORE_FILE: &str = ".gristmillignore";

/// Roots to walk: real paths, sorted, none inside another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folder {
    #[serde(with = "roots")]
    roots: Vec<PathBuf>,
}

/// How far a walk has come: everything up to and including this file lies behind it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    after: Option<SourceUri>,
}

/// A file as the walk met it. What it holds is read through [`open`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub path: PathBuf,
    pub uri: SourceUri,
    pub size: u64,
}

/// Something that could not be looked at; the walk went on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub path: Option<PathBuf>,
    pub message: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    pub found: Vec<Found>,
    pub problems: Vec<Problem>,
    /// Where the next batch begins; store it in the transaction that takes this one.
    pub cursor: Cursor,
    pub exhausted: bool,
}

impl Folder {
    /// Resolves links and `..` in the roots, so that one file has one identity.
    pub fn new(roots: &[PathBuf]) -> Result<Self, Error> {
        let mut real = roots
            .iter()
            .map(|root| resolve(root))
            .collect::<Result<Vec<_>, _>>()?;
        real.sort();
        // Sorted, a folder stands before all it holds.
        real.dedup_by(|inner, outer| inner.starts_with(&*outer));
        Ok(Self { roots: real })
    }

    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    pub fn walk(&self, from: Cursor) -> Walk {
        Walk::new(self.roots.clone(), from)
    }

    /// Whether a walk would find this file now: it is there and no rule hides it. An error
    /// when that cannot be told.
    pub fn contains(&self, uri: &SourceUri) -> Result<bool, Error> {
        let path = uri::to_path(uri)?;
        walk::finds(&self.roots, &path)
    }

    /// Whether the file would belong here if it existed.
    pub fn covers(&self, uri: &SourceUri) -> bool {
        uri::to_path(uri).is_ok_and(|path| self.roots.iter().any(|root| path.starts_with(root)))
    }
}

impl Cursor {
    fn behind(path: &Path) -> Self {
        Self {
            after: Some(uri::of_path(path)),
        }
    }

    fn path(&self) -> Option<PathBuf> {
        let path = self.after.as_ref().map(uri::to_path);
        path.and_then(Result::ok)
    }
}

fn resolve(root: &Path) -> Result<PathBuf, Error> {
    let unreadable = |cause| Error::Unreadable {
        path: root.to_owned(),
        cause,
    };
    let real = root.canonicalize().map_err(unreadable)?;
    let kind = real.metadata().map_err(unreadable)?;
    if kind.is_dir() || kind.is_file() {
        Ok(real)
    } else {
        Err(Error::NotAFile { path: real })
    }
}

#[cfg(test)]
mod tests;
