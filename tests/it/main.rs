//! Scenarios through the public surfaces: the command line, the API, the manifests.

#![expect(clippy::disallowed_methods, reason = "tests write their own files")]

mod alone;
mod api;
mod browser;
mod cancel;
mod crash;
mod cut;
mod damage;
mod delegated;
mod direction;
mod generations;
mod hurt;
mod isolation;
mod keep;
mod kill;
mod letters;
mod meaning;
mod mill;
mod pages;
mod purge;
mod remote;
mod served;
mod server;
mod settled;
mod standing;
mod thread;
mod together;
mod unreachable;
mod upgrade;
