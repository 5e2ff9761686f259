//! Sample documents made here, parsed through the public door.

mod hostile;
mod office;
mod samples;
mod snapshots;
