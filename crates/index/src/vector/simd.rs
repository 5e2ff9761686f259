//! Inner products and sums over codes, as wide as the machine allows.
//!
//! The one module with `unsafe`: calling a function compiled for instructions
//! the machine was asked about first, and loading 32 bytes at a time. Lanes of
//! floats are spelt out because floats may not be reordered behind our back.

#![expect(unsafe_code, reason = "calls functions compiled for detected features")]

const LANES: usize = 8;
const STRIDE: usize = 4 * LANES;

/// Codes that are summed together.
pub const BLOCK: usize = 32;
/// Columns whose sums fit 16 bits: two looked-up bytes each.
const NARROW: usize = 128;

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

/// For each of a block's codes the sum of what its half bytes stand for.
///
/// `columns` holds a byte of every code, then the next byte of every code; the
/// first sixteen codes lie at even places, the others at odd ones. `tables` has
/// for each column sixteen bytes for the low halves and sixteen for the high.
pub fn code_sums(columns: &[u8], tables: &[u8]) -> [u32; BLOCK] {
    assert_eq!(columns.len(), tables.len());
    #[cfg(target_arch = "x86_64")]
    if wide() {
        // SAFETY: `wide` has asked the processor for avx2.
        return unsafe { code_sums_wide(columns, tables) };
    }
    code_sums_plain(columns, tables)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn code_sums_wide(columns: &[u8], tables: &[u8]) -> [u32; BLOCK] {
    let mut sums = [0_u32; BLOCK];
    let parts = columns.chunks(NARROW * BLOCK);
    for (columns, tables) in parts.zip(tables.chunks(NARROW * BLOCK)) {
        let part = narrow_sums(columns, tables);
        sums.iter_mut()
            .zip(part)
            .for_each(|(sum, part)| *sum += u32::from(part));
    }
    sums
}

/// Sums of at most `NARROW` columns. Bytes are added in pairs as 16-bit words, the upper
/// byte of each also apart; the lower is what is left without it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn narrow_sums(columns: &[u8], tables: &[u8]) -> [u16; BLOCK] {
    use std::arch::x86_64::*;
    let half = _mm256_set1_epi8(0x0f);
    let (mut both, mut upper) = (_mm256_setzero_si256(), _mm256_setzero_si256());
    let columns = columns.as_chunks::<BLOCK>().0.iter();
    for (column, table) in columns.zip(tables.as_chunks::<BLOCK>().0) {
        // SAFETY: both point to 32 bytes, and no alignment is asked for.
        let (codes, table) = unsafe {
            (
                _mm256_loadu_si256(column.as_ptr().cast()),
                _mm256_loadu_si256(table.as_ptr().cast()),
            )
        };
        let low_table = _mm256_permute2x128_si256::<0x00>(table, table);
        let high_table = _mm256_permute2x128_si256::<0x11>(table, table);
        let low = _mm256_shuffle_epi8(low_table, _mm256_and_si256(codes, half));
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(codes), half);
        let high = _mm256_shuffle_epi8(high_table, high);
        both = _mm256_add_epi16(both, _mm256_add_epi16(low, high));
        let uppers = _mm256_add_epi16(_mm256_srli_epi16::<8>(low), _mm256_srli_epi16::<8>(high));
        upper = _mm256_add_epi16(upper, uppers);
    }
    let lower = _mm256_sub_epi16(both, _mm256_slli_epi16::<8>(upper));
    let mut sums = [0_u16; BLOCK];
    // SAFETY: there is room for sixteen words from either place.
    unsafe {
        _mm256_storeu_si256(sums.as_mut_ptr().cast(), lower);
        _mm256_storeu_si256(sums.as_mut_ptr().add(16).cast(), upper);
    }
    sums
}

fn code_sums_plain(columns: &[u8], tables: &[u8]) -> [u32; BLOCK] {
    let mut sums = [0_u32; BLOCK];
    let columns = columns.as_chunks::<BLOCK>().0.iter();
    for (column, table) in columns.zip(tables.as_chunks::<BLOCK>().0) {
        for (entry, sum) in sums.iter_mut().enumerate() {
            let byte = column[lane(entry)];
            let (low, high) = (byte & 0x0f, byte >> 4);
            *sum += u32::from(table[low as usize]) + u32::from(table[16 + high as usize]);
        }
    }
    sums
}

/// Where in a column the byte of a block's entry lies.
pub fn lane(entry: usize) -> usize {
    entry % 16 * 2 + entry / 16
}

/// `base + shift + scale * (slope * sum + offset)` of a block, and the same with `doubt` scales more.
pub fn guesses(
    sums: &[u32; BLOCK],
    scales: &[f32; BLOCK],
    shifts: &[f32; BLOCK],
    line: Line,
) -> ([f32; BLOCK], [f32; BLOCK]) {
    #[cfg(target_arch = "x86_64")]
    if wide() {
        // SAFETY: `wide` has asked the processor for avx2.
        return unsafe { guesses_wide(sums, scales, shifts, line) };
    }
    guesses_plain(sums, scales, shifts, line)
}

/// How sums become guesses.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    pub base: f32,
    pub slope: f32,
    pub offset: f32,
    pub doubt: f32,
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn guesses_wide(
    sums: &[u32; BLOCK],
    scales: &[f32; BLOCK],
    shifts: &[f32; BLOCK],
    line: Line,
) -> ([f32; BLOCK], [f32; BLOCK]) {
    guesses_plain(sums, scales, shifts, line)
}

#[inline(always)]
fn guesses_plain(
    sums: &[u32; BLOCK],
    scales: &[f32; BLOCK],
    shifts: &[f32; BLOCK],
    line: Line,
) -> ([f32; BLOCK], [f32; BLOCK]) {
    let (mut guesses, mut most) = ([0.0; BLOCK], [0.0; BLOCK]);
    for at in 0..BLOCK {
        // Signed conversion is one instruction; a sum never reaches the sign.
        let agreement = line.slope * sums[at] as i32 as f32 + line.offset;
        guesses[at] = line.base + shifts[at] + scales[at] * agreement;
        most[at] = guesses[at] + scales[at] * line.doubt;
    }
    (guesses, most)
}

#[cfg(target_arch = "x86_64")]
fn wide() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
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

    #[test]
    fn codes_are_summed_alike_whatever_the_machine_can_do() {
        for columns in [1, 48, NARROW, NARROW + 1, 3 * NARROW] {
            let bytes = |seed: usize| {
                let byte = |at: usize| (at.wrapping_mul(seed) >> 7) as u8;
                (0..columns * BLOCK).map(byte).collect::<Vec<u8>>()
            };
            let codes = bytes(2_654_435_761);
            for tables in [bytes(40_503_731), vec![255; columns * BLOCK]] {
                let plain = code_sums_plain(&codes, &tables);
                assert_eq!(code_sums(&codes, &tables), plain, "{columns}");
            }
        }
    }
}
