//! Which model, and what may be tuned about it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};

use crate::remote::Retry;

/// `provider` chooses the variant; there is no default provider to fall back to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "provider", rename_all = "snake_case")]
pub enum Settings {
    Local(LocalSettings),
    #[serde(rename = "openai")]
    OpenAi(OpenAiSettings),
    Hash(HashSettings),
}

/// A sentence-transformers folder run in this process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalSettings {
    /// The folder with `config.json`, `tokenizer.json` and `model.safetensors`.
    pub folder: PathBuf,
    /// Threads that embed; all cores when absent.
    #[serde(default)]
    pub threads: Option<usize>,
    #[serde(default)]
    pub precision: Precision,
}

/// How the local model multiplies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    #[default]
    Full,
    /// Faster, with vectors that differ a little, under a model name of their own.
    EightBit,
}

impl LocalSettings {
    pub fn of(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            threads: None,
            precision: Precision::default(),
        }
    }
}

/// An OpenAI-compatible endpoint: OpenAI, Ollama, vLLM, TEI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenAiSettings {
    /// Up to and without `/embeddings`, such as `http://localhost:11434/v1`.
    pub url: String,
    pub model: String,
    /// Tells apart models that are asked for by one name and have different weights.
    #[serde(default)]
    pub revision: String,
    #[serde(default)]
    pub key: Option<Secret>,
    /// Needed for a model that is not OpenAI's own.
    #[serde(default)]
    pub dimension: Option<u32>,
    /// Of one input with its prefix; 512 where neither this nor the model's name tells.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    #[serde(default = "batch_items")]
    pub max_batch_items: usize,
    /// Put before every query and every passage, for models trained with them.
    #[serde(default)]
    pub query_prefix: String,
    #[serde(default)]
    pub passage_prefix: String,
    /// Of one request.
    #[serde(default = "minute")]
    pub timeout: Duration,
    /// Of a question, with all its requests: somebody waits for the answer.
    #[serde(default = "while_asked")]
    pub query_timeout: Duration,
    #[serde(skip)]
    pub retry: Retry,
}

fn batch_items() -> usize {
    128
}

fn minute() -> Duration {
    Duration::from_secs(60)
}

fn while_asked() -> Duration {
    Duration::from_secs(10)
}

impl OpenAiSettings {
    pub fn of(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            revision: String::new(),
            key: None,
            dimension: None,
            max_tokens: None,
            max_batch_items: batch_items(),
            query_prefix: String::new(),
            passage_prefix: String::new(),
            timeout: minute(),
            query_timeout: while_asked(),
            retry: Retry::default(),
        }
    }
}

/// An endpoint that reranks in Cohere's format: Cohere, vLLM and others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CohereSettings {
    /// Up to and without `/rerank`, such as `https://api.cohere.com/v2`.
    pub url: String,
    pub model: String,
    #[serde(default)]
    pub key: Option<Secret>,
    /// Of one call, whatever it is doing by then.
    #[serde(default = "two_seconds")]
    pub deadline: Duration,
    #[serde(skip, default = "impatient")]
    pub retry: Retry,
}

fn two_seconds() -> Duration {
    Duration::from_secs(2)
}

/// Somebody waits for the search: what passes at once is tried once more.
fn impatient() -> Retry {
    Retry {
        attempts: 2,
        first_wait: Duration::from_millis(100),
        patience: Duration::from_millis(500),
    }
}

impl CohereSettings {
    pub fn of(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            key: None,
            deadline: two_seconds(),
            retry: impatient(),
        }
    }
}

/// Shown to nobody, written nowhere.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("***")
    }
}

/// The deterministic embedder for tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HashSettings {
    pub dimension: u32,
    pub max_tokens: u32,
}

impl Default for HashSettings {
    fn default() -> Self {
        Self {
            dimension: 256,
            max_tokens: 254,
        }
    }
}
