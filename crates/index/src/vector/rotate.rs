//! A fixed random rotation.
//!
//! One bit per dimension says most about a vector when no dimension is special,
//! so vectors are turned first. Signs and Hadamard transforms of alternating
//! ends mix all dimensions in a few thousand steps; the signs come from the
//! dimension count alone, so the rotation need not be stored.

use crate::vector::simd;

const ROUNDS: usize = 4;

#[derive(Debug, Clone)]
pub struct Rotation {
    dimensions: usize,
    block: usize,
    signs: Vec<f32>,
}

impl Rotation {
    pub fn new(dimensions: usize) -> Self {
        let mut state = dimensions as u64;
        let mut sign = || {
            if split_mix(&mut state) >> 63 == 0 {
                1.0
            } else {
                -1.0
            }
        };
        Self {
            dimensions,
            block: (dimensions + 1).next_power_of_two() / 2,
            signs: (0..ROUNDS * dimensions).map(|_| sign()).collect(),
        }
    }

    /// Lengths and inner products stay as they were.
    pub fn apply(&self, vector: &[f32]) -> Vec<f32> {
        let mut turned = vector.to_vec();
        if self.dimensions == 0 {
            return turned;
        }
        for (round, signs) in self.signs.chunks_exact(self.dimensions).enumerate() {
            turned
                .iter_mut()
                .zip(signs)
                .for_each(|(x, sign)| *x *= sign);
            let start = if round % 2 == 0 {
                0
            } else {
                self.dimensions - self.block
            };
            simd::hadamard(&mut turned[start..start + self.block]);
        }
        turned
    }
}

/// Steele, Lea and Flood's generator: the next of a sequence that looks random.
pub fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::simd::dot;

    #[test]
    fn a_rotation_keeps_inner_products_and_spreads_one_dimension_over_all() {
        for dimensions in [1, 2, 3, 64, 100, 384, 768, 1000] {
            let rotation = Rotation::new(dimensions);
            let a: Vec<f32> = (0..dimensions).map(|i| (i as f32 * 0.7).sin()).collect();
            let b: Vec<f32> = (0..dimensions).map(|i| (i as f32 * 1.3).cos()).collect();
            let (ra, rb) = (rotation.apply(&a), rotation.apply(&b));
            let scale = dot(&a, &a).sqrt() * dot(&b, &b).sqrt() + 1e-3;
            assert!(
                (dot(&a, &b) - dot(&ra, &rb)).abs() < 1e-4 * scale,
                "{dimensions}"
            );
        }
        let mut one = vec![0.0; 384];
        one[5] = 1.0;
        let spread = Rotation::new(384).apply(&one);
        assert!(spread.iter().all(|x| x.abs() < 0.4));
    }
}
