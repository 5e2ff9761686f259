//! The vector structure of a space.
//!
//! Vectors have ids, allocated at flush and never given twice; an id that is no
//! longer valid is in the deleted bitmap. A small space is scanned whole. In a
//! large one, vectors hang in postings under centroids, as one bit a dimension;
//! a search guesses by those bits and compares the best guesses exactly.

pub mod simd;

pub mod bits;

pub mod best;

mod places;

pub mod cache;

pub mod totals;

pub mod view;

pub mod flat;

pub mod rotate;

pub mod code;

pub mod cluster;

pub mod guide;

pub mod posting;

pub mod probe;

pub mod grow;

pub mod recluster;

pub mod compact;

pub mod edit;

pub mod search;

pub use cache::Cache;
pub use view::SpaceView;

#[cfg(test)]
mod tests;
