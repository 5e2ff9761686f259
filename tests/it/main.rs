//! Scenarios through the public surfaces: the command line, the API, the manifests.

mod api;
mod cancel;
mod crash;
mod damage;
mod direction;
mod isolation;
mod kill;
mod meaning;
mod mill;
mod pages;
mod server;
mod thread;
mod together;
