//! The nouns that flow through the mill.
//!
//! Plain data, identifiers as types, and the contracts spoken on the wire.
//! Nothing here does I/O, reads a clock or draws a random number. A type lives
//! here once a second crate needs it, not before.

pub mod id;

pub mod hash;

pub mod place;

pub mod order;

pub mod atom;

pub mod unit;

pub mod policy;

pub mod chunk;

pub mod step;

pub mod status;

pub mod gate;

pub mod contract;

pub mod trace;

pub use atom::{Atom, AtomKind, Gap, Link, PageSize, Parsed, Table, Warning};
pub use chunk::Chunk;
pub use gate::{Gate, PAUSED, gate};
pub use hash::ContentHash;
pub use id::{
    ApiKeyId, DocumentId, GenerationId, JobId, KbId, RunId, SourceId, TenantId, UploadId, UserId,
    VersionId, WebhookId,
};
pub use order::SourceOrder;
pub use place::{ChunkId, PageBox, SourceUri, Span, UnitKey, UnitName};
pub use policy::{ChunkPolicy, ModelName, Strategy, TokenCounter};
pub use status::{JobStatus, RunStatus};
pub use step::{FollowUps, Step, StepKind};
pub use trace::{BadTraceParent, TraceContext};
pub use unit::{Section, Unit};
