//! One bit per dimension, and what is needed to guess an inner product from it.
//!
//! A vector is stored as the signs of its difference `r` from its posting's
//! centroid `c`, all rotated (after RaBitQ, Gao and Long 2024). With `o` the
//! direction of `r` and `s` that of its signs, `<r, v>` is close to
//! `|r| <s, v> / <s, o>`, without bias. A query splits as
//! `<x, q> = <c, q> + <r, c> + <r, q - c>`; the first two are exact, and the
//! guess is made on the short vector `q - c`. As `<s, q - c> = <s, q> - <s, c>`,
//! what concerns `c` is a number per entry, and one table of `<s, q>` by half
//! bytes of signs, made once, serves every posting.
//!
//! In memory entries lie in blocks of 32, a byte of all of them side by side, so
//! that one instruction looks 32 half bytes up (after Quick ADC, André 2017).

use crate::vector::bits::Bits;
use crate::vector::simd::{self, BLOCK, Guessed, Line};

/// The usual error of a guess, in scales and lengths of `q - c`.
const USUAL_ERROR: f32 = 0.6;
/// Steps a table counts in: two of them add up to a byte.
const STEPS: f32 = 127.0;

/// The decoded entries of a posting, in the order they were added.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Codes {
    pub ids: Vec<u32>,
    pub numbers: Vec<u32>,
    factors: Vec<Factors>,
    columns: Vec<u8>,
}

/// What the signs of 32 entries are worth.
#[derive(Debug, Clone, PartialEq)]
struct Factors {
    /// `|r| / (<s, o> sqrt(d))`: what one agreeing sign is worth.
    scales: [f32; BLOCK],
    /// `<r, c>`, less what the guess would make of `c`.
    shifts: [f32; BLOCK],
}

pub fn bytes_of(dimensions: usize) -> usize {
    dimensions.div_ceil(8)
}

/// An entry as it is written.
struct Row {
    id: u32,
    number: u32,
    scale: f32,
    shift: f32,
}

impl Codes {
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn bytes(&self) -> usize {
        self.ids.len() * 8 + self.factors.len() * BLOCK * 8 + self.columns.len()
    }

    /// Has the first `count` entries fetched while something else is done.
    pub fn ahead(&self, count: usize) {
        let blocks = count.div_ceil(BLOCK).min(self.factors.len());
        let width = self.columns.len() / self.factors.len().max(1);
        simd::ahead(&self.columns[..blocks * width]);
        simd::ahead(&self.factors[..blocks]);
        simd::ahead(&self.numbers[..count.min(BLOCK)]);
    }

    /// Adds a rotated vector under a rotated centroid.
    pub fn push(&mut self, id: u32, number: u32, vector: &[f32], centroid: &[f32]) {
        let (mut length, mut sum, mut kept, mut signs_of_centroid) = (0.0, 0.0, 0.0, 0.0_f32);
        let mut signs = vec![0_u8; bytes_of(vector.len())];
        for (at, (x, c)) in vector.iter().zip(centroid).enumerate() {
            let rest = x - c;
            length += rest * rest;
            sum += rest.abs();
            kept += rest * c;
            signs_of_centroid += if rest > 0.0 { *c } else { -c };
            signs[at / 8] |= u8::from(rest > 0.0) << (at % 8);
        }
        // <s, o> = sum / (length sqrt(d)), so the scale is length² / sum.
        let scale = if sum > 0.0 { length / sum } else { 0.0_f32 };
        let shift = kept - scale * signs_of_centroid;
        let row = Row {
            id,
            number,
            scale,
            shift,
        };
        self.push_row(row, &signs);
    }

    /// Adds to what a guess at the last entry comes to.
    pub fn shift_last(&mut self, by: f32) {
        let last = self.len() - 1;
        self.factors[last / BLOCK].shifts[last % BLOCK] += by;
    }

    fn push_row(&mut self, row: Row, signs: &[u8]) {
        let at = self.len();
        if at.is_multiple_of(BLOCK) {
            self.factors.push(Factors {
                scales: [0.0; BLOCK],
                shifts: [0.0; BLOCK],
            });
            let block = self.columns.len() + signs.len() * BLOCK;
            self.columns.resize(block, 0);
        }
        let factors = &mut self.factors[at / BLOCK];
        factors.scales[at % BLOCK] = row.scale;
        factors.shifts[at % BLOCK] = row.shift;
        let first = at / BLOCK * signs.len() * BLOCK + simd::lane(at % BLOCK);
        for (column, byte) in signs.iter().enumerate() {
            self.columns[first + column * BLOCK] = *byte;
        }
        self.ids.push(row.id);
        self.numbers.push(row.number);
    }

