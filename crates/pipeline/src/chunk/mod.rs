//! Splits a unit into chunks.
//!
//! In: one unit, a policy, and the embedding model's way of counting. Out: the
//! unit's chunks in reading order. The unit's text cut at a chunk's span is the
//! chunk's text; every word of an indexed atom is in at least one chunk; none has
//! more tokens than the policy's maximum, counted exactly.
//!
//! The way: atoms are cut into pieces that should stay whole (`piece`: sentences,
//! lines of code, rows of tables), each counted once; pieces are grouped as the
//! strategy says (`pack`); a group, with the overlap before it, becomes a chunk
//! with its place (`assemble`).

mod assemble;
mod estimate;
mod input;
mod pack;
mod piece;
mod sections;
mod sentence;
mod word;

use model::{Chunk, ChunkPolicy, Strategy, TokenCounter, Unit};

pub(crate) use assemble::boxes;
pub use estimate::Estimate;
pub use input::embedder_input;
pub use sentence::sentences;

pub fn chunk(unit: &Unit, policy: ChunkPolicy, tokens: &dyn TokenCounter) -> Vec<Chunk> {
    let cutter = piece::Cutter {
        unit,
        tokens,
        sizer: tokens,
        max: policy.max(),
    };
    let (pieces, groups, adds_up) = match policy.strategy() {
        Strategy::Structural => {
            let pieces = cutter.pieces();
            let groups = pack::structural(unit, &pieces, policy);
            (pieces, groups, tokens.adds_up())
        }
        Strategy::Sentence => {
            let pieces = cutter.pieces();
            let groups = pack::greedy(&pieces, policy, |_| false);
            (pieces, groups, tokens.adds_up())
        }
        Strategy::Markdown => {
            let pieces = cutter.blocks();
            let groups = pack::greedy(&pieces, policy, piece::Piece::begins_section);
            (pieces, groups, tokens.adds_up())
        }
        Strategy::Fixed => {
            let pieces = cutter.words();
            let groups = pack::greedy(&pieces, policy, |_| false);
            (pieces, groups, tokens.adds_up())
        }
        // Sizes are estimated and only what came of them is counted.
        Strategy::Streaming => {
            let estimating = piece::Cutter {
                sizer: &Estimate,
                ..cutter
            };
            let pieces = estimating.pieces();
            let groups = pack::greedy(&pieces, policy, |_| false);
            (pieces, groups, false)
        }
    };
    assemble::Assembly {
        unit,
        policy,
        tokens,
        adds_up,
        pieces: &pieces,
    }
    .chunks(&groups)
}

#[cfg(test)]
mod stability;
#[cfg(test)]
mod tests;
