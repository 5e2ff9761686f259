//! What the embedding model is given of a chunk.

use model::Chunk;

/// The exact text to embed; reuse of an embedding is keyed by its hash.
pub fn embedder_input(chunk: &Chunk, _title: Option<&str>) -> String {
    chunk.text.clone()
}
