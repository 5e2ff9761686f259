//! What can be tuned, and where each value came from.
//!
//! Defaults, then `gristmill.toml`, then the environment, then flags; each later
//! layer wins. A key nobody knows is refused, in the file and in the environment,
//! because a misspelt setting that is silently ignored is worse than none.

mod keys;
mod layers;
mod show;

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use keys::variables;
pub use layers::load;
pub use show::{in_force, show};

use layers::Origins;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub data: PathBuf,
    pub listen: SocketAddr,
    pub runtime: Runtime,
    pub catalog: Catalog,
    pub auth: Auth,
    pub upload: Upload,
    pub http: Http,
    pub embedding: Embedding,
    pub also: Also,
    pub rerank: Rerank,
    pub chunks: Chunks,
    pub workers: Workers,
    pub guard: Guard,
    pub janitor: Janitor,
    pub parse: Parse,
    pub disk: Disk,
    pub log: Log,
    pub otel: Otel,
    /// Where each value came from.
    #[serde(skip)]
    origins: Origins,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data: "gristmill-data".into(),
            listen: SocketAddr::from(([127, 0, 0, 1], 8470)),
            runtime: Runtime::Inline,
            catalog: Catalog::default(),
            auth: Auth::default(),
            upload: Upload::default(),
            http: Http::default(),
            embedding: Embedding::default(),
            also: Also::default(),
            rerank: Rerank::default(),
            chunks: Chunks::default(),
            workers: Workers::default(),
            guard: Guard::default(),
            janitor: Janitor::default(),
            parse: Parse::default(),
            disk: Disk::default(),
            log: Log::default(),
            otel: Otel::default(),
            origins: Origins::new(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Runtime {
    Inline,
    Http,
}

/// A section of plain values with its defaults beside them.
macro_rules! section {
    ($name:ident { $($field:ident : $type:ty = $default:expr),* $(,)? }) => {
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name { $(pub $field: $type),* }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default),* }
            }
        }
    };
}

section!(Catalog {
    url: String = String::new(),
    connections: u32 = 16,
});
section!(Auth {
    enabled: bool = true,
    jwt_secret: String = String::new(),
    jwt_old_secrets: String = String::new(),
    token_hours: u32 = 24,
    admin_login: String = "admin".to_owned(),
    admin_password: String = String::new(),
    internal_token: String = String::new(),
});
section!(Upload { max_mb: u64 = 50 });
section!(Http {
    timeout_seconds: u64 = 60,
    concurrency: usize = 512,
    streams_per_tenant: usize = 100,
    idle_seconds: u64 = 60,
    public_url: String = String::new(),
});
section!(Embedding {
    provider: String = "local".to_owned(),
    path: String = String::new(),
    url: String = String::new(),
    model: String = String::new(),
    revision: String = String::new(),
    dimension: u32 = 0,
    max_tokens: u32 = 0,
    max_batch_items: usize = 128,
    timeout_seconds: u64 = 60,
    query_prefix: String = String::new(),
    passage_prefix: String = String::new(),
    precision: providers::Precision = providers::Precision::Full,
    api_key: String = String::new(),
});
section!(Also {
    provider: String = String::new(),
    path: String = String::new(),
    url: String = String::new(),
    model: String = String::new(),
    revision: String = String::new(),
    dimension: u32 = 0,
    max_tokens: u32 = 0,
    max_batch_items: usize = 128,
    timeout_seconds: u64 = 60,
    query_prefix: String = String::new(),
    passage_prefix: String = String::new(),
    precision: providers::Precision = providers::Precision::Full,
    api_key: String = String::new(),
});

impl From<Also> for Embedding {
    fn from(also: Also) -> Self {
        Self {
            provider: also.provider,
            path: also.path,
            url: also.url,
            model: also.model,
            revision: also.revision,
            dimension: also.dimension,
            max_tokens: also.max_tokens,
            max_batch_items: also.max_batch_items,
            timeout_seconds: also.timeout_seconds,
            query_prefix: also.query_prefix,
            passage_prefix: also.passage_prefix,
            precision: also.precision,
            api_key: also.api_key,
        }
    }
}

section!(Rerank {
    url: String = String::new(),
    model: String = String::new(),
    api_key: String = String::new(),
    candidates: usize = 50,
    deadline_ms: u64 = 2000,
});
section!(Chunks {
    strategy: model::Strategy = model::Strategy::Structural,
});
section!(Workers {
    parse_slots: usize = 3,
    run_slots: usize = 3,
    url: String = String::new(),
});
section!(Guard {
    every_seconds: u64 = 60,
    queued_hours: u64 = 1,
    running_minutes: u64 = 15,
});
section!(Janitor {
    every_minutes: u64 = 60,
    orphans_hours: u64 = 24,
    failed_uploads_days: u64 = 7,
    events_days: u64 = 7,
});
section!(Parse {
    timeout_seconds: u64 = 120,
    memory_mb: u64 = 1024,
    ocr: bool = true,
    ocr_languages: String = "eng".to_owned(),
    office: bool = true,
    pages_ahead: u32 = 4,
});
section!(Disk {
    reserve_mb: u64 = 256
});
section!(Otel {
    endpoint: String = String::new(),
    service_name: String = "gristmill".to_owned(),
});
section!(Log {
    format: LogFormat = LogFormat::Text
});

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    Text,
    Json,
}

#[cfg(test)]
mod tests;
