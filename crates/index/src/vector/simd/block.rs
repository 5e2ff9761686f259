//! Guesses at 32 codes at once.

#[cfg(target_arch = "x86_64")]
use super::{wide, widest};

/// Codes that are summed together.
pub const BLOCK: usize = 32;
/// Columns whose sums fit 16 bits: two looked-up bytes each, below 128.
const NARROW: usize = 256;

/// How sums become guesses.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    pub base: f32,
    pub slope: f32,
    pub offset: f32,
    pub doubt: f32,
}

/// What the codes of a block come to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Guessed {
    /// `base + shift + scale * (slope * sum + offset)`.
    pub guesses: [f32; BLOCK],
    /// The same with `doubt` scales more.
    pub most: [f32; BLOCK],
    /// A bit for each whose most is no less than the floor.
    pub reach: u32,
}

/// Guesses at a block, from the sums of what its half bytes stand for.
///
/// `columns` holds a byte of every code, then the next byte of every code; the
/// first sixteen codes lie at even places, the others at odd ones. `tables` has
/// for each column sixteen bytes for the low halves and sixteen for the high,
/// none above 127.
pub fn guess(
    (columns, tables): (&[u8], &[u8]),
    (scales, shifts): (&[f32; BLOCK], &[f32; BLOCK]),
    line: Line,
    floor: f32,
    into: &mut Guessed,
) {
    assert_eq!(columns.len(), tables.len());
    #[cfg(target_arch = "x86_64")]
    {
        if widest() {
            // SAFETY: `widest` has asked the processor for avx512f, avx512bw and avx2.
            return unsafe { guess_widest((columns, tables), (scales, shifts), line, floor, into) };
        }
        if wide() {
            // SAFETY: `wide` has asked the processor for avx2.
            return unsafe { guess_wide((columns, tables), (scales, shifts), line, floor, into) };
        }
    }
    let sums = sums_plain(columns, tables);
    into.fill(&sums, (scales, shifts), line);
    into.reach = reach_plain(&into.most, floor);
}

impl Guessed {
    #[inline(always)]
    fn fill(
        &mut self,
        sums: &[u32; BLOCK],
        (scales, shifts): (&[f32; BLOCK], &[f32; BLOCK]),
        line: Line,
    ) {
        for at in 0..BLOCK {
            // Signed conversion is one instruction; a sum never reaches the sign.
            let agreement = line.slope * sums[at] as i32 as f32 + line.offset;
            self.guesses[at] = line.base + shifts[at] + scales[at] * agreement;
            self.most[at] = self.guesses[at] + scales[at] * line.doubt;
        }
    }
}

