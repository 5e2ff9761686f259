//! A question becomes one vector, however long it is.

use std::sync::Arc;

use futures::future::try_join_all;
use pipeline::query::{blend, parts};
use providers::{Embedder, Kind};

use crate::Error;

/// What a question means to a model.
pub(crate) struct Meaning {
    pub vector: Vec<f32>,
    /// In how many parts it was read: more than one where the model reads less than all of it.
    pub parts: usize,
}

pub(crate) async fn meaning(embedder: &dyn Embedder, query: &str) -> Result<Meaning, Error> {
    let parts = parts(query, embedder.info().max_query_tokens, &*embedder.tokens());
    let asking = parts.iter().map(|part| embedder.embed_query(&part.text));
    let mut vectors = try_join_all(asking).await.map_err(Arc::new)?;
    let vector = match vectors.len() {
        1 => vectors.remove(0),
        _ => blend(&parts, &vectors),
    };
    Ok(Meaning {
        vector,
        parts: parts.len(),
    })
}

impl Error {
    /// Why the model does not answer, whatever it is asked or just this; `None` where the question
    /// is no question to any model, or something else is at fault. The words of the service are
    /// left out: they may quote the question or a key.
    pub fn model_is_silent(&self) -> Option<&'static str> {
        let Self::Embedding(error) = self else {
            return None;
        };
        if let providers::Error::CircuitOpen { .. } = **error {
            return Some("the embedding service kept failing and is left alone for a while");
        }
        if let providers::Error::InputRefused { .. } = **error {
            return Some("the embedding service refuses this question");
        }
        match error.kind() {
            Kind::Throttled { .. } => Some("the embedding service asked us to slow down"),
            Kind::Transient { .. } => Some("the embedding service does not answer"),
            Kind::Quota => Some("the account of the embedding service has nothing left to spend"),
            Kind::Misconfigured => Some(
                "the embedding service refuses to answer; check embedding.api_key, embedding.url \
                 and embedding.model",
            ),
            Kind::Input { .. } => None,
        }
    }
}
