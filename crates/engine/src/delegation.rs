//! A run as a worker elsewhere is told of it, and whether what it was told is so.
//!
//! A payload says nothing the catalog does not know. It names a run and repeats what its
//! sender knew, so that one that went astray, or is older than what happened since, is
//! refused instead of worked on. What is processed is what the catalog says.

use catalog::{Run, Version};
use model::contract::ProcessRequest;
use model::{RunId, SourceUri, TenantId};

use crate::objects::Key;
use crate::{Engine, Error};

/// The code of the problem a worker without a free slot answers with: whoever is told so
/// knows that there is a worker.
pub const SLOTS_FULL: &str = "slots_full";

/// The code of the problem any server answers with that has more to do than it takes on.
pub const BUSY: &str = "unavailable";

/// As much of a title as a payload carries: it decides nothing, and a message has a limit.
const TITLE: usize = 1000;

/// What a payload meets in the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Met {
    Live,
    Ended,
    /// The run is another one than the payload says, by this field.
    Differs(&'static str),
}

/// What a worker in this process says to a run it is brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    Accepted,
    AlreadyRunning,
    /// All slots are taken.
    Full,
    /// Nobody works here, or not any more.
    NoWorkers,
}

impl Engine {
    /// What a worker is to be told of a run.
    pub async fn payload(&self, tenant: TenantId, run: RunId) -> Result<ProcessRequest, Error> {
        let catalog = &self.parts.catalog;
        let run = catalog.run(tenant, run).await?;
        let version = catalog.version(tenant, run.version).await?;
        Ok(payload(&run, version))
    }

    /// Holds what a worker was told against the catalog. A run of another tenant is unknown.
    pub async fn meet(&self, told: &ProcessRequest) -> Result<Met, Error> {
        let catalog = &self.parts.catalog;
        let run = catalog.run(told.tenant_id, told.run_id).await?;
        let live = run.status.is_live();
        let known = match catalog.version(run.tenant, run.version).await {
            Ok(version) => payload(&run, version),
            // Removed since; what is left of the run says that it has ended.
            Err(catalog::Error::NotFound { .. }) if !live => return Ok(Met::Ended),
            Err(error) => return Err(error.into()),
        };
        Ok(match difference(told, &known) {
            Some(field) => Met::Differs(field),
            None if live => Met::Live,
            None => Met::Ended,
        })
    }
}

fn payload(run: &Run, version: Version) -> ProcessRequest {
    let original = Key::original(run.tenant, &version.content_hash);
    ProcessRequest {
        job_type: run.run_type.as_str().to_owned(),
        run_id: run.id,
        doc_id: run.document,
        tenant_id: run.tenant,
        upload_uri: format!("objects:///{original}"),
        title: version
            .title
            .map(|title| title.chars().take(TITLE).collect()),
        source_type: source_type(&version.source_uri).to_owned(),
        source_uri: version.source_uri,
        original_filename: version.filename,
        content_hash: version.content_hash,
        embedding_model: version.generation.spec.model,
        embedding_dim: version.generation.spec.dimension,
        submitted_at: run.created_at,
    }
}

fn source_type(uri: &SourceUri) -> &'static str {
    match uri.as_str().split("://").next().unwrap_or_default() {
        "upload" => "upload",
        "file" => "folder",
        "s3" => "bucket",
        "http" | "https" => "website",
        _ => "other",
    }
}

/// The first field that says which bytes are meant, or which model, and says it wrongly.
/// Titles and names may have changed since; they decide nothing.
fn difference(told: &ProcessRequest, known: &ProcessRequest) -> Option<&'static str> {
    let same = [
        ("doc_id", told.doc_id == known.doc_id),
        ("content_hash", told.content_hash == known.content_hash),
        (
            "embedding_model",
            told.embedding_model == known.embedding_model,
        ),
        ("embedding_dim", told.embedding_dim == known.embedding_dim),
    ];
    same.into_iter()
        .find(|(_, same)| !same)
        .map(|(field, _)| field)
}
