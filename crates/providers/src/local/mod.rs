//! A BERT sentence-embedding model, run in this process.
//!
//! In: a sentence-transformers folder. Out: unit vectors equal to the reference's.
//! Inputs of any length share a group without padding: the tokens of a group are
//! one tall matrix, and only attention looks at each input by itself. Groups run
//! on threads of their own, one each, and queries go before passages.

mod bert;
mod fingerprint;
mod folder;
mod lanes;
mod linear;
mod load;
mod pooling;
mod weights;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use model::{ModelName, TokenCounter};

use crate::tokenize::{self, Tokenizer};
use crate::{Embedder, Error, LocalSettings, ModelInfo, Precision};
use fingerprint::fingerprint;
use folder::Folder;
use lanes::{Lanes, Urgency};

/// What a lane works on at once; more gains no speed and costs memory.
const GROUP_TOKENS: usize = 512;

pub struct LocalEmbedder {
    info: ModelInfo,
    tokenizer: Arc<Tokenizer>,
    prefixes: folder::Prefixes,
    /// Of a whole input, special tokens included.
    max_length: usize,
    lanes: Lanes,
}

impl LocalEmbedder {
    pub fn open(settings: &LocalSettings) -> Result<Self, Error> {
        let folder = Folder::read(&settings.folder)?;
        let words = folder.bytes("tokenizer.json")?;
        let weights = folder.bytes("model.safetensors")?;
        let tokenizer = Tokenizer::read(&folder.file("tokenizer.json"), &words)?;
        let tokenizer = tokenizer.lowering(folder.lower_case);
        let precision = settings.precision;
        let bert = load::load(&folder, &weights, tokenizer.vocabulary(), precision)?;
        let fingerprint = fingerprint(&folder, &words, &weights);
        let name = name(&folder.path, precision, &fingerprint);
        let threads = settings.threads.unwrap_or_else(all_cores).max(1);
        Ok(Self {
            info: info(&folder, &tokenizer, name)?,
            tokenizer: Arc::new(tokenizer),
            prefixes: folder.prefixes,
            max_length: folder.max_length,
            lanes: Lanes::start(Arc::new(bert), threads),
        })
    }

    /// `limit` is what is left of the model's length beside the prefix.
    fn encode(
        &self,
        index: usize,
        (prefix, limit): (&str, u32),
        text: &str,
    ) -> Result<Vec<u32>, Error> {
        let ids = if prefix.is_empty() {
            self.tokenizer.encode(text)
        } else {
            self.tokenizer.encode(&format!("{prefix}{text}"))
        };
        if ids.len() <= self.max_length {
            return Ok(ids);
        }
        let limit = limit as usize;
        let around = self.max_length - limit;
        Err(Error::TooLong {
            index,
            tokens: ids.len() - around,
            limit,
        })
    }
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn tokens(&self) -> Arc<dyn TokenCounter> {
        tokenize::counter(&self.tokenizer)
    }

    async fn embed_passages(&self, inputs: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        let before = (self.prefixes.passage.as_str(), self.info.max_tokens);
        let encode = |(index, text): (usize, &String)| self.encode(index, before, text);
        let encoded: Result<_, _> = inputs.iter().enumerate().map(encode).collect();
        self.lanes.embed(encoded?, Urgency::Passage).await
    }

    async fn embed_query(&self, query: &str) -> Result<Vec<f32>, Error> {
        let before = (self.prefixes.query.as_str(), self.info.max_query_tokens);
        let encoded = self.encode(0, before, query)?;
        let mut vectors = self.lanes.embed(vec![encoded], Urgency::Query).await?;
        Ok(vectors.remove(0))
    }

    /// No lane waits for the last group of one call before it begins the next.
    fn takes_ahead(&self) -> bool {
        true
    }
}

fn info(folder: &Folder, tokenizer: &Tokenizer, name: ModelName) -> Result<ModelInfo, Error> {
    let reads = folder.max_length.checked_sub(tokenizer.special_tokens());
    let beside = |prefix: &str| {
        let room = reads.and_then(|reads| reads.checked_sub(tokenizer.count(prefix)));
        let room = room.filter(|room| *room > 0);
        room.ok_or_else(|| folder.malformed("config.json", "no room for text"))
    };
    let (passage, query) = (&folder.prefixes.passage, &folder.prefixes.query);
    Ok(ModelInfo {
        name,
        dimension: folder.config.hidden_size as u32,
        reads: beside("")? as u32,
        max_tokens: beside(passage)? as u32,
        max_query_tokens: beside(query)? as u32,
        max_batch_items: 128,
        max_batch_tokens: 32 * 1024,
        language_note: "all-MiniLM-L6-v2 and most models of its size were made for English; \
                        for other languages name the folder of a BERT with WordPiece made for \
                        them, or an endpoint that serves another model",
    })
}

/// Vectors of another precision or content are another model's: they never meet in one
/// generation, whatever the folder is called.
fn name(folder: &Path, precision: Precision, fingerprint: &str) -> ModelName {
    let name = folder.file_name().unwrap_or(folder.as_os_str());
    let precision = match precision {
        Precision::Full => "",
        Precision::EightBit => "-eight-bit",
    };
    let name = format!("{}{precision}@{fingerprint}", name.to_string_lossy());
    ModelName::new("local", &name)
}

fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
