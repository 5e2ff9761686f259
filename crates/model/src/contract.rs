//! What other systems send us, what a batcher sends on, and what a worker is asked to do,
//! field for field.
//!
//! Their JSON Schemas are kept under `docs/contracts/`; `tests/contracts.rs` holds them
//! against these types.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ContentHash, DocumentId, ModelName, RunId, SourceUri, TenantId};

/// An object has arrived in a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UploadNotification {
    pub tenant_id: String,
    pub index_id: String,
    pub bucket: String,
    pub key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    pub size_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The embedding model that drives batch sizes.
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    pub created_at: DateTime<Utc>,
}

impl UploadNotification {
    /// `sha256(tenantId|bucket|key|versionId|etag)`: one object version, whoever reports it.
    pub fn external_key(&self) -> crate::ContentHash {
        let joined = [
            self.tenant_id.as_str(),
            &self.bucket,
            &self.key,
            self.version_id.as_deref().unwrap_or(""),
            self.etag.as_deref().unwrap_or(""),
        ]
        .join("|");
        crate::ContentHash::of(joined.as_bytes())
    }
}

/// One chunk on its way to a batcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChunkEnvelope {
    pub doc_id: String,
    pub chunk_id: String,
    /// Counts up from 0 within a document.
    pub seq: u64,
    pub text: String,
    pub byte_range: (u64, u64),
    pub token_count: u32,
    pub metadata: ChunkMetadata,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChunkMetadata {
    pub tenant_id: String,
    pub index_id: String,
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
}

/// One embedding call's worth of chunks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchRequest {
    /// Derives from the chunks; no clock in it.
    pub batch_id: String,
    pub tenant_id: String,
    pub index_id: String,
    pub model: String,
    pub inputs: Vec<BatchInput>,
    pub tokens_total: u64,
    pub created_at: DateTime<Utc>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchInput {
    pub doc_id: String,
    pub chunk_id: String,
    pub seq: u64,
    pub text: String,
}

/// One run a worker is asked to process: the same over HTTP and over a queue.
///
/// It names the run and repeats what its sender knew of it. A worker believes the catalog:
/// where the two disagree the message is old or went astray, and is refused. Nothing in it
/// is ever fetched, so a worker needs no credentials of any source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessRequest {
    /// Why the run exists: `upload`, `sync`, `reindex` or `repair`.
    pub job_type: String,
    pub run_id: RunId,
    pub doc_id: DocumentId,
    pub tenant_id: TenantId,
    /// Where the original lies among the objects sender and worker share.
    pub upload_uri: String,
    #[serde(default)]
    pub title: Option<String>,
    /// What kind of source brought it: `upload`, `folder`, `bucket`, `website` or `other`.
    pub source_type: String,
    pub source_uri: SourceUri,
    pub original_filename: String,
    pub content_hash: ContentHash,
    pub embedding_model: ModelName,
    #[schemars(range(min = 1, max = 65536))]
    pub embedding_dim: u32,
    pub submitted_at: DateTime<Utc>,
}
