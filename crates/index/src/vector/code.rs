//! One bit per dimension, and what is needed to guess an inner product from it.
//!
//! A vector is stored as the signs of its difference `r` from its posting's
//! centroid `c`, all rotated (after RaBitQ, Gao and Long 2024). With `o` the
//! direction of `r` and `s` that of its signs, `<r, v>` is close to
//! `|r| <s, v> / <s, o>`, without bias. A query splits as
//! `<x, q> = <c, q> + <r, c> + <r, q - c>`: the first two are exact, and the
//! guess is made on the short vector `q - c`.

use crate::vector::bits::Bits;
use crate::vector::simd;

/// The query is cut to this many bits a dimension.
const PLANES: usize = 4;

/// The decoded entries of a posting, in the order they were added.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Codes {
    pub ids: Vec<u32>,
    pub numbers: Vec<u32>,
    /// `|r| / (<s, o> sqrt(d))`: what one agreeing sign is worth.
    scales: Vec<f32>,
    /// `<r, c>`.
    shifts: Vec<f32>,
    signs: Vec<u64>,
}

pub fn words(dimensions: usize) -> usize {
    dimensions.div_ceil(64)
}

impl Codes {
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn bytes(&self) -> usize {
        self.ids.len() * 16 + self.signs.len() * 8
    }

    /// Adds a rotated vector under a rotated centroid.
    pub fn push(&mut self, id: u32, number: u32, vector: &[f32], centroid: &[f32]) {
        let rest: Vec<f32> = vector.iter().zip(centroid).map(|(x, c)| x - c).collect();
        let length = simd::dot(&rest, &rest).sqrt();
        let sum: f32 = rest.iter().map(|x| x.abs()).sum();
        // <s, o> = sum / (length sqrt(d)), so the scale is length² / sum.
        let scale = if sum > 0.0 {
            length * length / sum
        } else {
            0.0
        };
        self.ids.push(id);
        self.numbers.push(number);
        self.scales.push(scale);
        self.shifts.push(simd::dot(&rest, centroid));
        for part in rest.chunks(64) {
            let bits = part.iter().enumerate();
            let word = bits.fold(0, |word, (at, x)| word | u64::from(*x > 0.0) << at);
            self.signs.push(word);
        }
    }

    /// Entries among the first `count` whose ids are valid.
    pub fn valid(&self, count: u32, deleted: &Bits) -> Vec<u32> {
        let is_valid = |at: &u32| !deleted.contains(self.ids[*at as usize]);
        (0..count).filter(is_valid).collect()
    }

    /// Some of the entries.
    pub fn pick(&self, picked: &[u32], dimensions: usize) -> Self {
        let words = words(dimensions);
        let mut codes = Self::default();
        for at in picked.iter().map(|at| *at as usize) {
            codes.ids.push(self.ids[at]);
            codes.numbers.push(self.numbers[at]);
            codes.scales.push(self.scales[at]);
            codes.shifts.push(self.shifts[at]);
            let signs = &self.signs[at * words..(at + 1) * words];
            codes.signs.extend_from_slice(signs);
        }
        codes
    }

    pub fn append(&mut self, mut other: Self) {
        self.ids.append(&mut other.ids);
        self.numbers.append(&mut other.numbers);
        self.scales.append(&mut other.scales);
        self.shifts.append(&mut other.shifts);
        self.signs.append(&mut other.signs);
    }

    /// Guesses the inner products of the picked entries with a query.
    pub fn guess(&self, query: &Query, picked: &[u32], mut each: impl FnMut(u32, f32)) {
        let mut sums = Vec::with_capacity(picked.len());
        simd::code_sums(&self.signs, &query.planes, picked, &mut sums);
        for (entry, (ones, weighted)) in picked.iter().zip(&sums) {
            let at = *entry as usize;
            // The sum of q - c over the set signs, less that over the others.
            let set = query.low * *ones as f32 + query.step * *weighted as f32;
            let agreement = 2.0 * set - query.sum;
            each(
                *entry,
                query.base + self.shifts[at] + self.scales[at] * agreement,
            );
        }
    }

