//! Sample documents made here, parsed through the public door.

mod encodings;
mod furniture;
mod gaps;
mod hostile;
mod layout;
mod odt;
mod snapshots;
mod sources;
mod tables;
