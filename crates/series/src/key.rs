//! Where records lie.
//!
//! ```text
//! m                                  what the store is at: format, flush, next number, horizons
//! f  fingerprint (16)                the number of a series
//! s  number (4)                      the labels of a series
//! i  label NUL value NUL             the numbers of the series that carry it, a bitmap
//! b  page (4)                        since when neighbouring series hold anything
//! p  tier (1) bucket (4) page (4)    the samples of neighbouring series in one bucket of time
//! ```
//! Numbers are big-endian. A bucket is one range of keys: to drop it is to drop a range.

use crate::label::Fingerprint;
use crate::page::Page;
use crate::tier::{Bucket, Tier};

/// The number of a series inside the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Number(pub u32);

pub(crate) const META: &[u8] = b"m";
pub(crate) const NUMBERS: u8 = b'f';
pub(crate) const PAIRS: u8 = b'i';
pub(crate) const SAMPLES: u8 = b'p';

pub(crate) fn number_of(fingerprint: Fingerprint) -> [u8; 17] {
    let mut key = [NUMBERS; 17];
    key[1..].copy_from_slice(&fingerprint.0);
    key
}

pub(crate) fn labels_of(number: Number) -> [u8; 5] {
    let mut key = [b's'; 5];
    key[1..].copy_from_slice(&number.0.to_be_bytes());
    key
}

pub(crate) fn pair(name: &str, value: &str) -> Vec<u8> {
    let mut key = pairs(name);
    key.extend_from_slice(value.as_bytes());
    key.push(0);
    key
}

/// Begins the keys of all values of a label.
pub(crate) fn pairs(name: &str) -> Vec<u8> {
    let mut key = vec![PAIRS];
    key.extend_from_slice(name.as_bytes());
    key.push(0);
    key
}

/// The value in a key that begins with `pairs(name)`.
pub(crate) fn value_of<'k>(key: &'k [u8], name: &str) -> Option<&'k str> {
    let rest = key.get(name.len() + 2..)?.strip_suffix(&[0])?;
    std::str::from_utf8(rest).ok()
}

pub(crate) fn births(page: Page) -> [u8; 5] {
    let mut key = [b'b'; 5];
    key[1..].copy_from_slice(&page.0.to_be_bytes());
    key
}

pub(crate) fn samples(bucket: Bucket, page: Page) -> [u8; 10] {
    let mut key = [SAMPLES; 10];
    key[..6].copy_from_slice(&samples_in(bucket));
    key[6..].copy_from_slice(&page.0.to_be_bytes());
    key
}

/// Begins the keys of all samples of a bucket.
pub(crate) fn samples_in(bucket: Bucket) -> [u8; 6] {
    let mut key = [SAMPLES; 6];
    key[1] = bucket.tier as u8;
    key[2..].copy_from_slice(&bucket.index.to_be_bytes());
    key
}

/// What a key of samples says.
pub(crate) fn read_samples(key: &[u8]) -> Option<(Bucket, Page)> {
    let key: &[u8; 10] = key.try_into().ok()?;
    let word = |at: usize| u32::from_be_bytes(key[at..at + 4].try_into().expect("four bytes"));
    let bucket = Bucket {
        tier: Tier::from_byte(key[1])?,
        index: word(2),
    };
    Some((bucket, Page(word(6))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes on disk are a promise. This holds them still.
    #[test]
    fn key_bytes_do_not_move() {
        let bucket = Bucket {
            tier: Tier::Minutes,
            index: 20_000,
        };
        let key = samples(bucket, Page(258));
        assert_eq!(&key, b"p\x01\0\0\x4e\x20\0\0\x01\x02");
        assert_eq!(read_samples(&key), Some((bucket, Page(258))));
        assert_eq!(pair("kb", "x"), b"ikb\0x\0");
        assert_eq!(value_of(b"ikb\0x\0", "kb"), Some("x"));
        assert_eq!(labels_of(Number(1)), *b"s\0\0\0\x01");
        assert_eq!(births(Page(258)), *b"b\0\0\x01\x02");
        assert_eq!(number_of(Fingerprint([7; 16]))[..2], *b"f\x07");
    }
}
