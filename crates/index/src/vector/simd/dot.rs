//! Inner products.
//!
//! Thirty-two sums are kept side by side and folded by halves at the end, in the same
//! order whatever the width, so that AVX2 and AVX-512 come to the same bits. They are
//! spelt out: left to itself the compiler took two floats at a time.

#[cfg(target_arch = "x86_64")]
use super::{wide, widest};

const STRIDE: usize = 32;

/// Inner product of two vectors of equal length.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    debug_assert_eq!(a.len(), b.len());
    #[cfg(target_arch = "x86_64")]
    {
        if widest() {
            // SAFETY: `widest` has asked the processor for avx512f, avx2 and fma.
            return unsafe { dot_widest(a, b) };
        }
        if wide() {
            // SAFETY: `wide` has asked the processor for avx2 and fma.
            return unsafe { dot_wide(a, b) };
        }
    }
    dot_plain(a, b)
}

/// Inner products of a vector with rows that lie side by side.
pub fn dots(rows: &[f32], vector: &[f32], into: &mut Vec<f32>) {
    into.clear();
    let rows = rows.chunks_exact(vector.len());
    into.extend(rows.map(|row| dot(row, vector)));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
fn dot_widest(a: &[f32], b: &[f32]) -> f32 {
    use std::arch::x86_64::*;
    let (a, a_rest) = a.as_chunks::<STRIDE>();
    let (b, b_rest) = b.as_chunks::<STRIDE>();
    let mut sums = [_mm512_setzero_ps(); 2];
    for (a, b) in a.iter().zip(b) {
        for (part, sum) in sums.iter_mut().enumerate() {
            // SAFETY: both have sixteen floats from there, and no alignment is asked for.
            let (a, b) = unsafe {
                (
                    _mm512_loadu_ps(a.as_ptr().add(16 * part)),
                    _mm512_loadu_ps(b.as_ptr().add(16 * part)),
                )
            };
            *sum = _mm512_fmadd_ps(a, b, *sum);
        }
    }
    let sixteen = _mm512_add_ps(sums[0], sums[1]);
    let upper = _mm512_shuffle_f32x4::<0b11_10>(sixteen, sixteen);
    let eight = _mm512_castps512_ps256(_mm512_add_ps(sixteen, upper));
    folded(eight) + rest(a_rest, b_rest, f32::mul_add)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn dot_wide(a: &[f32], b: &[f32]) -> f32 {
    use std::arch::x86_64::*;
    let (a, a_rest) = a.as_chunks::<STRIDE>();
    let (b, b_rest) = b.as_chunks::<STRIDE>();
    let mut sums = [_mm256_setzero_ps(); 4];
    for (a, b) in a.iter().zip(b) {
        for (part, sum) in sums.iter_mut().enumerate() {
            // SAFETY: both have eight floats from there, and no alignment is asked for.
            let (a, b) = unsafe {
                (
                    _mm256_loadu_ps(a.as_ptr().add(8 * part)),
                    _mm256_loadu_ps(b.as_ptr().add(8 * part)),
                )
            };
            *sum = _mm256_fmadd_ps(a, b, *sum);
        }
    }
    let lower = _mm256_add_ps(sums[0], sums[2]);
    let upper = _mm256_add_ps(sums[1], sums[3]);
    folded(_mm256_add_ps(lower, upper)) + rest(a_rest, b_rest, f32::mul_add)
}

/// Eight sums folded by halves.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn folded(eight: std::arch::x86_64::__m256) -> f32 {
    use std::arch::x86_64::*;
    let upper = _mm256_extractf128_ps::<1>(eight);
    let four = _mm_add_ps(_mm256_castps256_ps128(eight), upper);
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
}

/// What is left of vectors whose length is no whole number of strides.
#[inline(always)]
fn rest(a: &[f32], b: &[f32], step: impl Fn(f32, f32, f32) -> f32) -> f32 {
    let rest = a.iter().zip(b);
    rest.fold(0.0, |sum, (x, y)| step(*x, *y, sum))
}

fn dot_plain(a: &[f32], b: &[f32]) -> f32 {
    // A fused multiply-add without the instruction is a slow library call.
    dot_lanes(a, b, |x, y, sum| x * y + sum)
}

#[inline(always)]
fn dot_lanes(a: &[f32], b: &[f32], step: impl Fn(f32, f32, f32) -> f32) -> f32 {
    let mut sums = [0.0_f32; STRIDE];
    let (a, a_rest) = a.as_chunks::<STRIDE>();
    let (b, b_rest) = b.as_chunks::<STRIDE>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..STRIDE {
            sums[lane] = step(a[lane], b[lane], sums[lane]);
        }
    }
    let rest = rest(a_rest, b_rest, &step);
    // Folded by halves: the lanes stay side by side to the end.
    let mut half = STRIDE / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0] + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_and_plain_agree_at_every_length() {
        for len in [0, 1, 7, 31, 32, 33, 384, 1000] {
            let a: Vec<f32> = (0..len).map(|i| (i as f32 * 0.37).sin()).collect();
            let b: Vec<f32> = (0..len).map(|i| (i as f32 * 0.73).cos()).collect();
            let exact: f64 = a.iter().zip(&b).map(|(x, y)| f64::from(x * y)).sum();
            assert!((f64::from(dot(&a, &b)) - exact).abs() < 1e-4, "{len}");
            assert!((f64::from(dot_plain(&a, &b)) - exact).abs() < 1e-4, "{len}");
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn every_width_comes_to_the_same_bits() {
        if !wide() {
            return;
        }
        for len in [0, 1, 31, 32, 33, 96, 384, 1000] {
            let a: Vec<f32> = (0..len).map(|i| (i as f32 * 0.37).sin()).collect();
            let b: Vec<f32> = (0..len).map(|i| (i as f32 * 0.73).cos()).collect();
            let lanes = dot_lanes(&a, &b, f32::mul_add).to_bits();
            // SAFETY: `wide` has asked the processor for avx2 and fma.
            assert_eq!(unsafe { dot_wide(&a, &b) }.to_bits(), lanes, "{len}");
            assert_eq!(dot(&a, &b).to_bits(), lanes, "{len}");
        }
    }
}
