//! How writes to one record add up inside the store.
//!
//! Bitmaps join. Samples and summaries are put in order of time, the later write
//! winning where two meet, so a write repeated after a lost answer changes nothing.

use bytes::Bytes;
use roaring::RoaringBitmap;
use slatedb::{MergeOperator, MergeOperatorError};

use crate::Error;
use crate::codec::{decode_samples, decode_summaries, encode_samples, encode_summaries};
use crate::key::{PAIRS, SAMPLES};
use crate::page;
use crate::sample::Micros;
use crate::tier::Tier;

pub(crate) struct AddUp;

impl MergeOperator for AddUp {
    fn merge(
        &self,
        key: &Bytes,
        existing: Option<Bytes>,
        operand: Bytes,
    ) -> Result<Bytes, MergeOperatorError> {
        self.merge_batch(key, existing, &[operand])
    }

    fn merge_batch(
        &self,
        key: &Bytes,
        existing: Option<Bytes>,
        operands: &[Bytes],
    ) -> Result<Bytes, MergeOperatorError> {
        let parts = existing.iter().chain(operands);
        let merged = match key.first() {
            Some(&PAIRS) => join(parts),
            Some(&SAMPLES) if key.get(1) == Some(&(Tier::Samples as u8)) => pages(parts, |held| {
                in_order(held, decode_samples, |s| s.at).map(|all| encode_samples(&all))
            }),
            Some(&SAMPLES) => pages(parts, |held| {
                in_order(held, decode_summaries, |s| s.since).map(|all| encode_summaries(&all))
            }),
            _ => Err(Error::corrupt("a record that is never merged was merged")),
        };
        merged
            .map(Bytes::from)
            .map_err(|error| MergeOperatorError::Callback {
                message: error.to_string(),
            })
    }
}

fn join<'a>(parts: impl Iterator<Item = &'a Bytes>) -> Result<Vec<u8>, Error> {
    let mut all = RoaringBitmap::new();
    for part in parts {
        all |= decode_bitmap(part)?;
    }
    Ok(encode_bitmap(&all))
}

/// What each series holds, added up.
fn pages<'a>(
    pages: impl Iterator<Item = &'a Bytes>,
    add_up: impl Fn(&[&[u8]]) -> Result<Vec<u8>, Error>,
) -> Result<Vec<u8>, Error> {
    let mut held = vec![Vec::new(); page::SERIES];
    for page in pages {
        for (place, part) in page::parts(page)? {
            held[place].push(part);
        }
    }
    let mut all = page::empty();
    for (place, parts) in held.iter().enumerate() {
        match &parts[..] {
            [] => {}
            [alone] => page::push(&mut all, place, alone),
            parts => page::push(&mut all, place, &add_up(parts)?),
        }
    }
    Ok(all)
}

fn in_order<T: Copy>(
    parts: &[&[u8]],
    decode: impl Fn(&[u8]) -> Result<Vec<T>, Error>,
    at: impl Fn(&T) -> Micros,
) -> Result<Vec<T>, Error> {
    let mut all = vec![];
    for part in parts {
        all.extend(decode(part)?);
    }
    Ok(latest_of_each(all, at))
}

/// In order of time; of two at the same time, the one that came later.
pub(crate) fn latest_of_each<T: Copy>(mut all: Vec<T>, at: impl Fn(&T) -> Micros) -> Vec<T> {
    // A stable sort: among equals the later write stays behind, where it is found below.
    all.sort_by_key(&at);
    let mut kept: Vec<T> = Vec::with_capacity(all.len());
    for one in all {
        match kept.last_mut() {
            Some(last) if at(last) == at(&one) => *last = one,
            _ => kept.push(one),
        }
    }
    kept
}

pub(crate) fn encode_bitmap(bitmap: &RoaringBitmap) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(bitmap.serialized_size());
    bitmap
        .serialize_into(&mut bytes)
        .expect("memory takes what is written");
    bytes
}

pub(crate) fn decode_bitmap(bytes: &[u8]) -> Result<RoaringBitmap, Error> {
    RoaringBitmap::deserialize_from(bytes).map_err(|error| Error::corrupt(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key;
    use crate::page::Page;
    use crate::sample::Sample;

    /// A page of three series, each with these samples and values of its own.
    fn operand(samples: &[(i64, f64)]) -> Bytes {
        let mut page = page::empty();
        for place in [0, 1, 31] {
            let own = |&(at, value)| Sample {
                at,
                value: value + place as f64,
            };
            let samples: Vec<_> = samples.iter().map(own).collect();
            page::push(&mut page, place, &encode_samples(&samples));
        }
        page.into()
    }

    #[test]
    fn merging_is_associative_and_a_repeat_changes_nothing() {
        let bucket = Tier::Samples.bucket(0).unwrap();
        let key = Bytes::copy_from_slice(&key::samples(bucket, Page(1)));
        let parts = [
            operand(&[(5, 1.0), (9, 2.0)]),
            operand(&[(7, 3.0), (9, 4.0)]),
            operand(&[(1, 5.0)]),
        ];
        let merge = |parts: &[Bytes]| AddUp.merge_batch(&key, None, parts).unwrap();
        let all = merge(&parts);
        assert_eq!(all, operand(&[(1, 5.0), (5, 1.0), (7, 3.0), (9, 4.0)]));
        assert_eq!(all, merge(&[parts[0].clone(), merge(&parts[1..])]));
        assert_eq!(all, merge(&[merge(&parts[..2]), parts[2].clone()]));
        assert_eq!(all, merge(&[all.clone(), parts[2].clone()]));
    }
}
