//! How text is cut for a model.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `provider:model`, such as `local:all-MiniLM-L6-v2@1a2b3c4d`. What follows the `@` tells models
/// apart that are called the same: vectors may meet where, and only where, names are equal.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct ModelName(String);

impl ModelName {
    pub fn new(provider: &str, model: &str) -> Self {
        Self(format!("{provider}:{model}"))
    }

    /// As stored; anything else was made by [`ModelName::new`].
    pub fn from_stored(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether tokens are estimated for it: the vocabulary of a remote model is not here.
    pub fn estimates_tokens(&self) -> bool {
        self.0.starts_with("openai:")
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Counts tokens the way one embedding model does, special tokens left out.
pub trait TokenCounter: Send + Sync {
    fn count(&self, text: &str) -> usize;

    /// Whether counts of pieces that white space separates add up to the count of the
    /// whole, as they do for WordPiece and not for byte-pair models. Where they do, a
    /// text is counted once; elsewhere what is put together is counted again.
    fn adds_up(&self) -> bool {
        false
    }
}

/// The name of a way to cut text into chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// By sections, paragraphs and sentences.
    #[default]
    Structural,
    /// Equal windows, whatever the structure.
    Fixed,
    /// Sentences packed to the target.
    Sentence,
    /// Markdown blocks kept whole.
    Markdown,
    /// Sentences with estimated token counts, for text too long to hold.
    Streaming,
}

impl Strategy {
    pub const ALL: [Self; 5] = [
        Self::Structural,
        Self::Fixed,
        Self::Sentence,
        Self::Markdown,
        Self::Streaming,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Structural => "structural",
            Self::Fixed => "fixed",
            Self::Sentence => "sentence",
            Self::Markdown => "markdown",
            Self::Streaming => "streaming",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a chunking strategy (structural, fixed, sentence, markdown, streaming)")]
pub struct UnknownStrategy(String);

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|strategy| strategy.as_str() == name)
            .ok_or_else(|| UnknownStrategy(name.to_owned()))
    }
}

/// How large chunks are and how far neighbours overlap, in tokens of one model.
///
/// One that exists is valid: `overlap < target <= max <= the model's limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawPolicy", into = "RawPolicy")]
pub struct ChunkPolicy {
    strategy: Strategy,
    target: u32,
    max: u32,
    overlap: u32,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadPolicy {
    #[error("chunks of up to {max} tokens do not fit a model that reads {limit}")]
    BeyondModel { max: u32, limit: u32 },
    #[error("target {target} is not between 1 and the maximum of {max} tokens")]
    Target { target: u32, max: u32 },
    #[error("overlap of {overlap} tokens leaves no room in a chunk of {target}")]
    Overlap { overlap: u32, target: u32 },
}

impl ChunkPolicy {
    /// `limit` is what the model reads of one input, its special tokens already taken off.
    pub fn new(
        strategy: Strategy,
        (target, max, overlap): (u32, u32, u32),
        limit: u32,
    ) -> Result<Self, BadPolicy> {
        if max > limit {
            return Err(BadPolicy::BeyondModel { max, limit });
        }
        if target == 0 || target > max {
            return Err(BadPolicy::Target { target, max });
        }
        if overlap >= target {
            return Err(BadPolicy::Overlap { overlap, target });
        }
        Ok(Self {
            strategy,
            target,
            max,
            overlap,
        })
    }

    /// What suits a model that reads `limit` tokens of one input.
    pub fn for_limit(limit: u32) -> Self {
        Self::for_model(limit, limit)
    }

    /// What suits a model that reads `reads` tokens of one input, `room` of them a passage's and
    /// the others of the prefix before it. Its size is what it reads: a prefix of three tokens
    /// makes no smaller model of it, and is only taken off the largest chunk.
    pub fn for_model(reads: u32, room: u32) -> Self {
        let room = room.max(2);
        let (target, max, overlap) = match reads {
            1200.. => (800, 1200, 100),
            510.. => (400, 510, 60),
            254.. => (200, 254, 30),
            _ => (room * 4 / 5, room, room / 8),
        };
        let sizes = if target <= room {
            (target, max.min(room), overlap)
        } else {
            (room * 4 / 5, room, room / 8)
        };
        Self::new(Strategy::default(), sizes, room).expect("sizes follow from the room")
    }

    #[must_use]
    pub fn with_strategy(self, strategy: Strategy) -> Self {
        Self { strategy, ..self }
    }

    pub const fn strategy(&self) -> Strategy {
        self.strategy
    }

    pub const fn target(&self) -> usize {
        self.target as usize
    }

    pub const fn max(&self) -> usize {
        self.max as usize
    }

    pub const fn overlap(&self) -> usize {
        self.overlap as usize
    }
}

#[derive(Serialize, Deserialize)]
struct RawPolicy {
    strategy: Strategy,
    target: u32,
    max: u32,
    overlap: u32,
}

impl From<ChunkPolicy> for RawPolicy {
    fn from(policy: ChunkPolicy) -> Self {
        let ChunkPolicy {
            strategy,
            target,
            max,
            overlap,
        } = policy;
        Self {
            strategy,
            target,
            max,
            overlap,
        }
    }
}

impl TryFrom<RawPolicy> for ChunkPolicy {
    type Error = BadPolicy;

    fn try_from(raw: RawPolicy) -> Result<Self, Self::Error> {
        Self::new(raw.strategy, (raw.target, raw.max, raw.overlap), raw.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_of_each_model_is_the_documented_one() {
        let sizes = |limit| {
            let policy = ChunkPolicy::for_limit(limit);
            (policy.target(), policy.max(), policy.overlap())
        };
        assert_eq!(sizes(254), (200, 254, 30));
        assert_eq!(sizes(510), (400, 510, 60));
        assert_eq!(sizes(8192), (800, 1200, 100));
        assert_eq!(sizes(100), (80, 100, 12));
    }

    #[test]
    fn a_prefix_takes_its_tokens_off_the_largest_chunk_and_nothing_else() {
        let sizes = |reads, room| {
            let policy = ChunkPolicy::for_model(reads, room);
            (policy.target(), policy.max(), policy.overlap())
        };
        assert_eq!(sizes(512, 512), (400, 510, 60));
        assert_eq!(sizes(512, 509), (400, 509, 60));
        assert_eq!(sizes(510, 501), (400, 501, 60));
        assert_eq!(sizes(254, 250), (200, 250, 30));
        assert_eq!(sizes(8192, 8189), (800, 1200, 100));
        // Hardly anything is left of it.
        assert_eq!(sizes(512, 100), (80, 100, 12));
        for room in 1..=1300 {
            for reads in room..room + 300 {
                assert!(ChunkPolicy::for_model(reads, room).max() <= room.max(2) as usize);
            }
        }
    }

    #[test]
    fn a_policy_beyond_the_model_cannot_be_made() {
        let refused = ChunkPolicy::new(Strategy::Fixed, (200, 300, 30), 254);
        assert_eq!(
            refused,
            Err(BadPolicy::BeyondModel {
                max: 300,
                limit: 254
            })
        );
    }
}
