//! Objects a bucket told us of, taken in or removed.
//!
//! Whatever an event says, the bucket itself is looked at: an event that comes twice,
//! late or out of order ends in the same state. Here a local folder stands for the bucket.

use std::path::PathBuf;

use catalog::{Admitted, Deactivated, Kb, Removal, RunType, Source};
use parse::Hints;
use serde::{Deserialize, Serialize};
use sources::{Change, ObjectEvent, folder};
use tokio_util::io::ReaderStream;

use crate::intake::{Identity, Intake, StageError};
use crate::{Engine, Error};

/// What a bucket source keeps in its configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketSource {
    pub bucket: String,
    /// The folder that stands for it.
    pub folder: PathBuf,
    /// Only keys that begin so.
    #[serde(default)]
    pub prefix: String,
    /// Networks whose events need no signature.
    #[serde(default)]
    pub allow_from: Vec<String>,
    /// Put on every document of the source.
    #[serde(default)]
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

/// What became of an object.
#[derive(Debug, Clone)]
pub enum Taken {
    Admitted(Admitted),
    Removed(Deactivated),
    /// The bucket has no such object, and we never had a document of it.
    Unknown,
    /// The object itself is at fault; the message is for people.
    Refused(String),
}

/// Of an event that is being worked on.
pub struct Told<'a> {
    pub kb: &'a Kb,
    pub source: &'a Source,
    pub bucket: &'a BucketSource,
    pub event: &'a ObjectEvent,
    /// W3C trace context.
    pub trace: Option<String>,
}

const PIECE: usize = 256 * 1024;

impl BucketSource {
    /// As it stands in a source's configuration.
    pub fn of(source: &Source) -> Option<Self> {
        let bucket = source.kind == "bucket";
        bucket.then(|| serde_json::from_value(source.config.clone()).ok())?
    }

    pub fn holds(&self, event: &ObjectEvent) -> bool {
        self.bucket == event.bucket && event.key.starts_with(&self.prefix)
    }
}

impl Engine {
    pub async fn take_object(&self, told: Told<'_>) -> Result<Taken, Error> {
        match told.event.change {
            Change::Created => self.object_created(told).await,
            Change::Removed => self.object_removed(told).await,
        }
    }

    async fn object_created(&self, told: Told<'_>) -> Result<Taken, Error> {
        let (root, key) = (told.bucket.folder.clone(), told.event.key.clone());
        let opened = crate::jobs::blocking(move || folder::open_below(&root, &key)).await?;
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) if error.is_missing() => return self.object_removed(told).await,
            Err(error @ (sources::Error::Unreadable { .. } | sources::Error::NoBucket { .. })) => {
                return Err(error.into());
            }
            Err(error) => return Ok(Taken::Refused(Error::from(error).explain())),
        };
        let body = ReaderStream::with_capacity(tokio::fs::File::from_std(opened.file), PIECE);
        let staged = match self.stage(body, self.settings.file_limit).await {
            Ok(staged) => staged,
            Err(StageError::Engine(error)) => return Err(error),
            Err(StageError::TooLarge { limit }) => {
                let why = format!("the object is larger than the limit of {limit} bytes");
                return Ok(Taken::Refused(why));
            }
            Err(StageError::Body(cause)) => {
                let path = told.bucket.folder.join(&told.event.key);
                return Err(sources::Error::Unreadable { path, cause }.into());
            }
        };
        let intake = self.object_intake(&told);
        let hints = Hints {
            filename: Some(intake.filename.clone()),
            media_type: intake.claimed_type.clone(),
        };
        if let Err(error) = staged.format(&hints) {
            return Ok(Taken::Refused(error.to_string()));
        }
        let admitted = self.admit(told.kb, intake, staged).await?;
        Ok(Taken::Admitted(admitted))
    }

    fn object_intake(&self, told: &Told<'_>) -> Intake {
        let event = told.event;
        let mut metadata = told.bucket.metadata.clone();
        let mut note = |name: &str, value: &Option<String>| {
            if let Some(value) = value {
                metadata.insert(name.to_owned(), value.as_str().into());
            }
        };
        note("etag", &event.etag);
        note("version_id", &event.version_id);
        let filename = event.key.rsplit('/').next().unwrap_or_default();
        Intake {
            tenant: told.source.tenant,
            identity: Identity::Uri(event.source_uri()),
            promised: None,
            filename: filename.to_owned(),
            title: None,
            claimed_type: event.content_type.clone(),
            metadata,
            order: event.order(self.parts.clock.now()),
            run_type: RunType::Sync,
            job: None,
            source: Some(told.source.id),
            initiated_by: None,
            trace: told.trace.clone(),
        }
    }

    async fn object_removed(&self, told: Told<'_>) -> Result<Taken, Error> {
        let (catalog, now) = (&self.parts.catalog, self.parts.clock.now());
        let (tenant, uri) = (told.source.tenant, told.event.source_uri());
        let known = catalog.document_by_uri(tenant, told.kb.id, &uri).await?;
        let Some(document) = known else {
            return Ok(Taken::Unknown);
        };
        let removal = Removal {
            order: Some(told.event.order(now)),
            by: None,
        };
        let removed = catalog.deactivate(tenant, document.id, removal, now);
        Ok(Taken::Removed(removed.await?))
    }
}
