//! Sample documents made here, parsed through the public door.

mod furniture;
mod hostile;
mod layout;
mod snapshots;
