//! Where a version stands among the versions of its document, as the source tells it.

use std::fmt;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ContentHash, VersionId};

/// A place in a source's own order: a sequencer, a time of change, a time of upload.
///
/// Only comparable between versions of one document. It sorts as its bytes do, so a
/// database may compare the stored text (in PostgreSQL: `COLLATE "C"`).
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct SourceOrder(String);

impl SourceOrder {
    /// Sequencers are padded to this many digits; S3 sends 16 to 18.
    const SEQUENCER_DIGITS: usize = 32;

    pub fn of_time(at: DateTime<Utc>) -> Self {
        // From the earliest chrono can say, so that years before 1970 sort too.
        let since = at.timestamp_micros() - DateTime::<Utc>::MIN_UTC.timestamp_micros();
        Self(format!("t{since:020}"))
    }

    /// A bucket's hexadecimal sequencer: the shorter one is padded on the right.
    ///
    /// A sequencer stands after any time: it is the better witness where both exist.
    pub fn of_sequencer(hex: &str) -> Self {
        let hex = hex.to_ascii_uppercase();
        Self(format!("u{hex:0<width$}", width = Self::SEQUENCER_DIGITS))
    }

    /// As stored; anything else was made by the constructors above.
    pub fn from_stored(order: impl Into<String>) -> Self {
        Self(order.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What proves that a version stands here: nothing else that is stored tells of it.
    pub fn sum_for(&self, version: VersionId) -> ContentHash {
        ContentHash::of_fields([&version.as_uuid().as_bytes()[..], self.0.as_bytes()])
    }
}

impl fmt::Display for SourceOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_sort_as_they_passed() {
        let at = |seconds| SourceOrder::of_time(DateTime::from_timestamp(seconds, 0).unwrap());
        assert!(at(-86_400) < at(0));
        assert!(at(9) < at(10));
        assert!(at(1_700_000_000) < at(17_000_000_000));
    }

    #[test]
    fn a_shorter_sequencer_is_padded_on_the_right() {
        let order = SourceOrder::of_sequencer;
        assert_eq!(order("0055ae"), order("0055AE00"));
        assert!(order("0055AED6DCD90281E5") < order("0055AED6DCD90281E6"));
        assert!(order("0055AE") < order("0055AE01"));
    }
}
