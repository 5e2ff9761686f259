//! Which data folder this is, wherever it lies: a catalog in a database of its own belongs to
//! one of them, and opened from another would tell of an index and objects that are not there.

use std::fs;
use std::io::ErrorKind;

use anyhow::Context as _;
use catalog::{Bound, Catalog, DataFolder};
use uuid::Uuid;

use crate::explain::{Hinted, hinted};
use crate::folder::Folder;

pub const FILE: &str = "identity";

/// Binds the catalog to the folder, or refuses what belongs to another.
pub async fn bind(folder: &Folder, catalog: &dyn Catalog) -> anyhow::Result<()> {
    let here = DataFolder {
        id: ensure(folder)?,
        place: folder.path().display().to_string(),
    };
    match catalog.bind(here.clone(), chrono::Utc::now()).await? {
        Bound::Here => Ok(()),
        Bound::Elsewhere(other) => Err(refused(&here, &other)),
    }
}

fn refused(here: &DataFolder, other: &DataFolder) -> anyhow::Error {
    hinted(
        format!(
            "the catalog belongs to the data folder `{}` ({}), and `{}` is another ({})",
            other.place, other.id, here.place, here.id
        ),
        format!(
            "open that one (--data), or give this one a database or schema of its own \
             (catalog.url, `…?options[search_path]=SCHEMA`); if it is that folder and only lost \
             its `{FILE}`, write {} there",
            other.id
        ),
    )
}

/// Made once, durable before any catalog knows it.
fn ensure(folder: &Folder) -> anyhow::Result<Uuid> {
    let path = folder.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) => text.trim().parse().with_context(|| {
            // The catalog remembers it, and is asked when the folder has another.
            Hinted::new(
                format!("`{}` does not hold an id", path.display()),
                "put the file back from a backup of the folder, or remove it: the next command \
                 says which id belongs there",
            )
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let id = Uuid::now_v7();
            let written = durable::effect_blocking("app.write_identity", || {
                folder.write_whole(FILE, &id.to_string())
            });
            written.map(|()| id)
        }
        Err(error) => Err(error).with_context(|| format!("cannot read `{}`", path.display())),
    }
}
