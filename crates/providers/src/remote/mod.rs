//! How to treat a service that may be slow, full or down.
//!
//! Small state machines without a clock: time comes in as an argument, and the
//! answer says what to do or how long to wait. Whoever speaks to the service
//! does the waiting. What any such service is asked through, and what its
//! refusals mean, is here as well.

mod breaker;
mod fault;
mod health;
mod http;
mod pace;
mod retry;
pub(crate) mod wait;

use std::time::Instant;

pub use breaker::Breaker;
pub(crate) use health::Health;
pub(crate) use http::Http;
pub use pace::{Load, Measure, Pace};
pub use retry::Retry;

/// Follows a paused clock, where a test pauses it.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
