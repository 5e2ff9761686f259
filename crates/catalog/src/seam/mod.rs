//! What a catalog promises, by the reader it promises it to.
//!
//! Every method is one transaction, so nothing half-done crosses this seam. Everything
//! belongs to a tenant; another tenant's id is answered exactly as an unknown one.

mod accounts;
mod audit;
mod backup;
mod generations;
mod hooks;
mod jobs;
mod library;
mod operations;
mod queue;
mod runs;
mod scrub;

pub use accounts::Accounts;
pub use audit::Audit;
pub use backup::{Backup, Frozen};
pub use generations::Generations;
pub use hooks::Hooks;
pub use jobs::Jobs;
pub use library::Library;
pub use operations::Operations;
pub use queue::Queue;
pub use runs::Runs;
pub use scrub::Scrub;

/// The whole catalog, as `Arc<dyn Catalog>` hands it round.
pub trait Catalog:
    Accounts
    + Library
    + Generations
    + Queue
    + Runs
    + Jobs
    + Hooks
    + Operations
    + Audit
    + Backup
    + Scrub
    + Send
    + Sync
{
}

impl<T> Catalog for T where
    T: Accounts
        + Library
        + Generations
        + Queue
        + Runs
        + Jobs
        + Hooks
        + Operations
        + Audit
        + Backup
        + Scrub
        + Send
        + Sync
{
}
