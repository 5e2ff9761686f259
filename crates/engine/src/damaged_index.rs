//! Indexes that were set aside as damaged hold the text of documents still: a purge takes them
//! along.

use std::path::Path;

use crate::backup::io;
use crate::{Engine, Error};

/// What follows the name of the index in the name of one that was set aside.
pub const DAMAGED: &str = ".damaged-";

impl Engine {
    pub(crate) async fn drop_damaged_indexes(&self) -> Result<(), Error> {
        let Some(local) = self.settings.local.clone() else {
            return Ok(());
        };
        let dropped = tokio::task::spawn_blocking(move || drop_beside(&local.index));
        dropped.await.map_err(|_| Error::StageStopped)?
    }
}

fn drop_beside(index: &Path) -> Result<(), Error> {
    let (Some(folder), Some(name)) = (index.parent(), index.file_name()) else {
        return Ok(());
    };
    let begins = format!("{}{DAMAGED}", name.to_string_lossy());
    for entry in std::fs::read_dir(folder).map_err(io("list", folder))? {
        let entry = entry.map_err(io("list", folder))?;
        if entry.file_name().to_string_lossy().starts_with(&begins) {
            drop_one(&entry.path())?;
        }
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where it becomes an effect"
)]
fn drop_one(path: &Path) -> Result<(), Error> {
    let dropped = durable::effect_blocking("index.drop_damaged", || std::fs::remove_dir_all(path));
    dropped.map_err(io("delete", path))?;
    tracing::info!(path = %path.display(), "took away an index that was set aside: it holds what is purged");
    Ok(())
}
