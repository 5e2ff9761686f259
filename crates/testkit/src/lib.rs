//! What tests share: builders for admissions, a clock that is told the time, and the
//! services tests start for themselves.

mod build;
mod clock;
pub mod papers;
mod postgres;

pub use build::{Place, first_start, generation, place};
pub use clock::Clock;
pub use postgres::postgres;
