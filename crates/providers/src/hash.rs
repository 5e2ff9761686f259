//! A deterministic embedder for tests: words hashed to signed features.
//!
//! Texts that share words are near each other, so search has something to find;
//! meaning is not understood. It is used only when the settings name it.

use std::sync::Arc;

use async_trait::async_trait;
use model::{ModelName, TokenCounter};

use crate::{Embedder, Error, HashSettings, ModelInfo};

pub struct HashEmbedder {
    info: ModelInfo,
}

impl HashEmbedder {
    pub fn new(settings: &HashSettings) -> Self {
        let info = ModelInfo {
            name: ModelName::new("hash", &format!("words-{}", settings.dimension)),
            dimension: settings.dimension.max(1),
            reads: settings.max_tokens,
            max_tokens: settings.max_tokens,
            max_query_tokens: settings.max_tokens,
            max_batch_items: 1024,
            max_batch_tokens: 1 << 20,
            language_note: "for tests: words are hashed, meaning is not understood",
        };
        Self { info }
    }

    fn embed(&self, index: usize, text: &str) -> Result<Vec<f32>, Error> {
        let limit = self.info.max_tokens as usize;
        let tokens = Words.count(text);
        if tokens > limit {
            return Err(Error::TooLong {
                index,
                tokens,
                limit,
            });
        }
        let mut vector = vec![0.0; self.info.dimension as usize];
        for word in words(text) {
            let hash = feature(word);
            let slot = (hash % vector.len() as u64) as usize;
            vector[slot] += if hash >> 63 == 0 { 1.0 } else { -1.0 };
        }
        Ok(unit(vector))
    }
}

#[async_trait]
impl Embedder for HashEmbedder {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn tokens(&self) -> Arc<dyn TokenCounter> {
        Arc::new(Words)
    }

    async fn embed_passages(&self, inputs: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        let inputs = inputs.iter().enumerate();
        inputs.map(|(i, text)| self.embed(i, text)).collect()
    }

    async fn embed_query(&self, query: &str) -> Result<Vec<f32>, Error> {
        self.embed(0, query)
    }
}

/// A word is a token.
struct Words;

impl TokenCounter for Words {
    fn count(&self, text: &str) -> usize {
        words(text).count()
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// FNV-1a of the lowercased word, its bits then mixed: equal on every platform and release.
fn feature(word: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut buffer = [0; 4];
    for c in word.chars().flat_map(char::to_lowercase) {
        for byte in c.encode_utf8(&mut buffer).bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash ^= hash >> 32;
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Text without words, or whose words cancel out, still gets a direction.
fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
    if length == 0.0 {
        vector[0] = 1.0;
        return vector;
    }
    vector.iter_mut().for_each(|v| *v /= length);
    vector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_share_words_are_nearer_than_texts_that_do_not() {
        let hash = HashEmbedder::new(&HashSettings::default());
        let [mill, flour, ship] = [
            "The mill grinds wheat into flour",
            "flour comes from wheat",
            "a ship left the harbour",
        ]
        .map(|text| hash.embed(0, text).unwrap());
        let near = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        assert!(near(&mill, &flour) > near(&mill, &ship));
        assert!((near(&mill, &mill) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_vector_is_the_same_on_every_platform_and_release() {
        let hash = HashEmbedder::new(&HashSettings {
            dimension: 4,
            max_tokens: 8,
        });
        assert_eq!(hash.embed(0, "").unwrap(), [1.0, 0.0, 0.0, 0.0]);
        assert_eq!(feature("Grist"), feature("grist"));
        assert_eq!(feature("grist"), 3_496_859_237_735_234_749);
    }
}
