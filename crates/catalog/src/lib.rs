//! The catalog: who, what, which version, which run, which work; and the ledger.
//!
//! One body of SQL serves SQLite and PostgreSQL. Callers hold an `Arc<dyn Catalog>` and
//! never learn which. Every method is one transaction and goes through
//! [`durable::effect`] when it writes, under the name `catalog.<method>`. Time comes in as
//! an argument and is cut to microseconds, the finer of what both databases keep.

mod error;
mod scratch;

pub mod records;

pub mod seam;

mod sql;
mod walk;

pub use error::Error;
pub use records::*;
pub use scratch::Scratch;
pub use seam::{
    Accounts, Audit, Backup, Catalog, Frozen, Generations, Hooks, Jobs, Library, Operations, Queue,
    Runs, Scrub,
};
pub use sql::{Settings, check_unused, load, open};
pub use walk::every;
