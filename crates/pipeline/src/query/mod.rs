//! From a question to the legs of a search, and from these to an answer.
//!
//! `long` reads a query in parts where it is longer than a model reads; `fuse` makes one ranking of the vector and the text leg, `rerank` puts its best in
//! the order of somebody who has read them, `highlight` says which parts of a passage
//! match, `answer` picks the sentences that support an answer or says that there are
//! none. All in values: whoever has an index brings the legs.

mod answer;
mod fuse;
mod highlight;
mod long;
mod rerank;
mod words;

pub use answer::{Answer, Support, answer};
pub use fuse::{Fused, Leg, Weights, fuse};
pub use highlight::highlights;
pub use long::{Part, blend, parts};
pub use rerank::rerank;
