//! Carries deliveries to the engine and its answers back.
//!
//! A shell is a translation: its kind of delivery into one engine call, the
//! engine's answer into its runtime's acknowledgement. An `if` about documents
//! does not belong here.

mod generations;
mod housekeeping;
pub mod inline;
mod jobs;
mod lease;
pub mod verdict;

pub use inline::{Settings, Workers};
