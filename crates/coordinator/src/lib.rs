//! Puts many writers' changes into a store, a delta at a time.
//!
//! In: operations, each answered with a [`Receipt`] that carries its epoch. Out:
//! deltas, handed one at a time to a [`FlushHandler`], and the snapshots it
//! makes of them. What holds:
//!
//! - An accepted write is flushed, or every waiter is told why not; nothing is
//!   dropped in silence, and a rejected write leaves no trace.
//! - Writes go on while a flush runs. Those that wait for durability share one.
//! - What is pending and in flight never exceeds a budget in bytes; beyond it
//!   writers wait, each with its own operation, which the budget does not count:
//!   callers bound those. A flush and a shutdown never wait for room.
//! - A reader sees whole flushes only, and can ask for one new enough.
//!
//! It knows no storage: what a delta holds and where it goes are its user's.

mod epoch;

mod delta;

mod handler;

mod error;

mod settings;

mod pending;

mod progress;

mod receipt;

mod shared;

mod handle;

mod flusher;

mod follower;

mod metrics;

pub use delta::Delta;
pub use epoch::{Epoch, Epochs, Watermarks};
pub use error::{Error, Failure};
pub use handle::{Coordinator, Kept, Snapshot, Snapshots, Start};
pub use handler::{BoxError, FlushError, FlushHandler, Flushed};
pub use metrics::{Latency, Metrics};
pub use pending::State;
pub use receipt::Receipt;
pub use settings::Settings;

#[cfg(test)]
mod tests;
