//! UTF-16 and UTF-32 without a mark, known by where their zeros stand.

use encoding_rs::{UTF_16BE, UTF_16LE};

use super::Charset;

const LOOKED_AT: usize = 4096;
/// Fewer bytes than this prove nothing.
const LEAST: usize = 16;

pub(super) fn without_bom(sample: &[u8]) -> Option<Charset> {
    let whole = sample.len() <= LOOKED_AT;
    let sample = &sample[..sample.len().min(LOOKED_AT)];
    if sample.len() < LEAST || !sample.contains(&0) || whole && !sample.len().is_multiple_of(2) {
        return None;
    }
    let candidates = [
        Charset::Utf32Le,
        Charset::Utf32Be,
        Charset::Web(UTF_16LE),
        Charset::Web(UTF_16BE),
    ];
    let fits = |charset: &Charset| zeros_fit(*charset, sample) && reads_as_text(*charset, sample);
    candidates.into_iter().find(fits)
}

/// Blanks, line ends and digits have their zeros in the high bytes of a unit, in every script;
/// a text long enough has some of them, and fewer zeros elsewhere.
fn zeros_fit(charset: Charset, sample: &[u8]) -> bool {
    let (width, _) = charset.unit();
    let little = matches!(charset, Charset::Utf32Le) || charset == Charset::Web(UTF_16LE);
    let low = if little { 0 } else { width - 1 };
    let top = width - 1 - low;
    let (mut units, mut low_zeros, mut high_zeros) = (0, 0, 0);
    for unit in sample.chunks_exact(width) {
        units += 1;
        low_zeros += usize::from(unit[low] == 0);
        high_zeros += usize::from(unit[top] == 0);
    }
    // No character has a number beyond 0x10ffff: the highest byte of UTF-32 is always 0.
    let enough = match width {
        4 => high_zeros == units,
        _ => high_zeros * 50 >= units,
    };
    enough && low_zeros * 2 <= high_zeros
}

/// No control characters but blanks, no halves of pairs, nothing that stands for no character.
fn reads_as_text(charset: Charset, sample: &[u8]) -> bool {
    let (width, _) = charset.unit();
    let (text, _) = charset.decode(&sample[..sample.len() / width * width]);
    // The sample may have been cut within a pair.
    let text = text
        .strip_suffix(char::REPLACEMENT_CHARACTER)
        .unwrap_or(&text);
    let strange = |c: &char| match c {
        '\t' | '\n' | '\r' | '\u{c}' | '\u{feff}' => false,
        '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{ffff}' => true,
        c => c.is_control() || *c as u32 >= 0xe_0200,
    };
    let (count, strange) = (text.chars().count(), text.chars().filter(strange).count());
    strange * 100 <= count
}
