//! The index through its public surface.

#![expect(
    clippy::disallowed_methods,
    reason = "a test may write and damage what it likes"
)]

mod kit;

mod basics;

mod forgotten;
mod sweep;

mod large;

mod model_check;
mod shed;

mod crash;
mod crash_postings;

mod erase;

mod faults;

mod damage;
mod structure;