/// Where in a column the byte of a block's entry lies.
pub fn lane(entry: usize) -> usize {
    entry % 16 * 2 + entry / 16
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx2")]
fn guess_widest(
    (columns, tables): (&[u8], &[u8]),
    worth: (&[f32; BLOCK], &[f32; BLOCK]),
    line: Line,
    floor: f32,
    into: &mut Guessed,
) {
    let mut sums = [0_u32; BLOCK];
    let parts = columns.chunks(NARROW * BLOCK);
    for (columns, tables) in parts.zip(tables.chunks(NARROW * BLOCK)) {
        add(&mut sums, narrow_sums_of_pairs(columns, tables));
    }
    into.fill(&sums, worth, line);
    into.reach = reach_wide(&into.most, floor);
}

#[inline(always)]
fn add(sums: &mut [u32; BLOCK], part: [u16; BLOCK]) {
    let sums = sums.iter_mut().zip(part);
    sums.for_each(|(sum, part)| *sum += u32::from(part));
}

/// As [`narrow_sums`], two columns at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx2")]
fn narrow_sums_of_pairs(columns: &[u8], tables: &[u8]) -> [u16; BLOCK] {
    use std::arch::x86_64::*;
    const PAIR: usize = 2 * BLOCK;
    let half = _mm512_set1_epi8(0x0f);
    let (mut both, mut upper) = (_mm512_setzero_si512(), _mm512_setzero_si512());
    let (columns, last_column) = columns.as_chunks::<PAIR>();
    let (tables, last_table) = tables.as_chunks::<PAIR>();
    // A column without a second is given one of nothing.
    let (mut column, mut table) = ([0; PAIR], [0; PAIR]);
    column[..last_column.len()].copy_from_slice(last_column);
    table[..last_table.len()].copy_from_slice(last_table);
    let last = (!last_column.is_empty()).then_some((&column, &table));
    for (pair, tables) in columns.iter().zip(tables).chain(last) {
        // SAFETY: both point to 64 bytes, and no alignment is asked for.
        let (codes, tables) = unsafe {
            (
                _mm512_loadu_si512(pair.as_ptr().cast()),
                _mm512_loadu_si512(tables.as_ptr().cast()),
            )
        };
        let low_tables = _mm512_shuffle_i64x2::<0b10_10_00_00>(tables, tables);
        let high_tables = _mm512_shuffle_i64x2::<0b11_11_01_01>(tables, tables);
        let low = _mm512_shuffle_epi8(low_tables, _mm512_and_si512(codes, half));
        let high = _mm512_and_si512(_mm512_srli_epi16::<4>(codes), half);
        let high = _mm512_shuffle_epi8(high_tables, high);
        let sum = _mm512_add_epi8(low, high);
        both = _mm512_add_epi16(both, sum);
        upper = _mm512_add_epi16(upper, _mm512_srli_epi16::<8>(sum));
    }
    let lower = _mm512_sub_epi16(both, _mm512_slli_epi16::<8>(upper));
    let mut sums = [0_u16; BLOCK];
    for (half, words) in sums.as_chunks_mut::<16>().0.iter_mut().zip([lower, upper]) {
        let second = _mm512_extracti64x4_epi64::<1>(words);
        let sum = _mm256_add_epi16(_mm512_castsi512_si256(words), second);
        // SAFETY: there is room for sixteen words.
        unsafe { _mm256_storeu_si256(half.as_mut_ptr().cast(), sum) };
    }
    sums
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn guess_wide(
    (columns, tables): (&[u8], &[u8]),
    worth: (&[f32; BLOCK], &[f32; BLOCK]),
    line: Line,
    floor: f32,
    into: &mut Guessed,
) {
    let mut sums = [0_u32; BLOCK];
    let parts = columns.chunks(NARROW * BLOCK);
    for (columns, tables) in parts.zip(tables.chunks(NARROW * BLOCK)) {
        add(&mut sums, narrow_sums(columns, tables));
    }
    into.fill(&sums, worth, line);
    into.reach = reach_wide(&into.most, floor);
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
        let (codes, low_table, high_table) = unsafe {
            (
                _mm256_loadu_si256(column.as_ptr().cast()),
                _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast())),
                _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().add(16).cast())),
            )
        };
        let low = _mm256_shuffle_epi8(low_table, _mm256_and_si256(codes, half));
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(codes), half);
        let high = _mm256_shuffle_epi8(high_table, high);
        // Two bytes below 128 are a byte again.
        let sum = _mm256_add_epi8(low, high);
        both = _mm256_add_epi16(both, sum);
        upper = _mm256_add_epi16(upper, _mm256_srli_epi16::<8>(sum));
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

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn reach_wide(most: &[f32; BLOCK], floor: f32) -> u32 {
    use std::arch::x86_64::*;
    let floor = _mm256_set1_ps(floor);
    let mut reach = 0;
    for (part, eight) in most.as_chunks::<8>().0.iter().enumerate() {
        // SAFETY: there are eight floats, and no alignment is asked for.
        let most = unsafe { _mm256_loadu_ps(eight.as_ptr()) };
        let reaching = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(most, floor));
        reach |= (reaching as u32) << (8 * part);
    }
    reach
}

fn reach_plain(most: &[f32; BLOCK], floor: f32) -> u32 {
    let bits = most.iter().enumerate();
    bits.fold(0, |reach, (at, most)| {
        reach | u32::from(*most >= floor) << at
    })
}

fn sums_plain(columns: &[u8], tables: &[u8]) -> [u32; BLOCK] {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_come_to_the_same_whatever_the_machine_can_do() {
        let scales: [f32; BLOCK] = std::array::from_fn(|at| 0.01 * at as f32);
        let shifts = std::array::from_fn(|at| 1.0 - 0.1 * at as f32);
        let line = Line {
            base: 0.5,
            slope: 0.01,
            offset: -20.0,
            doubt: 3.0,
        };
        for columns in [1, 48, NARROW, NARROW + 1, 3 * NARROW] {
            let bytes = |seed: usize| {
                let byte = |at: usize| (at.wrapping_mul(seed) >> 7) as u8;
                (0..columns * BLOCK).map(byte).collect::<Vec<u8>>()
            };
            let codes = bytes(2_654_435_761);
            let drawn = bytes(40_503_731).iter().map(|byte| byte % 128).collect();
            for tables in [drawn, vec![127; columns * BLOCK]] {
                let mut plain = Guessed::default();
                plain.fill(&sums_plain(&codes, &tables), (&scales, &shifts), line);
                plain.reach = reach_plain(&plain.most, 0.25);
                let mut guessed = Guessed::default();
                guess(
                    (&codes, &tables),
                    (&scales, &shifts),
                    line,
                    0.25,
                    &mut guessed,
                );
                assert_eq!(guessed, plain, "{columns}");
                #[cfg(target_arch = "x86_64")]
                if wide() {
                    let (both, worth) = ((&codes[..], &tables[..]), (&scales, &shifts));
                    // SAFETY: `wide` has asked the processor for avx2.
                    unsafe { guess_wide(both, worth, line, 0.25, &mut guessed) };
                    assert_eq!(guessed, plain, "{columns}");
                }
            }
        }
    }
}
