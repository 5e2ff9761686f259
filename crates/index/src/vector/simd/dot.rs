//! Inner products.

#[cfg(target_arch = "x86_64")]
use super::wide;

const LANES: usize = 8;
const STRIDE: usize = 4 * LANES;

/// Inner product of two vectors of equal length.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    debug_assert_eq!(a.len(), b.len());
    #[cfg(target_arch = "x86_64")]
    if wide() {
        // SAFETY: `wide` has asked the processor for avx2 and fma.
        return unsafe { dot_wide(a, b) };
    }
    dot_plain(a, b)
}

/// Inner products of a vector with rows that lie side by side.
pub fn dots(rows: &[f32], vector: &[f32], into: &mut Vec<f32>) {
    into.clear();
    #[cfg(target_arch = "x86_64")]
    if wide() {
        // SAFETY: `wide` has asked the processor for avx2 and fma.
        return unsafe { dots_wide(rows, vector, into) };
    }
    into.extend(
        rows.chunks_exact(vector.len())
            .map(|row| dot_plain(row, vector)),
    );
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn dots_wide(rows: &[f32], vector: &[f32], into: &mut Vec<f32>) {
    for row in rows.chunks_exact(vector.len()) {
        into.push(dot_lanes(row, vector, f32::mul_add));
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn dot_wide(a: &[f32], b: &[f32]) -> f32 {
    dot_lanes(a, b, f32::mul_add)
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
    let rest = a_rest.iter().zip(b_rest);
    let rest = rest.fold(0.0, |sum, (x, y)| step(*x, *y, sum));
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
}
