//! Which embedder, and what may be tuned about it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// `provider` chooses the variant; there is no default provider to fall back to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "provider", rename_all = "snake_case")]
pub enum Settings {
    Local(LocalSettings),
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
}

impl LocalSettings {
    pub fn of(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            threads: None,
        }
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
