//! Whatever fails, every document ends where an undisturbed run leaves it.
//!
//! A seed draws a corpus, a database and a few lives. Each life is a process of its own
//! that takes in the same deliveries under faults of its seams and then dies; after a power
//! cut it also forgets what it had not synced. A last, calm life finishes the work, and the
//! invariants are checked. `GRISTMILL_FAULT_SEED=n` runs one seed again,
//! `GRISTMILL_FAULT_SEEDS=n` that many.

#![expect(
    clippy::disallowed_methods,
    reason = "the world around a mill writes files too"
)]

mod check;
mod corpus;
mod folder;
mod house;
mod life;
mod plan;
mod power;
mod proxy;
mod suite;
