//! The vector structure of a space.
//!
//! Vectors have ids, allocated at flush and never given twice; an id that is no
//! longer valid is in the deleted bitmap. A small space is scanned whole.

pub mod simd;

pub mod bits;

pub mod cache;

pub mod view;

pub mod flat;

pub mod edit;

pub mod search;

pub use cache::Cache;
pub use view::SpaceView;
