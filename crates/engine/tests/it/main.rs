//! The engine through its own surface, on SQLite and stores in memory.

mod gate;
mod house;
mod housekeeping;
mod rerank;
