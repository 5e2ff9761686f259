//! Both stores read against each other, leniently, record by record.
//!
//! In: one space as of one snapshot. Out: per version what is there, and every fault by
//! chunk; then what belongs to nobody. Nothing comes from a cache, and a record that cannot
//! be read is a fault, not the end of the audit. What holds: a chunk has its unit and its
//! version, its vector under its own place where searches look for it, reused for its own text
//! alone, and one text entry with its own words; and nothing else is there.

mod reuse;

mod texts;

mod vectors;

mod version;

use std::collections::BTreeSet;

use model::{ChunkId, UnitName, VersionId};

use crate::Error;
use crate::place::{Space, StoredChunk};
use crate::slate::key;
use crate::slate::store::Rows;
use crate::snapshot::Snapshot;

use reuse::Reuse;
use texts::Texts;
use vectors::Vectors;
pub use vectors::of_version as vectors_of;

/// What is wrong with what the index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum What {
    NoVersion,
    VersionTotals,
    NoUnit,
    UnitTotals,
    ChunkChanged,
    NoChunk,
    NoVector,
    VectorChanged,
    VectorElsewhere,
    VectorUnfindable,
    IdNotGiven,
    ReusedForAnother,
    StrayVector,
    NoText,
    TextChanged,
    StrayText,
    TextFiles,
}

impl What {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoVersion => "the index has chunks of it and no record of the version",
            Self::VersionTotals => "the index counts its chunks wrongly",
            Self::NoUnit => "the index has chunks of it and no record of their unit",
            Self::UnitTotals => "the index counts the chunks of a unit wrongly",
            Self::ChunkChanged => "the chunk was changed",
            Self::NoChunk => "the chunk is gone",
            Self::NoVector => "the chunk has no vector",
            Self::VectorChanged => "the chunk's vector was changed",
            Self::VectorElsewhere => "the chunk's vector says it is another's",
            Self::VectorUnfindable => "no search can come upon the chunk's vector",
            Self::IdNotGiven => "the chunk's id would be given to another",
            Self::ReusedForAnother => "another text would be given the chunk's vector",
            Self::StrayVector => "a vector has no chunk",
            Self::NoText => "the chunk is not in the text index",
            Self::TextChanged => "the chunk's text entry was changed",
            Self::StrayText => "a text entry has no chunk",
            Self::TextFiles => "files of the text index were changed",
        }
    }

    /// Whether the text index alone is at fault, and can be made again from the store.
    pub const fn is_of_text(self) -> bool {
        matches!(
            self,
            Self::NoText | Self::TextChanged | Self::StrayText | Self::TextFiles
        )
    }
}

/// One thing that is wrong, as near to its place as can be told.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fault {
    pub version: Option<VersionId>,
    pub unit: Option<UnitName>,
    pub ordinal: Option<u32>,
    pub what: What,
}

impl Fault {
    fn of_version(version: VersionId, what: What) -> Self {
        Self {
            version: Some(version),
            unit: None,
            ordinal: None,
            what,
        }
    }

    fn of_unit(version: VersionId, unit: &UnitName, what: What) -> Self {
        Self {
            unit: Some(unit.clone()),
            ..Self::of_version(version, what)
        }
    }

    fn of_chunk(id: &ChunkId, what: What) -> Self {
        Self {
            ordinal: Some(id.ordinal),
            ..Self::of_unit(id.version, &id.unit, what)
        }
    }
}

/// What the index holds of a version.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionAudit {
    pub version: VersionId,
    pub number: Option<u32>,
    pub sealed: bool,
    /// Those that can be read, by unit and ordinal.
    pub chunks: Vec<StoredChunk>,
    pub faults: Vec<Fault>,
}

/// An audit of one space under way.
pub struct SpaceAudit {
    snapshot: Snapshot,
    space: Space,
    vectors: Vectors,
    texts: Texts,
    reuse: Reuse,
}

impl SpaceAudit {
    pub(crate) async fn begin(snapshot: Snapshot, space: Space) -> Result<Self, Error> {
        let vectors = Vectors::read(&snapshot, space).await?;
        if vectors.are_being_forgotten() {
            return Err(Error::ForgottenSpace);
        }
        let texts = Texts::read(&snapshot, space).await?;
        let reuse = Reuse::read(&snapshot, space).await?;
        Ok(Self {
            snapshot,
            space,
            vectors,
            texts,
            reuse,
        })
    }

    pub fn space(&self) -> Space {
        self.space
    }

    /// Every version anything is held of.
    pub async fn versions(&self) -> Result<BTreeSet<VersionId>, Error> {
        let mut found = BTreeSet::new();
        for kind in [key::VERSION, key::UNIT, key::CHUNK] {
            self.versions_under(kind, &mut found).await?;
        }
        Ok(found)
    }

    /// Goes from version to version, whatever lies under each.
    async fn versions_under(&self, kind: u8, found: &mut BTreeSet<VersionId>) -> Result<(), Error> {
        let prefix = key::of_space(kind, &self.space);
        let mut from: Vec<u8> = Vec::new();
        loop {
            let mut rows = Rows::within(self.snapshot.db(), &prefix, from.clone()..).await?;
            let Some((key, bytes)) = rows.next().await? else {
                return Ok(());
            };
            let Some((_, version)) = key::read_version(&key) else {
                return Err(Error::corrupt("version", "its key has no id"));
            };
            if kind != key::VERSION || !version::is_forgotten(&bytes) {
                found.insert(version);
            }
            let Some(next) = version.as_uuid().as_u128().checked_add(1) else {
                return Ok(());
            };
            from = next.to_be_bytes().to_vec();
        }
    }

    /// One version's records, with all that is wrong about them.
    pub async fn version(&mut self, version: VersionId) -> Result<VersionAudit, Error> {
        version::audit(self, version).await
    }

    /// What no version asked for had a chunk for. Asked last.
    pub async fn strays(self) -> Result<Vec<Fault>, Error> {
        let mut faults = self.vectors.strays(&self.snapshot, self.space).await?;
        faults.extend(self.texts.strays().await?);
        Ok(faults)
    }
}
