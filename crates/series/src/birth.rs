//! Since when each series of a page holds anything, so that nobody looks for what came before.
//!
//! ```text
//! version 1 | per place in the page: the number of its first bucket of samples (4, big-endian)
//! ```
//! Zero where nothing is known: of series that are older than these notes. All others may hold
//! something later than their birth and nothing earlier: a sample that comes late lowers it.

use slatedb::DbReadOps;

use crate::Error;
use crate::key::{self, Number};
use crate::page::{self, Page};
use crate::sample::Micros;
use crate::tier::{Bucket, Tier};

const VERSION: u8 = 1;
/// Of a series that holds nothing yet.
const NEVER: u32 = u32::MAX;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Births {
    first: [u32; page::SERIES],
    /// Not what the store has.
    pub changed: bool,
}

impl Births {
    pub fn unknown() -> Self {
        Self {
            first: [0; page::SERIES],
            changed: false,
        }
    }

    pub async fn read(store: &(impl DbReadOps + Sync), page: Page) -> Result<Self, Error> {
        match store.get(key::births(page)).await? {
            Some(stored) => Self::decode(&stored),
            None => Ok(Self::unknown()),
        }
    }

    /// A series that has just got its number.
    pub fn add(&mut self, number: Number) {
        self.first[page::place(number)] = NEVER;
        self.changed = true;
    }

    /// It holds something in this bucket.
    pub fn note(&mut self, number: Number, bucket: Bucket) {
        let first = &mut self.first[page::place(number)];
        if bucket.index < *first {
            *first = bucket.index;
            self.changed = true;
        }
    }

    /// A time before which it holds nothing.
    pub fn of(&self, number: Number) -> Micros {
        let bucket = Bucket {
            tier: Tier::Samples,
            index: self.first[page::place(number)],
        };
        bucket.start()
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend(self.first.iter().flat_map(|first| first.to_be_bytes()));
        out
    }

    fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let rest = match bytes.split_first() {
            Some((&VERSION, rest)) if rest.len() == page::SERIES * 4 => rest,
            Some((&found, _)) if found != VERSION => {
                return Err(Error::Newer {
                    found,
                    known: VERSION,
                });
            }
            _ => return Err(Error::corrupt("when series began")),
        };
        let mut births = Self::unknown();
        for (first, stored) in births.first.iter_mut().zip(rest.chunks_exact(4)) {
            *first = u32::from_be_bytes(stored.try_into().expect("four bytes"));
        }
        Ok(births)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes on disk are a promise. This holds them still.
    #[test]
    fn birth_bytes_do_not_move() {
        let mut births = Births::unknown();
        births.add(Number(33));
        births.add(Number(34));
        for index in [480_001, 480_000, 480_002] {
            let bucket = Bucket {
                tier: Tier::Samples,
                index,
            };
            births.note(Number(32), bucket);
            births.note(Number(33), bucket);
        }
        let bytes = births.encode();
        assert_eq!(bytes[..13], *b"\x01\0\0\0\0\0\x07\x53\0\xff\xff\xff\xff");
        assert_eq!(bytes.len(), 129);
        let stored = Births::decode(&bytes).unwrap();
        assert!(births.changed && !stored.changed);
        let began = [32, 33, 34].map(|number| stored.of(Number(number)));
        assert_eq!(began, [0, 480_000 * 3_600_000_000, Micros::MAX]);
        assert!(Births::decode(&bytes[..128]).is_err());
        assert!(matches!(
            Births::decode(&[2]),
            Err(Error::Newer { found: 2, .. })
        ));
    }
}