    /// `version | count | ids | numbers | scales | shifts | signs`
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(5 + self.bytes());
        bytes.push(1);
        bytes.extend((self.len() as u32).to_le_bytes());
        bytes.extend(self.ids.iter().flat_map(|x| x.to_le_bytes()));
        bytes.extend(self.numbers.iter().flat_map(|x| x.to_le_bytes()));
        bytes.extend(self.scales.iter().flat_map(|x| x.to_le_bytes()));
        bytes.extend(self.shifts.iter().flat_map(|x| x.to_le_bytes()));
        bytes.extend(self.signs.iter().flat_map(|x| x.to_le_bytes()));
        bytes
    }

    /// Reads blocks, one after another, as appending left them.
    pub fn read(mut bytes: &[u8], dimensions: usize) -> Option<Self> {
        let mut codes = Self::default();
        while let Some((version, rest)) = bytes.split_first() {
            let (count, rest) = rest.split_first_chunk::<4>()?;
            let count = u32::from_le_bytes(*count) as usize;
            let signs = count * words(dimensions);
            if *version != 1 || rest.len() < count * 16 + signs * 8 {
                return None;
            }
            let (ids, rest) = rest.split_at(count * 4);
            let (numbers, rest) = rest.split_at(count * 4);
            let (scales, rest) = rest.split_at(count * 4);
            let (shifts, rest) = rest.split_at(count * 4);
            let (signs, rest) = rest.split_at(signs * 8);
            codes.ids.extend(quads(ids).map(u32::from_le_bytes));
            codes.numbers.extend(quads(numbers).map(u32::from_le_bytes));
            codes.scales.extend(quads(scales).map(f32::from_le_bytes));
            codes.shifts.extend(quads(shifts).map(f32::from_le_bytes));
            let eights = signs.as_chunks::<8>().0.iter();
            codes.signs.extend(eights.map(|b| u64::from_le_bytes(*b)));
            bytes = rest;
        }
        Some(codes)
    }
}

fn quads(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> + '_ {
    bytes.as_chunks::<4>().0.iter().copied()
}

/// A query as one posting's entries are compared with it.
pub struct Query {
    /// `<c, q>`.
    base: f32,
    /// The sum of `q - c`.
    sum: f32,
    low: f32,
    step: f32,
    /// Bit planes of `q - c` in steps above `low`, plane by plane for each word.
    planes: Vec<[u64; PLANES]>,
}

impl Query {
    pub fn new(query: &[f32], centroid: &[f32]) -> Self {
        let rest: Vec<f32> = query.iter().zip(centroid).map(|(q, c)| q - c).collect();
        let low = rest.iter().copied().fold(f32::INFINITY, f32::min);
        let high = rest.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let top = (1_u32 << PLANES) - 1;
        let step = ((high - low) / top as f32).max(f32::MIN_POSITIVE);
        let inverse = 1.0 / step;
        let mut planes = vec![[0_u64; PLANES]; words(rest.len())];
        for (part, planes) in rest.chunks(64).zip(&mut planes) {
            for (at, x) in part.iter().enumerate() {
                let level = (((x - low) * inverse + 0.5) as u32).min(top);
                for (bit, plane) in planes.iter_mut().enumerate() {
                    *plane |= u64::from(level >> bit & 1) << at;
                }
            }
        }
        Self {
            base: simd::dot(query, centroid),
            sum: rest.iter().sum(),
            low,
            step,
            planes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::rotate::{Rotation, split_mix};

    fn unit(state: &mut u64, dimensions: usize) -> Vec<f32> {
        let draw = |state: &mut u64| (split_mix(state) >> 40) as f32 / (1 << 24) as f32 - 0.5;
        let raw: Vec<f32> = (0..dimensions).map(|_| draw(state)).collect();
        let length = simd::dot(&raw, &raw).sqrt();
        raw.iter().map(|x| x / length).collect()
    }

    #[test]
    fn guesses_are_close_and_unbiased() {
        let (mut state, dimensions) = (1, 384);
        let rotation = Rotation::new(dimensions);
        let mut draw = || rotation.apply(&unit(&mut state, dimensions));
        let mut errors = Vec::new();
        for _ in 0..50 {
            let (centroid, query) = (draw(), draw());
            let vectors: Vec<_> = (0..20).map(|_| draw()).collect();
            let mut codes = Codes::default();
            for vector in &vectors {
                codes.push(0, 0, vector, &centroid);
            }
            let picked: Vec<u32> = (0..20).collect();
            codes.guess(&Query::new(&query, &centroid), &picked, |entry, guess| {
                errors.push(guess - simd::dot(&vectors[entry as usize], &query));
            });
        }
        let count = errors.len() as f32;
        let mean = errors.iter().sum::<f32>() / count;
        let spread = (errors.iter().map(|e| e * e).sum::<f32>() / count).sqrt();
        assert!(mean.abs() < 0.02 && spread < 0.12, "{mean} {spread}");
    }

    #[test]
    fn entries_survive_being_written_in_blocks() {
        let mut state = 3;
        let centroid = unit(&mut state, 70);
        let mut whole = Codes::default();
        let mut bytes = Vec::new();
        for block in 0..3 {
            let mut codes = Codes::default();
            for entry in 0..=block {
                codes.push(entry, block, &unit(&mut state, 70), &centroid);
            }
            bytes.extend(codes.write());
            whole.append(codes);
        }
        assert_eq!(Codes::read(&bytes, 70), Some(whole));
        assert_eq!(Codes::read(&bytes[..bytes.len() - 1], 70), None);
    }
}
