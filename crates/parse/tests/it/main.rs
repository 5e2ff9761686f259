//! Sample documents made here, parsed through the public door.

mod hostile;
mod snapshots;
