//! A small language for figures over time.
//!
//! ```text
//! documents_total{kb="x"}                       the latest value of each series
//! rate(documents_total{kb!="x"}[5m])            what a counter gains per second
//! increase(documents_total[1h])                 what it gains
//! sum by (kb) (rate(documents_total[5m]))       also avg, min, max, count
//! quantile(0.99, stage_seconds{stage="embed"})  of the values seen in each step
//! quantile(0.5, stage_seconds{stage=~"em*|index"}[1h])
//! ```
//! Matchers are `=`, `!=`, `=~` and `!~`; the last two take words with `*` in
//! them, separated by `|`. A label that a series lacks has the empty value.

mod ast;

mod lex;

mod parse;

mod eval;

pub(crate) use ast::{Expr, Matcher, Selector};
pub(crate) use eval::evaluate;
pub use eval::{Line, Range};
pub use parse::QueryError;
pub(crate) use parse::parse;
