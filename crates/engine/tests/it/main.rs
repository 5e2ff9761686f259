//! The engine through its own surface, on SQLite and stores in memory.

mod chunks;
mod compaction;
mod filters;
mod gate;
mod house;
mod housekeeping;
mod meanwhile;
mod neighbours;
mod progress;
mod redelivery;
mod rerank;
mod rework;
mod stability;
mod unfinished;
mod weights;
