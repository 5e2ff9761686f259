//! The index through its public surface.

mod kit;

mod basics;

mod large;

mod model_check;

mod crash;

mod faults;
