//! How samples and summaries are written down.
//!
//! ```text
//! samples    version 1 | count | per sample: time, value
//! summaries  version 1 | count | per summary: since, until, count, then six values
//! ```
//! Whole numbers are varints; a time is the difference to the one before it, and
//! a value the bits in which it differs from the one before it, low byte first
//! turned round, so that steady figures take a byte or two.

use crate::Error;
use crate::sample::{Sample, Summary};

const VERSION: u8 = 1;

pub(crate) fn encode_samples(samples: &[Sample]) -> Vec<u8> {
    let mut out = Writer::new(samples.len());
    for sample in samples {
        out.time(sample.at);
        out.value(sample.value);
    }
    out.bytes
}

pub(crate) fn decode_samples(bytes: &[u8]) -> Result<Vec<Sample>, Error> {
    decode(bytes, |input| {
        Some(Sample {
            at: input.time()?,
            value: input.value()?,
        })
    })
}

pub(crate) fn encode_summaries(summaries: &[Summary]) -> Vec<u8> {
    let mut out = Writer::new(summaries.len());
    for s in summaries {
        out.time(s.since);
        out.time(s.until);
        out.number(s.count);
        for value in [s.sum, s.min, s.max, s.first, s.last, s.rise] {
            out.value(value);
        }
    }
    out.bytes
}

pub(crate) fn decode_summaries(bytes: &[u8]) -> Result<Vec<Summary>, Error> {
    decode(bytes, |input| {
        Some(Summary {
            since: input.time()?,
            until: input.time()?,
            count: input.number()?,
            sum: input.value()?,
            min: input.value()?,
            max: input.value()?,
            first: input.value()?,
            last: input.value()?,
            rise: input.value()?,
        })
    })
}

fn decode<T>(bytes: &[u8], one: impl Fn(&mut Reader<'_>) -> Option<T>) -> Result<Vec<T>, Error> {
    match bytes.split_first() {
        Some((&VERSION, rest)) => {
            decode_items(rest, one).ok_or_else(|| Error::corrupt("samples end too early"))
        }
        Some((&found, _)) => Err(Error::Newer {
            found,
            known: VERSION,
        }),
        None => Err(Error::corrupt("samples are empty")),
    }
}

fn decode_items<T>(bytes: &[u8], one: impl Fn(&mut Reader<'_>) -> Option<T>) -> Option<Vec<T>> {
    let mut input = Reader {
        bytes,
        time: 0,
        bits: 0,
    };
    let count = input.number()?;
    // Each item takes two bytes at least: a false count cannot ask for much memory.
    let mut items = Vec::with_capacity((count as usize).min(bytes.len()));
    for _ in 0..count {
        items.push(one(&mut input)?);
    }
    input.bytes.is_empty().then_some(items)
}

pub(crate) fn write_number(into: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        into.push(n as u8 | 0x80);
        n >>= 7;
    }
    into.push(n as u8);
}

pub(crate) fn read_number(from: &mut &[u8]) -> Option<u64> {
    let mut n = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        n |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(n);
        }
    }
    None
}

struct Writer {
    bytes: Vec<u8>,
    time: i64,
    bits: u64,
}

impl Writer {
    fn new(count: usize) -> Self {
        let mut new = Self {
            bytes: Vec::with_capacity(2 + count * 8),
            time: 0,
            bits: 0,
        };
        new.bytes.push(VERSION);
        new.number(count as u64);
        new
    }

    fn number(&mut self, n: u64) {
        write_number(&mut self.bytes, n);
    }

    fn time(&mut self, at: i64) {
        let step = at.wrapping_sub(self.time);
        self.number(((step << 1) ^ (step >> 63)) as u64);
        self.time = at;
    }

    fn value(&mut self, value: f64) {
        let bits = value.to_bits();
        self.number((bits ^ self.bits).swap_bytes());
        self.bits = bits;
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    time: i64,
    bits: u64,
}

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        read_number(&mut self.bytes)
    }

    fn time(&mut self) -> Option<i64> {
        let zigzag = self.number()?;
        let step = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        self.time = self.time.wrapping_add(step);
        Some(self.time)
    }

    fn value(&mut self) -> Option<f64> {
        self.bits ^= self.number()?.swap_bytes();
        Some(f64::from_bits(self.bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes on disk are a promise. This holds them still.
    #[test]
    fn sample_bytes_do_not_move() {
        let samples =
            [(1_000, 1.0), (2_000, 1.0), (1_500, -2.5)].map(|(at, value)| Sample { at, value });
        let bytes = encode_samples(&samples);
        assert_eq!(
            bytes,
            [
                1, 3, 0xd0, 0x0f, 0xbf, 0xe0, 0x03, 0xd0, 0x0f, 0, 0xe7, 0x07, 0xff, 0xe9, 0x03
            ]
        );
        assert_eq!(decode_samples(&bytes).unwrap(), samples);
    }

    #[test]
    fn extremes_survive_and_damage_is_told() {
        let samples = [(i64::MIN, f64::MIN), (i64::MAX, f64::MAX), (0, -0.0)]
            .map(|(at, value)| Sample { at, value });
        let bytes = encode_samples(&samples);
        assert_eq!(decode_samples(&bytes).unwrap(), samples);
        let summaries = samples.map(Summary::from);
        let other = encode_summaries(&summaries);
        assert_eq!(decode_summaries(&other).unwrap(), summaries);
        for cut in 0..bytes.len() {
            assert!(decode_samples(&bytes[..cut]).is_err());
        }
        assert!(matches!(
            decode_samples(&[9, 0]),
            Err(Error::Newer { found: 9, .. })
        ));
        assert!(decode_samples(&[1, 0xff, 0xff, 0xff, 0xff, 0x0f]).is_err());
    }
}