    fn row(&self, at: usize) -> (Row, Vec<u8>) {
        let factors = &self.factors[at / BLOCK];
        let width = self.columns.len() / self.factors.len();
        let first = at / BLOCK * width + simd::lane(at % BLOCK);
        let columns = 0..width / BLOCK;
        let signs = columns.map(|column| self.columns[first + column * BLOCK]);
        let row = Row {
            id: self.ids[at],
            number: self.numbers[at],
            scale: factors.scales[at % BLOCK],
            shift: factors.shifts[at % BLOCK],
        };
        (row, signs.collect())
    }

    /// Entries among the first `count` whose ids are valid.
    pub fn valid(&self, count: u32, deleted: &Bits) -> Vec<u32> {
        let is_valid = |at: &u32| !deleted.contains(self.ids[*at as usize]);
        (0..count).filter(is_valid).collect()
    }

    /// Some of the entries.
    pub fn pick(&self, picked: &[u32]) -> Self {
        let mut codes = Self::default();
        for at in picked {
            let (row, signs) = self.row(*at as usize);
            codes.push_row(row, &signs);
        }
        codes
    }

    pub fn append(&mut self, other: &Self) {
        for at in 0..other.len() {
            let (row, signs) = other.row(at);
            self.push_row(row, &signs);
        }
    }

    /// Guesses at the first `count` entries under a centroid, and tells of those that may well
    /// reach what `floor` says at the time: which entry, the guess, and what it may be at most.
    pub fn guess(
        &self,
        query: &Query,
        under: Under,
        count: usize,
        mut floor: f32,
        mut each: impl FnMut(usize, f32, f32) -> f32,
    ) {
        let width = query.tables.len();
        let line = query.line(under);
        let blocks = self.columns.chunks_exact(width.max(1)).zip(&self.factors);
        let mut guessed = Guessed::default();
        for (block, (columns, factors)) in blocks.enumerate().take(count.div_ceil(BLOCK)) {
            let worth = (&factors.scales, &factors.shifts);
            simd::guess((columns, &query.tables), worth, line, floor, &mut guessed);
            let first = block * BLOCK;
            let mut reach = guessed.reach & u32::MAX >> (BLOCK - BLOCK.min(count - first));
            while reach != 0 {
                let lane = reach.trailing_zeros() as usize;
                reach &= reach - 1;
                // The floor may have risen since the block was looked at.
                if guessed.most[lane] >= floor {
                    floor = each(first + lane, guessed.guesses[lane], guessed.most[lane]);
                }
            }
        }
    }

    /// `version | count | ids | numbers | scales | shifts | signs, entry by entry`
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(5 + self.bytes());
        bytes.push(VERSION);
        bytes.extend((self.len() as u32).to_le_bytes());
        let rows: Vec<_> = (0..self.len()).map(|at| self.row(at)).collect();
        bytes.extend(self.ids.iter().flat_map(|x| x.to_le_bytes()));
        bytes.extend(self.numbers.iter().flat_map(|x| x.to_le_bytes()));
        bytes.extend(rows.iter().flat_map(|(row, _)| row.scale.to_le_bytes()));
        bytes.extend(rows.iter().flat_map(|(row, _)| row.shift.to_le_bytes()));
        bytes.extend(rows.iter().flat_map(|(_, signs)| signs));
        bytes
    }

    /// Reads blocks, one after another, as appending left them.
    pub fn read(mut bytes: &[u8], dimensions: usize) -> Option<Self> {
        let width = bytes_of(dimensions);
        let mut codes = Self::default();
        while let Some((version, rest)) = bytes.split_first() {
            let (count, rest) = rest.split_first_chunk::<4>()?;
            let count = u32::from_le_bytes(*count) as usize;
            // Without a width there are no entries, and so no block of them.
            if width == 0 || *version != VERSION || rest.len() < count * (16 + width) {
                return None;
            }
            let (numbers, rest) = rest.split_at(count * 16);
            let (signs, rest) = rest.split_at(count * width);
            let quads = numbers.as_chunks::<4>().0;
            for (at, signs) in (0..count).zip(signs.chunks_exact(width)) {
                let row = Row {
                    id: u32::from_le_bytes(quads[at]),
                    number: u32::from_le_bytes(quads[count + at]),
                    scale: f32::from_le_bytes(quads[2 * count + at]),
                    shift: f32::from_le_bytes(quads[3 * count + at]),
                };
                codes.push_row(row, signs);
            }
            bytes = rest;
        }
        Some(codes)
    }
}

/// Of a written block. Version 1 kept `<r, c>` alone as its shift; no release wrote it.
const VERSION: u8 = 2;

