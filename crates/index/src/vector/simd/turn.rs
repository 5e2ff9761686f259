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

/// Sums in whole steps, rounded to the nearest; there are `inverse` steps to one.
pub fn tables(sums: &[[f32; 16]], inverse: f32) -> Vec<u8> {
    let mut tables = vec![0; sums.len() * 16];
    #[cfg(target_arch = "x86_64")]
    if wide() {
        // SAFETY: `wide` has asked the processor for avx2.
        unsafe { tables_wide(sums, inverse, &mut tables) };
        return tables;
    }
    tables_plain(sums, inverse, &mut tables);
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
fn tables_wide(sums: &[[f32; 16]], inverse: f32, into: &mut [u8]) {
    tables_plain(sums, inverse, into);
}

#[inline(always)]
fn tables_plain(sums: &[[f32; 16]], inverse: f32, into: &mut [u8]) {
    for (table, sums) in into.as_chunks_mut::<16>().0.iter_mut().zip(sums) {
        for (level, sum) in table.iter_mut().zip(sums) {
            *level = (sum * inverse + 0.5) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
