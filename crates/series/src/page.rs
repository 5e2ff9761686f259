//! What neighbouring series hold in one bucket of time, in one record.
//!
//! ```text
//! version 1 | per series: place in the page (1), length (varint), what `codec` writes
//! ```
//! A store pays for every record, and the more for each, the more there are. Series that
//! were numbered one after another are mostly reported together, so a flush has one record
//! for a page of them.

use crate::Error;
use crate::codec::{read_number, write_number};
use crate::key::Number;

const VERSION: u8 = 1;
/// Series of a page. More would spare little more, and to read one is to read its page.
pub(crate) const SERIES: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Page(pub u32);

impl Page {
    pub fn of(number: Number) -> Self {
        Self(number.0 / SERIES as u32)
    }

    pub fn number(self, place: usize) -> Number {
        // A damaged key may name a page beyond all numbers; it is nobody's then.
        Number(
            self.0
                .wrapping_mul(SERIES as u32)
                .wrapping_add(place as u32),
        )
    }
}

/// Where in its page a series stands.
pub(crate) fn place(number: Number) -> usize {
    number.0 as usize % SERIES
}

pub(crate) fn empty() -> Vec<u8> {
    vec![VERSION]
}

/// Adds what a series holds.
pub(crate) fn push(page: &mut Vec<u8>, place: usize, held: &[u8]) {
    page.push(place as u8);
    write_number(page, held.len() as u64);
    page.extend_from_slice(held);
}

/// The places taken, with what their series hold.
pub(crate) fn parts(page: &[u8]) -> Result<Vec<(usize, &[u8])>, Error> {
    match page.split_first() {
        Some((&VERSION, rest)) => {
            read_parts(rest).ok_or_else(|| Error::corrupt("a page of samples ends too early"))
        }
        Some((&found, _)) => Err(Error::Newer {
            found,
            known: VERSION,
        }),
        None => Err(Error::corrupt("a page of samples is empty")),
    }
}

fn read_parts(mut bytes: &[u8]) -> Option<Vec<(usize, &[u8])>> {
    let mut parts = Vec::with_capacity(SERIES);
    while let Some((&place, rest)) = bytes.split_first() {
        bytes = rest;
        let length = usize::try_from(read_number(&mut bytes)?).ok()?;
        let (held, rest) = bytes.split_at_checked(length)?;
        if usize::from(place) >= SERIES {
            return None;
        }
        parts.push((usize::from(place), held));
        bytes = rest;
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes on disk are a promise. This holds them still.
    #[test]
    fn page_bytes_do_not_move() {
        let mut page = empty();
        push(&mut page, place(Number(70)), b"ab");
        push(&mut page, 31, &[7; 130]);
        assert_eq!(page[..8], *b"\x01\x06\x02ab\x1f\x82\x01");
        let parts = parts(&page).unwrap();
        assert_eq!(parts, [(6, &b"ab"[..]), (31, &[7; 130])]);
        assert_eq!(Page::of(Number(70)).number(6), Number(70));
    }

    #[test]
    fn damage_is_told() {
        let mut page = empty();
        push(&mut page, 3, b"abc");
        for cut in 2..page.len() {
            assert!(parts(&page[..cut]).is_err(), "{cut}");
        }
        assert!(matches!(parts(&[9]), Err(Error::Newer { found: 9, .. })));
        assert!(parts(&[]).is_err());
        assert!(parts(&[1, 32, 0]).is_err());
    }
}
