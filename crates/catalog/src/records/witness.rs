//! What is noted of a version beside its row, so that a change of the row is known and can be
//! undone.
//!
//! Of most that is stored something else tells, too: the ledger, the run, the index, an object. Of
//! this nothing does. Claims are only summed up, as there is one for every job that ever met the
//! version; a sum that any claim can be taken out of again still tells which one is missing.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use model::{ContentHash, GenerationId, JobId, VersionId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    pub filename: String,
    pub title: Option<String>,
    pub created_at: DateTime<Utc>,
    pub warnings: Value,
    pub gaps: Value,
    pub claimed_directly: bool,
    pub metadata: Map<String, Value>,
    /// Of what each of those who brought it has said of it.
    pub said: ContentHash,
    /// Why units could not be read, by their names.
    pub reasons: BTreeMap<String, String>,
    /// Of its units, in all that is not counted.
    pub units: ContentHash,
    /// Of the hashes of its text and its structure, and of the artifacts of its units: so that one
    /// that is gone is known from one there never was. Not in notes that were made before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<ContentHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<ContentHash>,
    /// When its document came; unknown where the document's row is gone.
    pub document_since: Option<DateTime<Utc>>,
    /// How far it came, if it failed. Not in notes that were made before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<Reached>,
}

/// What the row of a version that failed says of its way. Of one that is finished index, objects and
/// ledger tell that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    pub generation: GenerationId,
    pub number: u32,
    pub media_type: Option<String>,
    pub language: Option<String>,
    pub pass: u32,
    pub units_total: u32,
    pub units_open: u32,
    pub needs_flush: Option<u64>,
    pub chunks: u64,
    pub tokens: u64,
    pub root_hash: Option<ContentHash>,
    pub text_hash: Option<ContentHash>,
    pub parsed_hash: Option<ContentHash>,
}

/// Every claim of a version, whatever their order: a claim made twice is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClaimSum([u8; 32]);

impl ClaimSum {
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// With a claim that was not in it, or without one that was.
    #[must_use]
    pub fn turned(self, version: VersionId, job: JobId, outcome: &str) -> Self {
        let (version, job) = (version.as_uuid(), job.as_uuid());
        let one = ContentHash::of_fields([
            &version.as_bytes()[..],
            &job.as_bytes()[..],
            outcome.as_bytes(),
        ]);
        let mut sum = self.0;
        let bytes = sum.iter_mut().zip(one.as_bytes());
        bytes.for_each(|(a, b)| *a ^= b);
        Self(sum)
    }
}

/// What was noted, as it is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    pub facts: String,
    pub claims: ClaimSum,
    pub sum: ContentHash,
}

impl Witness {
    pub fn new(version: VersionId, facts: String, claims: ClaimSum) -> Self {
        Self {
            sum: Self::sum(version, &facts, claims),
            facts,
            claims,
        }
    }

    /// One that tells nothing.
    pub fn silent() -> Self {
        Self {
            facts: String::new(),
            claims: ClaimSum::default(),
            sum: ContentHash::from_bytes([0; 32]),
        }
    }

    fn sum(version: VersionId, facts: &str, claims: ClaimSum) -> ContentHash {
        let version = version.as_uuid();
        ContentHash::of_fields([
            &version.as_bytes()[..],
            facts.as_bytes(),
            &claims.as_bytes()[..],
        ])
    }

    /// What it tells of a version; `None` if it is not what was noted.
    pub fn told(&self, version: VersionId) -> Option<Facts> {
        let stands = self.sum == Self::sum(version, &self.facts, self.claims);
        stands.then(|| serde_json::from_str(&self.facts).ok())?
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_claim_that_is_missing_is_what_two_sums_differ_in() {
        let version = VersionId::from_uuid(Uuid::from_u128(1));
        let job = |n| JobId::from_uuid(Uuid::from_u128(n));
        let empty = ClaimSum::default();
        let both = empty
            .turned(version, job(1), "new")
            .turned(version, job(2), "skipped");
        let one = empty.turned(version, job(1), "new");
        assert_eq!(one.turned(version, job(2), "skipped"), both);
        assert_ne!(one.turned(version, job(2), "new"), both);
        assert_eq!(
            both.turned(version, job(1), "new")
                .turned(version, job(2), "skipped"),
            empty
        );
    }

    #[test]
    fn a_witness_tells_of_its_own_version_and_nothing_that_was_changed() {
        let version = |n| VersionId::from_uuid(Uuid::from_u128(n));
        let facts = Facts {
            filename: "a.md".into(),
            title: None,
            created_at: DateTime::UNIX_EPOCH,
            warnings: Value::Null,
            gaps: Value::Null,
            claimed_directly: true,
            metadata: Map::new(),
            said: ContentHash::of(b""),
            reasons: BTreeMap::new(),
            units: ContentHash::of(b""),
            made: None,
            cut: None,
            document_since: None,
            reached: None,
        };
        let text = serde_json::to_string(&facts).expect("plain data");
        let noted = Witness::new(version(1), text, ClaimSum::default());
        assert_eq!(noted.told(version(1)), Some(facts));
        assert_eq!(noted.told(version(2)), None);
        let changed = Witness {
            facts: noted.facts.replace("a.md", "b.md"),
            ..noted
        };
        assert_eq!(changed.told(version(1)), None);
    }
}
