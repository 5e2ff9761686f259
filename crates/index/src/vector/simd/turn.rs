//! What a vector goes through before it is compared: a Hadamard transform, and
//! the tables its half bytes of signs are looked up in.

#[cfg(target_arch = "x86_64")]
use super::wide;

const LANES: usize = 8;

/// The Hadamard transform of a power of two of values, lengths kept.
pub fn hadamard(block: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if wide() {
        // SAFETY: `wide` has asked the processor for avx2.
        return unsafe { hadamard_wide(block) };
    }
    hadamard_plain(block);
}

/// For each four values, what every choice of them adds up to, from the least on: in whole steps,
/// of which there are `inverse` to one, rounded to the nearest and below 128.
pub fn tables(fours: &[[f32; 4]], inverse: f32) -> Vec<u8> {
    let mut tables = vec![0; fours.len() * 16];
    #[cfg(target_arch = "x86_64")]
    if wide() {
        // SAFETY: `wide` has asked the processor for avx2.
        unsafe { tables_wide(fours, inverse, &mut tables) };
        return tables;
    }
    tables_plain(fours, inverse, &mut tables);
    tables
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn hadamard_wide(block: &mut [f32]) {
    hadamard_plain(block);
}

#[inline(always)]
fn hadamard_plain(block: &mut [f32]) {
    let (eights, rest) = block.as_chunks_mut::<LANES>();
    eights.iter_mut().for_each(within);
    let mut half = if rest.is_empty() { LANES } else { 1 };
    while half < block.len() {
        for pair in block.chunks_exact_mut(2 * half) {
            let (low, high) = pair.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    let scale = 1.0 / (block.len() as f32).sqrt();
    block.iter_mut().for_each(|x| *x *= scale);
}

/// The first three rounds, which stay within eight lanes.
#[inline(always)]
fn within(eight: &mut [f32; LANES]) {
    for half in [1, 2, 4] {
        let was = *eight;
        for at in 0..LANES {
            let other = was[at ^ half];
            eight[at] = if at & half == 0 {
                was[at] + other
            } else {
                other - was[at]
            };
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn tables_wide(fours: &[[f32; 4]], inverse: f32, into: &mut [u8]) {
    tables_plain(fours, inverse, into);
}

/// Which of four values a half byte chooses: one where its bit is set.
const CHOSEN: [[f32; 16]; 4] = {
    let mut chosen = [[0.0; 16]; 4];
    let mut at = 0;
    while at < 64 {
        chosen[at / 16][at % 16] = (((at % 16) >> (at / 16)) & 1) as f32;
        at += 1;
    }
    chosen
};

/// A float so large that its last bits are ones: what is added to it is rounded.
const WHOLE: f32 = (1 << 23) as f32;

#[inline(always)]
fn tables_plain(fours: &[[f32; 4]], inverse: f32, into: &mut [u8]) {
    for (table, values) in into.as_chunks_mut::<16>().0.iter_mut().zip(fours) {
        let low: f32 = values.iter().map(|x| x.min(0.0)).sum();
        let mut sums = [-low; 16];
        for (value, chosen) in values.iter().zip(&CHOSEN) {
            for (sum, chosen) in sums.iter_mut().zip(chosen) {
                *sum += value * chosen;
            }
        }
        for (level, sum) in table.iter_mut().zip(sums) {
            *level = (sum * inverse + WHOLE).to_bits() as u8 & 0x7f;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_what_each_choice_of_four_adds_up_to() {
        let fours = [[1.0, -2.0, 0.5, 4.0], [0.0; 4]];
        let tables = tables(&fours, 10.0);
        for (choice, level) in tables[..16].iter().enumerate() {
            let chosen = (0..4).filter(|bit| choice >> bit & 1 == 1);
            let sum: f32 = chosen.map(|bit| fours[0][bit]).sum();
            assert_eq!(*level, ((sum + 2.0) * 10.0) as u8, "{choice}");
        }
        assert_eq!(tables[16..], [0; 16]);
    }

    #[test]
    fn a_transform_is_the_sum_its_signs_say() {
        for len in [1_usize, 2, 4, 8, 16, 256] {
            let values: Vec<f32> = (0..len).map(|at| (at as f32 * 0.7).sin()).collect();
            let mut turned = values.clone();
            hadamard(&mut turned);
            for (row, got) in turned.iter().enumerate() {
                let sign = |at: usize| [1.0, -1.0][(row & at).count_ones() as usize % 2];
                let sum: f32 = (0..len).map(|at| sign(at) * values[at]).sum();
                assert!((got - sum / (len as f32).sqrt()).abs() < 1e-5, "{len}");
            }
        }
    }
}
