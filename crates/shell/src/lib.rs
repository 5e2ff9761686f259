//! Carries deliveries to the engine and its answers back.
//!
//! A shell is a translation: its kind of delivery into one engine call, the
//! engine's answer into its runtime's acknowledgement. An `if` about documents
//! does not belong here.

mod dispatch;
mod generations;
mod hands;
mod housekeeping;
mod http;
mod inline;
mod jobs;
mod lease;
mod post;
pub mod verdict;
mod workers;

pub use http::Delegated;
pub use post::Post;
pub use workers::{Runtime, Settings, Workers};
