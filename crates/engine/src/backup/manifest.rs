//! What belongs to a backup.

use std::path::Path;

use chrono::{DateTime, Utc};
use model::ContentHash;
use serde::{Deserialize, Serialize};

use super::counts::Counts;
use crate::Error;

/// Since 2 a backup says how much it is.
pub const FORMAT: u32 = 2;
const OLDEST_FORMAT: u32 = 1;
pub const FILE: &str = "manifest.json";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    /// The release that wrote it.
    pub made_by: String,
    pub made_at: DateTime<Utc>,
    /// `sqlite` or `postgres`.
    pub catalog: String,
    pub files: Vec<Entry>,
    /// What was missing when the backup was made.
    pub missing: Vec<String>,
    /// What the catalog held at that moment; backups made long ago do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
    /// Over everything above.
    pub sum: ContentHash,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// Below the backup's folder, with `/` between parts.
    pub path: String,
    pub size: u64,
    pub hash: ContentHash,
}

impl Manifest {
    pub fn computed_sum(&self) -> ContentHash {
        let mut fields = vec![
            self.format.to_string(),
            self.made_by.clone(),
            self.made_at.timestamp_micros().to_string(),
            self.catalog.clone(),
        ];
        for file in &self.files {
            fields.extend([
                file.path.clone(),
                file.size.to_string(),
                file.hash.to_string(),
            ]);
        }
        fields.extend(self.missing.iter().cloned());
        if let Some(counts) = &self.counts {
            let Counts {
                documents,
                versions,
                answering,
                chunks,
            } = counts;
            fields.extend([documents, versions, answering, chunks].map(u64::to_string));
        }
        ContentHash::of_fields(fields.iter().map(String::as_bytes))
    }

    /// Reads what a backup says of itself; one that was not finished says nothing.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let refused = |why: String| Error::BadRequest {
            what: "the backup",
            why,
        };
        let path = folder.join(FILE);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let why = format!("`{}` is not there: it was never finished", path.display());
                return Err(refused(why));
            }
            Err(error) => return Err(refused(format!("`{}`: {error}", path.display()))),
        };
        let read: Self = serde_json::from_slice(&bytes)
            .map_err(|error| refused(format!("`{FILE}` cannot be read: {error}")))?;
        if !(OLDEST_FORMAT..=FORMAT).contains(&read.format) {
            let why = format!(
                "it has format {}, this release reads {OLDEST_FORMAT} to {FORMAT}",
                read.format
            );
            return Err(refused(why));
        }
        if read.sum != read.computed_sum() {
            return Err(refused(format!("`{FILE}` was changed")));
        }
        if let Some(file) = read.files.iter().find(|file| !is_below(&file.path)) {
            return Err(refused(format!("`{}` lies outside of it", file.path)));
        }
        Ok(read)
    }
}

/// Whether a path stays in its folder.
fn is_below(path: &str) -> bool {
    let parts = Path::new(path).components();
    !path.is_empty()
        && parts
            .into_iter()
            .all(|part| matches!(part, std::path::Component::Normal(_)))
}
