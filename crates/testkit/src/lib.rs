//! What tests share: builders for admissions, a clock that is told the time, seams that
//! fail, and the services tests start for themselves.

mod build;
mod clock;
mod disk;
mod documents;
pub mod double;
mod faulty;
mod files;
mod meddled;
mod older;
pub mod papers;
mod postgres;
pub mod reranker;

pub use build::{Place, first_start, generation, place, place_of};
pub use clock::Clock;
pub use disk::Disk;
pub use documents::write_documents;
pub use faulty::{Dice, FaultyCatalog, FaultyStore, Lot, Odds};
pub use files::holding;
pub use meddled::{Asked, Meddled, Meddler};
pub use older::{Older, older_postgres, older_sqlite};
pub use postgres::postgres;