/// What concerns the centroid in a guess.
#[derive(Debug, Clone, Copy)]
pub struct Under {
    /// `<c, q>`.
    pub base: f32,
    /// `|q - c|`.
    pub distance: f32,
    /// How many times the usual error a guess may be off.
    pub doubt: f32,
}

/// A query as codes are compared with it.
#[derive(Debug)]
pub struct Query {
    /// For each column of codes sixteen bytes for its low half, sixteen for its high: what the
    /// dimensions that are set there add up to, in steps.
    tables: Vec<u8>,
    slope: f32,
    offset: f32,
}

impl Query {
    pub fn new(query: &[f32]) -> Self {
        let width = bytes_of(query.len());
        let mut whole = query.to_vec();
        whole.resize(8 * width, 0.0);
        let fours = whole.as_chunks::<4>().0;
        let (mut least, mut widest) = (0.0, f32::MIN_POSITIVE);
        for values in fours {
            let low: f32 = values.iter().map(|x| x.min(0.0)).sum();
            let high: f32 = values.iter().map(|x| x.max(0.0)).sum();
            least += low;
            widest = (high - low).max(widest);
        }
        let step = widest / STEPS;
        let tables = simd::tables(fours, 1.0 / step);
        // The sum over set dimensions less that over the others, from the sum of steps.
        Self {
            tables,
            slope: 2.0 * step,
            offset: 2.0 * least - query.iter().sum::<f32>(),
        }
    }

    fn line(&self, under: Under) -> Line {
        Line {
            base: under.base,
            slope: self.slope,
            offset: self.offset,
            doubt: under.doubt * USUAL_ERROR * under.distance,
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

    /// Errors of guesses, and in how many usual errors they are.
    fn errors(dimensions: usize) -> Vec<(f32, f32)> {
        let mut state = 1;
        let rotation = Rotation::new(dimensions);
        let mut draw = || rotation.apply(&unit(&mut state, dimensions));
        let mut errors = Vec::new();
        for _ in 0..50 {
            let (centroid, query) = (draw(), draw());
            let vectors: Vec<_> = (0..40).map(|_| draw()).collect();
            let mut codes = Codes::default();
            for vector in &vectors {
                codes.push(0, 0, vector, &centroid);
            }
            let apart: Vec<f32> = query.iter().zip(&centroid).map(|(q, c)| q - c).collect();
            let under = Under {
                base: simd::dot(&query, &centroid),
                distance: simd::dot(&apart, &apart).sqrt(),
                doubt: 1.0,
            };
            let all = f32::NEG_INFINITY;
            codes.guess(&Query::new(&query), under, 40, all, |at, guess, most| {
                let error = guess - simd::dot(&vectors[at], &query);
                errors.push((error, error / (most - guess)));
                all
            });
        }
        errors
    }

    #[test]
    fn guesses_are_close_and_unbiased_and_as_far_off_as_they_say() {
        for dimensions in [100, 384, 1536] {
            let errors = errors(dimensions);
            let count = errors.len() as f32;
            assert_eq!(errors.len(), 2000);
            let mean = errors.iter().map(|(e, _)| e).sum::<f32>() / count;
            let spread = |of: fn(&(f32, f32)) -> f32| {
                (errors.iter().map(|e| of(e) * of(e)).sum::<f32>() / count).sqrt()
            };
            let usual = 1.2 / (dimensions as f32).sqrt();
            assert!(mean.abs() < 0.01, "{dimensions}: {mean}");
            assert!(spread(|e| e.0) < 2.0 * usual, "{dimensions}");
            let told = spread(|e| e.1);
            assert!((0.8..1.2).contains(&told), "{dimensions}: {told}");
        }
    }

    #[test]
    fn entries_survive_being_written_in_blocks() {
        let mut state = 3;
        let centroid = unit(&mut state, 70);
        let mut whole = Codes::default();
        let mut bytes = Vec::new();
        for block in 0..10 {
            let mut codes = Codes::default();
            for entry in 0..=block {
                codes.push(entry, block, &unit(&mut state, 70), &centroid);
            }
            bytes.extend(codes.write());
            whole.append(&codes);
        }
        assert_eq!(Codes::read(&bytes, 70).as_ref(), Some(&whole));
        assert_eq!(Codes::read(&bytes[..bytes.len() - 1], 70), None);
        assert_eq!(Codes::read(&bytes, 0), None);
        let picked = whole.pick(&[50, 3]);
        assert_eq!(
            (picked.ids[0], picked.ids[1]),
            (whole.ids[50], whole.ids[3])
        );
        assert_eq!(picked.row(0).1, whole.row(50).1);
    }
}
