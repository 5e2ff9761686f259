//! The SlateDB side: which bytes lie under which key.

pub mod key;

pub mod record;

pub mod seal;

pub mod store;
