//! An index whose files are not what was written: named by `verify`, set aside by `repair`, which
//! then makes it again from the originals.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use web::problem::INDEX_DAMAGED;

use crate::config::Config;
use crate::explain::{self, hinted};
use crate::folder::{Claimed, Folder, INDEX};

/// What is wrong with the files of the index, where that is why something failed.
pub fn told_by(error: &anyhow::Error) -> Option<String> {
    let causes = &mut error.chain();
    let index = causes.find_map(|cause| cause.downcast_ref::<index::Error>());
    match index.filter(|error| error.is_damage()) {
        Some(error) => Some(error.to_string()),
        None => (explain::code(error) == Some(INDEX_DAMAGED)).then(|| error.to_string()),
    }
}

/// As `verify` tells it. Nothing can be held against an index that cannot be read, so this is the
/// one thing there is to say.
pub fn verified(what: &str) -> Value {
    json!({
        "digest": null, "documents": null, "chunks": null,
        "disagreements": [{ "source_uri": null, "document_id": null, "what": what }],
        "leftovers": [], "tenants": [], "work": null,
    })
}

/// Says where to.
pub fn set_aside(config: &Config, what: &str) -> anyhow::Result<PathBuf> {
    let folder = Folder::create(&config.data)?;
    match folder.claim()? {
        Claimed::Ours(lock) => folder.set_aside(INDEX, &lock),
        Claimed::Theirs(_) => Err(hinted(
            what,
            "stop the server that holds the data folder, run `gristmill repair`, and start it again",
        )),
    }
}

/// As `repair` tells it.
pub fn outcome(what: &str, aside: &Path) -> Value {
    json!({
        "source_uri": null, "document_id": null, "what": what, "mended": true,
        "done": format!(
            "set aside in `{}`, which holds text of your documents until you delete it, or purge \
             one; the index was made again",
            aside.display()
        ),
    })
}
