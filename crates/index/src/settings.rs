//! What can be tuned.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// How writes are gathered into flushes.
    pub writes: coordinator::Settings,
    /// Decoded vectors and postings kept in memory, over all spaces.
    pub cache_bytes: usize,
    /// Blocks of the store kept in memory.
    pub block_cache_bytes: u64,
    /// Written to the store but not yet in its sorted files, at most.
    pub unflushed_bytes: usize,
    /// Attempts at one request to the object store before it counts as failed.
    pub store_retries: u32,
    /// Text indexes open at a time; each holds a writer's buffer and a few threads.
    pub open_texts: usize,
    /// Spaces up to this many vectors are scanned whole and exactly.
    pub exact_up_to: u32,
    /// How far a vector search looks in larger ones.
    pub probe: Probe,
    /// How often the store's own garbage is looked for.
    pub collect_every: Duration,
    /// How long it may take until what was forgotten has left the files.
    pub erase_within: Duration,
}

/// How far a vector search looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// Postings with something live in a row without a candidate after which it ends, if one
    /// before them had any; half as many more for every other that had.
    pub barren: usize,
    /// Postings with something live looked into at most.
    pub postings: usize,
    /// How many times its usual error a guess may be off.
    pub doubt: f32,
    /// A candidate must be able to reach the guess at this place, per result asked for.
    pub measure: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            writes: coordinator::Settings {
                // A flush may cluster a whole space; a dead store fails by its retries.
                flush_deadline: Duration::from_secs(600),
                ..coordinator::Settings::default()
            },
            cache_bytes: 256 << 20,
            block_cache_bytes: 64 << 20,
            unflushed_bytes: 128 << 20,
            store_retries: 5,
            open_texts: 16,
            exact_up_to: 2_000,
            probe: Probe::default(),
            collect_every: Duration::from_secs(60),
            erase_within: Duration::from_secs(600),
        }
    }
}

impl Default for Probe {
    fn default() -> Self {
        Self {
            barren: 8,
            postings: 768,
            doubt: 2.0,
            measure: 2,
        }
    }
}
