//! The text side: words, one tantivy index per space, and search by words.

pub mod words;

pub mod joined;

pub mod book;

pub mod shelf;

pub mod reading;

pub mod rebuild;

pub mod ties;

pub mod search;

pub use book::{Book, Doc};
pub use shelf::{Shelf, Texts};
