//! The store behind the dashboard: figures over time, named by labels.
//!
//! In: samples, recorded without waiting. Out: lines, asked for in a small
//! language. A series is named by its sorted labels and known inside by a small
//! number, given out within the flush, so that dictionary and samples always
//! land together. Old samples are thinned out on their way, see `tier`.
//!
//! The second user of the write coordinator; it knows nothing of documents.

mod label;

mod sample;

mod codec;

mod key;

mod page;

mod birth;

mod merge;

mod tier;

mod delta;

mod store;

mod flush;

mod expire;

mod read;

pub mod query;

mod series;

mod error;

mod settings;

pub use error::Error;
pub use label::{BadLabels, Labels};
pub use query::{Line, QueryError, Range};
pub use sample::Micros;
pub use series::Series;
pub use settings::Settings;

#[cfg(test)]
mod tests;
