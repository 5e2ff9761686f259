//! Pure stages, in the order a document meets them.
//!
//! Each is a synchronous function from values to values, or a small struct that
//! remembers between calls: no clock, no randomness, no file, socket or task
//! (`clippy.toml` holds it). The same input gives the same output, so a replay
//! overwrites its own earlier work and adds nothing.

mod cut;

pub mod structure;

pub mod units;

pub mod chunk;

pub mod batch;

pub mod link;

pub mod query;

pub mod cite;

pub mod printed;

#[cfg(test)]
mod sample;
