//! Opens SlateDB the way this store needs it, and reads what it is at.

use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;
use slatedb::config::{CompressionCodec, GarbageCollectorOptions, ScanOptions};
use slatedb::db_cache::moka::{MokaCache, MokaCacheOptions};
use slatedb::{Db, DbReadOps};

use crate::key::META;
use crate::merge::AddUp;
use crate::sample::Micros;
use crate::tier::Tier;
use crate::{Error, Settings};

const FORMAT: u8 = 1;
const MIB: usize = 1 << 20;
/// How often a store that does not answer is asked again before a flush fails.
const MAX_RETRIES: u32 = 8;

/// What the store is at: written with every flush.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meta {
    pub flush: u64,
    pub next_number: u32,
    /// Per tier, where what it holds begins.
    pub horizons: [Micros; 3],
}

impl Meta {
    fn new() -> Self {
        Self {
            flush: 0,
            next_number: 1,
            horizons: [0; 3],
        }
    }

    pub fn horizon(&self, tier: Tier) -> Micros {
        self.horizons[tier as usize]
    }

    /// `format (1) flush (8) next number (4) horizons (3 × 8)`, big-endian.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        out.extend_from_slice(&self.flush.to_be_bytes());
        out.extend_from_slice(&self.next_number.to_be_bytes());
        for horizon in self.horizons {
            out.extend_from_slice(&horizon.to_be_bytes());
        }
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        match bytes.first() {
            Some(&FORMAT) if bytes.len() == 37 => {}
            Some(&found) if found != FORMAT => {
                return Err(Error::Newer {
                    found,
                    known: FORMAT,
                });
            }
            _ => return Err(Error::corrupt("what the store is at")),
        }
        let long = |at: usize| bytes[at..at + 8].try_into().expect("eight bytes");
        Ok(Self {
            flush: u64::from_be_bytes(long(1)),
            next_number: u32::from_be_bytes(bytes[9..13].try_into().expect("four bytes")),
            horizons: [13, 21, 29].map(|at| i64::from_be_bytes(long(at))),
        })
    }

    pub async fn read(from: &(impl DbReadOps + Sync)) -> Result<Self, Error> {
        match from.get(META).await? {
            Some(bytes) => Self::decode(&bytes),
            None => Ok(Self::new()),
        }
    }
}

pub(crate) async fn open(
    objects: Arc<dyn ObjectStore>,
    path: &str,
    settings: &Settings,
) -> Result<Db, Error> {
    let cache = MokaCache::new_with_opts(MokaCacheOptions {
        max_capacity: settings.cache_bytes,
        ..MokaCacheOptions::default()
    });
    Db::builder(path.to_owned(), objects)
        .with_settings(slate_settings())
        .with_merge_operator(Arc::new(AddUp))
        .with_db_cache(Arc::new(cache), 0)
        .build()
        .await
        .map_err(Error::at_opening)
}

fn slate_settings() -> slatedb::Settings {
    slatedb::Settings {
        // Figures are not money: a crash may take the last second of them.
        flush_interval: Some(Duration::from_secs(1)),
        l0_sst_size_bytes: 16 * MIB,
        max_unflushed_bytes: 64 * MIB,
        compression_codec: Some(CompressionCodec::Zstd),
        object_store_max_retries: Some(MAX_RETRIES),
        garbage_collector_options: Some(GarbageCollectorOptions {
            // On a folder their dates would keep manifests for ever.
            boundary_files_enabled: false,
            object_store_max_retries: Some(MAX_RETRIES),
            ..GarbageCollectorOptions::default()
        }),
        ..slatedb::Settings::default()
    }
}

pub(crate) fn scan_options() -> ScanOptions {
    ScanOptions::default()
        .with_read_ahead_bytes(4 * MIB)
        .with_max_fetch_tasks(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes on disk are a promise. This holds them still.
    #[test]
    fn meta_bytes_do_not_move() {
        let meta = Meta {
            flush: 258,
            next_number: 3,
            horizons: [1, 2, 255],
        };
        let bytes = meta.encode();
        assert_eq!(bytes[..13], *b"\x01\0\0\0\0\0\0\x01\x02\0\0\0\x03");
        assert_eq!(
            bytes[13..],
            *b"\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\xff"
        );
        assert_eq!(Meta::decode(&bytes).unwrap(), meta);
        assert!(matches!(
            Meta::decode(&[2]),
            Err(Error::Newer { found: 2, .. })
        ));
        assert!(Meta::decode(&bytes[..20]).is_err());
    }
}
