//! Where a thing is: in the source, in the normalised text, on the page.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::VersionId;

/// Names a document within a knowledge base: `upload://sha256:…`, `file://…`, `s3://…`.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct SourceUri(String);

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a source URI: it needs a scheme (such as file://) and no control characters")]
pub struct BadSourceUri(String);

impl SourceUri {
    /// What a document may be called by at most: PostgreSQL indexes no more in one row, with what
    /// stands beside it.
    pub const MAX_BYTES: usize = 2_500;

    pub fn new(uri: impl Into<String>) -> Result<Self, BadSourceUri> {
        let uri = uri.into();
        let scheme_ends = uri.find("://").is_some_and(|at| at > 0);
        if scheme_ends && !uri.chars().any(char::is_control) {
            Ok(Self(uri))
        } else {
            Err(BadSourceUri(uri))
        }
    }

    pub fn of_upload(content: &crate::ContentHash) -> Self {
        Self(format!("upload://sha256:{content}"))
    }

    /// In the place of one that is not to be told any more.
    pub fn purged() -> Self {
        Self("purged://".into())
    }

    /// Whether a document may be called so. One that is stored already is read whatever its length.
    pub fn fits(&self) -> bool {
        self.0.len() <= Self::MAX_BYTES
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SourceUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A half-open range of the normalised text, in bytes and in characters.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Span {
    pub byte_start: u64,
    pub byte_end: u64,
    pub char_start: u64,
    pub char_end: u64,
}

impl Span {
    pub fn bytes(&self) -> std::ops::Range<usize> {
        self.byte_start as usize..self.byte_end as usize
    }

    pub fn is_empty(&self) -> bool {
        self.byte_start == self.byte_end
    }

    /// The same span in a text that begins `base` earlier.
    #[must_use]
    pub fn shifted(&self, base_bytes: u64, base_chars: u64) -> Self {
        Self {
            byte_start: self.byte_start + base_bytes,
            byte_end: self.byte_end + base_bytes,
            char_start: self.char_start + base_chars,
            char_end: self.char_end + base_chars,
        }
    }
}

/// A rectangle on a page, in points (1/72 inch) from the page's top left.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PageBox {
    /// Counted from 1.
    pub page: u32,
    pub left: f32,
    pub top: f32,
    pub right: f32,
    pub bottom: f32,
}

/// Names a unit within its version; stable when other units are edited.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct UnitName(String);

#[derive(Debug, thiserror::Error)]
#[error("`{0:?}` cannot name a unit: 1 to 200 bytes of a-z, 0-9, `-`, `_`, `.`, `~`")]
pub struct BadUnitName(String);

impl UnitName {
    pub const MAX_BYTES: usize = 200;

    /// The alphabet is that of object keys and of index keys, so a name needs no escaping.
    pub fn new(name: impl Into<String>) -> Result<Self, BadUnitName> {
        let name = name.into();
        let fits = (1..=Self::MAX_BYTES).contains(&name.len());
        let plain = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~');
        if fits && name.bytes().all(plain) && !name.starts_with('.') {
            Ok(Self(name))
        } else {
            Err(BadUnitName(name))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UnitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A unit among all units.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct UnitKey {
    pub version: VersionId,
    pub unit: UnitName,
}

/// A chunk is identified by its place; its content is never its identity.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct ChunkId {
    pub version: VersionId,
    pub unit: UnitName,
    pub ordinal: u32,
}

impl fmt::Display for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.version, self.unit, self.ordinal)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a chunk id (version:unit:ordinal)")]
pub struct BadChunkId(String);

impl std::str::FromStr for ChunkId {
    type Err = BadChunkId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (version, rest) = text.split_once(':')?;
            let (unit, ordinal) = rest.rsplit_once(':')?;
            Some(Self {
                version: version.parse().ok()?,
                unit: UnitName::new(unit).ok()?,
                ordinal: ordinal.parse().ok()?,
            })
        };
        read().ok_or_else(|| BadChunkId(text.to_owned()))
    }
}
