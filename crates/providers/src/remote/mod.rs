//! How to treat a service that may be slow, full or down.
//!
//! Small state machines without a clock: time comes in as an argument, and the
//! answer says what to do or how long to wait. Whoever speaks to the service
//! does the waiting.

mod breaker;
mod pace;
mod retry;

pub use breaker::Breaker;
pub use pace::Pace;
pub use retry::Retry;
