//! The gateway: what applications talk to.
//!
//! In: an engine, keys and settings. Out: one axum router with the JSON API, its
//! OpenAPI description, live events, and the pages people use. Every caller goes through it, the command
//! line included. It decides nothing about documents: it checks who asks, reads the
//! request, calls the engine or the catalog, and says the answer in HTTP.

pub mod api;
mod arrived;
pub mod auth;
mod docs;
mod etag;
pub mod events;
pub mod extract;
mod gateway;
mod hooks;
mod idempotency;
mod layers;
mod listen;
mod mcp;
pub mod network;
mod ops;
pub mod pace;
pub mod paging;
pub mod problem;
mod server;
pub mod signature;
mod streams;
mod trace;
mod traffic;
mod ui;

pub use gateway::{FreeBytes, Gateway, Parts, Setting, Settings, TakeRun};
pub use hooks::send_hooks;
pub use listen::serve;
pub use problem::{Problem, ProblemBody};
pub use server::router;
