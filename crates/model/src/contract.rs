//! What other systems send us and what a batcher sends on, field for field.
//!
//! Their JSON Schemas are kept under `docs/contracts/` and checked against these types.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
