//! How far a Prep in pieces has come, stored as an object of its pass.
//!
//! It holds what the parser, the tiler and the outline remember, and the names and hashes of the
//! units that have left. Text and atoms so far are not in it: they are those of the units and of
//! what the tiler holds. Nobody needs it: where it is missing, of another release or does not fit
//! the units any more, a Prep begins again, and comes to the same.

use bytes::Bytes;
use catalog::Version;
use model::{ContentHash, Unit};
use parse::Checkpoint;
use serde::{Deserialize, Serialize};

use super::State;
use crate::objects::{self, Key};
use crate::{Error, Objects};

/// Another release may read and cut differently.
const MADE_BY: &str = env!("CARGO_PKG_VERSION");

/// It is stored again once so many times its own bytes have been read, so that it costs little
/// beside what is written anyway however much there is to remember.
const SHARE: u64 = 4;

/// As stored; `S` is a [`State`], or a reference to one while it is written.
#[derive(Serialize, Deserialize)]
pub(super) struct Progress<S = State> {
    made_by: String,
    /// The first byte of the original that no piece has brought.
    pub(super) next_byte: u64,
    pub(super) parser: Checkpoint,
    pub(super) state: S,
}

/// When it was stored last.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Noted {
    next_byte: u64,
    bytes: u64,
}

impl Noted {
    pub(super) fn is_due(&self, next_byte: u64) -> bool {
        next_byte - self.next_byte >= SHARE * self.bytes
    }
}

/// What the pass of this version had come to, if anything is known of that.
pub(super) async fn find(
    objects: &Objects,
    version: &Version,
    pass: u32,
) -> Result<Option<(Progress, Noted)>, Error> {
    let key = Key::progress(version.tenant, version.id, pass);
    let bytes = match objects.get(&key).await {
        Ok(bytes) => bytes,
        Err(objects::Error::Missing { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let progress = serde_json::from_slice::<Progress>(&bytes).ok();
    let progress = progress.filter(|progress| progress.made_by == MADE_BY);
    Ok(progress.map(|progress| {
        let noted = Noted {
            next_byte: progress.next_byte,
            bytes: bytes.len() as u64,
        };
        (progress, noted)
    }))
}

/// All units it names have been written before.
pub(super) async fn note(
    objects: &Objects,
    key: &Key,
    next_byte: u64,
    parser: Checkpoint,
    state: &State,
) -> Result<Noted, Error> {
    let progress = Progress {
        made_by: MADE_BY.to_owned(),
        next_byte,
        parser,
        state,
    };
    let json = serde_json::to_vec(&progress).expect("progress is plain data");
    let bytes = json.len() as u64;
    objects.put_progress(key, Bytes::from(json)).await?;
    Ok(Noted { next_byte, bytes })
}

/// A unit that had left, if it is still what it was.
pub(super) async fn unit(
    objects: &Objects,
    key: Key,
    hash: ContentHash,
) -> Result<Option<Unit>, Error> {
    let bytes = match objects.get(&key).await {
        Ok(bytes) => bytes,
        Err(objects::Error::Missing { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if ContentHash::of(&bytes) != hash {
        return Ok(None);
    }
    Ok(serde_json::from_slice(&bytes).ok())
}
