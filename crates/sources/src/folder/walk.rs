//! The walk itself: lazily, one folder's names in memory at a time.

use std::io;
use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};

use super::{Batch, Cursor, Found, IGNORE_FILE, Problem};
use crate::{Error, uri};

/// A walk under way. Keep it between batches; after a restart, make one from the cursor.
pub struct Walk {
    /// Roots not begun yet, the next one last.
    roots: Vec<PathBuf>,
    current: Option<ignore::Walk>,
    cursor: Cursor,
    after: Option<PathBuf>,
}

impl Walk {
    pub(super) fn new(mut roots: Vec<PathBuf>, cursor: Cursor) -> Self {
        roots.reverse();
        Self {
            roots,
            current: None,
            after: cursor.path(),
            cursor,
        }
    }

    /// The next files, at most `max` of them.
    pub fn next_batch(&mut self, max: usize) -> Batch {
        let mut batch = Batch::default();
        while batch.found.len() < max {
            match self.next_entry() {
                Some(Ok(entry)) => self.take(&entry, &mut batch),
                Some(Err(error)) => batch.problems.push(problem(&error)),
                None => {
                    batch.exhausted = true;
                    break;
                }
            }
        }
        batch.cursor = self.cursor.clone();
        batch
    }

    fn next_entry(&mut self) -> Option<Result<DirEntry, ignore::Error>> {
        loop {
            if self.current.is_none() {
                let root = self.roots.pop()?;
                self.current = Some(walker(&root, self.after.clone()).build());
            }
            match self.current.as_mut().and_then(Iterator::next) {
                Some(entry) => return Some(entry),
                None => self.current = None,
            }
        }
    }

    fn take(&mut self, entry: &DirEntry, batch: &mut Batch) {
        let regular = entry.file_type().is_some_and(|kind| kind.is_file());
        if !regular || self.is_behind(entry.path()) {
            return;
        }
        match entry.metadata() {
            Ok(metadata) => {
                self.cursor = Cursor::behind(entry.path());
                batch.found.push(Found {
                    path: entry.path().to_owned(),
                    uri: uri::of_path(entry.path()),
                    size: metadata.len(),
                });
            }
            Err(error) => batch.problems.push(problem(&error)),
        }
    }

    /// Paths compare by component, which is the order of the walk.
    fn is_behind(&self, path: &Path) -> bool {
        self.after.as_deref().is_some_and(|after| path <= after)
    }
}

/// Walks `root`, passing over whole folders that lie behind `after`.
fn walker(root: &Path, after: Option<PathBuf>) -> WalkBuilder {
    let mut builder = rules(root);
    builder.filter_entry(move |entry| {
        let Some(after) = &after else { return true };
        entry.path() > after.as_path() || after.starts_with(entry.path())
    });
    builder
}

fn rules(root: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder
        .standard_filters(false)
        .hidden(true)
        .git_ignore(true)
        .require_git(false)
        .add_custom_ignore_filename(IGNORE_FILE)
        .follow_links(false)
        .sort_by_file_name(Ord::cmp);
    builder
}

/// Looks only into the folders on the way to `path`. A folder that cannot be read hides
/// what it holds: that is no answer, and never "no". Nor is a root that is not there: a disk that
/// was taken away has deleted nothing.
pub(super) fn finds(roots: &[PathBuf], path: &Path) -> Result<bool, Error> {
    let Some(root) = roots.iter().find(|root| path.starts_with(root)) else {
        return Ok(false);
    };
    root.metadata().map_err(|cause| Error::Unreadable {
        path: root.clone(),
        cause,
    })?;
    let target = path.to_owned();
    let mut builder = rules(root);
    builder.filter_entry(move |entry| target.starts_with(entry.path()));
    for entry in builder.build() {
        match entry {
            Ok(entry) if entry.path() == path => {
                return Ok(entry.file_type().is_some_and(|kind| kind.is_file()));
            }
            Ok(_) => {}
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(unreadable(path, error)),
        }
    }
    Ok(false)
}

fn is_missing(error: &ignore::Error) -> bool {
    error
        .io_error()
        .is_some_and(|cause| cause.kind() == io::ErrorKind::NotFound)
}

fn unreadable(path: &Path, error: ignore::Error) -> Error {
    Error::Unreadable {
        path: path_of(&error).unwrap_or_else(|| path.to_owned()),
        cause: error
            .into_io_error()
            .unwrap_or_else(|| io::ErrorKind::Other.into()),
    }
}

fn problem(error: &ignore::Error) -> Problem {
    Problem {
        path: path_of(error),
        message: error.to_string(),
    }
}

fn path_of(error: &ignore::Error) -> Option<PathBuf> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path.clone()),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        _ => None,
    }
}
