//! Roots as text: a path as it is, or its `file://` URI where it is not UTF-8.
//!
//! A root is absolute, so one that begins with `file://` cannot be a path.

use std::path::{Path, PathBuf};

use model::SourceUri;
use serde::{Deserialize as _, Deserializer, Serializer, de};

use crate::uri;

pub fn written(root: &Path) -> String {
    match root.to_str() {
        Some(path) => path.to_owned(),
        None => uri::of_path(root).to_string(),
    }
}

fn read<E: de::Error>(text: String) -> Result<PathBuf, E> {
    if !text.starts_with("file://") {
        return Ok(text.into());
    }
    let uri = SourceUri::new(text).map_err(E::custom)?;
    uri::to_path(&uri).map_err(E::custom)
}

pub fn serialize<S: Serializer>(roots: &[PathBuf], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(roots.iter().map(|root| written(root)))
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    texts.into_iter().map(read).collect()
}
