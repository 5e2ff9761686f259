//! The index through its public surface.

mod kit;

mod basics;
