//! A question becomes one vector, however long it is.

use std::sync::Arc;

use futures::future::try_join_all;
use pipeline::query::{blend, parts};
use providers::Embedder;

use crate::Error;

/// What a question means to a model.
pub(crate) struct Meaning {
    pub vector: Vec<f32>,
    /// In how many parts it was read: more than one where the model reads less than all of it.
    pub parts: usize,
}

pub(crate) async fn meaning(embedder: &dyn Embedder, query: &str) -> Result<Meaning, Error> {
    let parts = parts(query, embedder.info().max_tokens, &*embedder.tokens());
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
