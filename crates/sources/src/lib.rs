//! Where documents come from.
//!
//! A folder is walked in batches that resume from a cursor; a bucket's events,
//! whatever envelope they travel in, become one type. Nothing here decides what
//! becomes of a document: the engine admits, the catalog remembers.

pub mod uri;

pub mod folder;

pub mod event;

mod error;

pub use error::Error;
pub use event::{Change, Headers, Item, ObjectEvent, decode};
pub use folder::{Batch, Cursor, Folder, Found, Opened, Problem, Walk};
