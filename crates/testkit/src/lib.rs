//! What tests share: builders for admissions, and a clock that is told the time.

mod build;
mod clock;

pub use build::{Place, first_start, generation, place};
pub use clock::Clock;
