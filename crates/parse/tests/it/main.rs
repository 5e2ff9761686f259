//! Sample documents made here, parsed through the public door.

mod hostile;
mod layout;
mod snapshots;
