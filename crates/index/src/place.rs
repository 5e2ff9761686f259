//! What goes in and what comes out, and where it belongs.

use std::fmt;

use model::{Chunk, ChunkId, ContentHash, GenerationId, KbId, TenantId, UnitName, VersionId};

/// One generation of one knowledge base. Nothing is ever searched across two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Space {
    pub tenant: TenantId,
    pub kb: KbId,
    pub generation: GenerationId,
}

/// As its folders are named, and as logs tell of it.
impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            tenant,
            kb,
            generation,
        } = self;
        write!(f, "{tenant}/{kb}/{generation}")
    }
}

/// What to forget at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Every generation of a knowledge base.
    Kb {
        tenant: TenantId,
        kb: KbId,
    },
    Generation(Space),
}

impl Scope {
    pub fn covers(&self, space: &Space) -> bool {
        match self {
            Self::Kb { tenant, kb } => *tenant == space.tenant && *kb == space.kb,
            Self::Generation(one) => one == space,
        }
    }
}

/// A unit, and the dense number its version has in its knowledge base.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UnitPlace {
    pub space: Space,
    pub version: VersionId,
    pub number: u32,
    pub unit: UnitName,
}

/// A version that was forgotten, and the number it had where that is still known. Without it postings
/// are not looked into: they hold codes of vectors, and nothing that could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gone {
    pub space: Space,
    pub version: VersionId,
    pub number: Option<u32>,
}

/// The token of the lease under which a unit is written; it grows with every claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fence(pub u64);

/// The number of a flush. Flushes are numbered upwards, over restarts too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flush(pub u64);

/// A chunk as it enters the index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedChunk {
    pub chunk: Chunk,
    /// Compared by inner product: unit length makes that the cosine.
    pub vector: Vec<f32>,
    /// Of the exact input of the embedder; the vector is reused for equal input.
    pub input_hash: ContentHash,
    /// ISO 639-1 or 639-3, for stemming. Without one, English rules apply.
    pub language: Option<String>,
    /// The vector was known before the unit came. Kept, so that it is told the same way when the
    /// unit comes again.
    pub reused: bool,
}

/// A hit of one leg. Equal scores stand in the order of their places.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    pub id: ChunkId,
    pub number: u32,
    pub score: f32,
}

/// A chunk as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    pub id: ChunkId,
    pub number: u32,
    pub chunk: Chunk,
}

/// A chunk as the stores hold it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredChunk {
    pub id: ChunkId,
    pub number: u32,
    pub chunk: Chunk,
    /// Its vector can be read and the structure that finds it has it.
    pub has_vector: bool,
    /// The text index finds it.
    pub has_text: bool,
}

/// What a compaction did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompactReport {
    /// Vectors whose version is live, now alone on the hot path.
    pub hot: u64,
    /// Vectors kept aside because their version is not live.
    pub cold: u64,
    /// Entries of forgotten chunks dropped from the postings.
    pub reclaimed: u64,
}

/// What searches of a space come upon.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Burden {
    /// Chunks whose version is live.
    pub live: u64,
    /// Chunks of others that are not set aside yet, and entries of what is forgotten.
    pub idle: u64,
}

/// What is left of a version, counted one by one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Residue {
    /// Chunks and units.
    pub records: u64,
    pub vectors: u64,
    pub text_entries: u64,
}
