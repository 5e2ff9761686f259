//! The embedded search index.
//!
//! In: the chunks of a unit with their vectors, replaced as a whole; seals, and
//! versions to forget. Out: snapshots that answer searches by vector and by text,
//! restricted to a bitmap of live versions. What holds:
//!
//! - A unit is replaced as a whole or not at all, and only by who shows the
//!   newest fence; a sealed or forgotten version takes no more.
//! - What a receipt calls durable is there after any crash, in both stores.
//! - A snapshot is vectors, chunk text and text index at one flush.
//! - Spaces never mix: neither vectors nor term statistics of one reach another.
//!
//! SlateDB holds the truth; the text index follows it flush by flush and can be
//! rebuilt from it. The index knows nothing of documents, runs or users.

mod place;

mod error;

mod settings;

mod slate;

mod vector;

mod text;

mod guard;

mod delta;

mod flush;

mod views;

mod snapshot;

mod audit;

mod erase;

mod receipt;

mod handle;

#[cfg(test)]
mod kit;

pub use audit::{Fault, SpaceAudit, VersionAudit, What};
pub use error::Error;
pub use handle::Index;
pub use place::{
    Burden, CompactReport, Fence, Flush, Gone, IndexedChunk, Passage, Residue, Scope, Scored,
    Space, StoredChunk, UnitPlace,
};
pub use receipt::Receipt;
pub use settings::{Probe, Settings};
pub use snapshot::Snapshot;
