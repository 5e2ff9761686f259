//! Models behind one trait for each thing they do.
//!
//! In: settings that name a provider. Out: an [`Embedder`] that turns text into
//! unit-length vectors. Three exist: `local` runs a sentence-embedding model in
//! this process, `openai` speaks to any OpenAI-compatible endpoint, `hash` is
//! deterministic and for tests. Which one is used is always what the settings
//! name: a model that cannot be opened is an error, never another model. No text
//! is cut to fit: an input too long is an error that says which, or, where only a
//! service could tell, embedded by the mean of its parts.
//!
//! A [`Reranker`] says how well passages answer a query; `cohere` speaks to any
//! endpoint that does so over Cohere's second version.

mod error;
mod settings;

pub mod tokenize;

pub mod local;

pub mod cohere;
mod estimate;
pub mod openai;
pub mod remote;

mod hash;

use std::sync::Arc;

use async_trait::async_trait;
use model::{ChunkPolicy, ModelName, TokenCounter};

pub use cohere::CohereReranker;
pub use error::{Error, Kind};
pub use hash::HashEmbedder;
pub use local::LocalEmbedder;
pub use openai::OpenAiEmbedder;
pub use settings::{
    CohereSettings, HashSettings, LocalSettings, OpenAiSettings, Precision, Secret, Settings,
};

/// What an embedder is, and what it takes in one call.
#[derive(Debug, Clone)]
pub struct ModelInfo {
    pub name: ModelName,
    pub dimension: u32,
    /// Of one input, its prefix included; special tokens are taken off.
    pub reads: u32,
    /// Of one passage, its prefix taken off.
    pub max_tokens: u32,
    /// Of one query, its prefix taken off.
    pub max_query_tokens: u32,
    pub max_batch_items: usize,
    pub max_batch_tokens: usize,
    /// For whoever chooses a model: the languages it was made for.
    pub language_note: &'static str,
}

impl ModelInfo {
    /// The chunks that suit it, unless somebody says otherwise.
    pub fn policy(&self) -> ChunkPolicy {
        ChunkPolicy::for_model(self.reads, self.max_tokens)
    }
}

/// Turns text into vectors of unit length.
#[async_trait]
pub trait Embedder: Send + Sync {
    fn info(&self) -> &ModelInfo;

    /// Counts as this model does, so what fits by it is accepted.
    fn tokens(&self) -> Arc<dyn TokenCounter>;

    /// One vector per input, in the order of the inputs; all of them or an error.
    async fn embed_passages(&self, inputs: &[String]) -> Result<Vec<Vec<f32>>, Error>;

    async fn embed_query(&self, query: &str) -> Result<Vec<f32>, Error>;

    /// Whether a batch may be handed over while another is under way, to be begun where that
    /// leaves room. Not so with a service, which would be asked for more than it is set to.
    fn takes_ahead(&self) -> bool {
        false
    }

    /// Texts so far that were longer than the model reads, and are embedded by the mean of their
    /// parts.
    fn divided(&self) -> u64 {
        0
    }
}

/// Says how well each passage answers a query.
#[async_trait]
pub trait Reranker: Send + Sync {
    fn model(&self) -> &str;

    /// One finite score per passage, in the order of the passages, the higher the better; all
    /// of them or an error. Takes no longer than its settings allow: a search waits for it.
    async fn rerank(&self, query: &str, passages: &[String]) -> Result<Vec<f64>, Error>;
}

/// Opens the embedder the settings name.
pub fn open(settings: &Settings) -> Result<Arc<dyn Embedder>, Error> {
    Ok(match settings {
        Settings::Local(local) => Arc::new(LocalEmbedder::open(local)?),
        Settings::OpenAi(openai) => Arc::new(OpenAiEmbedder::open(openai)?),
        Settings::Hash(hash) => Arc::new(HashEmbedder::new(hash)),
    })
}
