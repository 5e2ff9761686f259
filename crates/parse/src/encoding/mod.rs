//! Which encoding a text is in.
//!
//! A byte order mark decides; then the shapes of UTF-32, UTF-16 and ISO-2022-JP, which other
//! texts do not have; then UTF-8, if the sample is valid; then a guess from the statistics of
//! the sample. A sample with the bytes of no text is binary.

mod charset;
pub(crate) mod declared;
mod decoding;
mod mac;
mod wide;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{ISO_2022_JP, UTF_8};

pub(crate) use charset::Charset;
pub(crate) use decoding::{Decoding, Places};

pub(crate) struct Decoded {
    pub(crate) text: String,
}

/// The encoding a text declares by its first bytes, and how many those are.
pub(crate) fn bom(bytes: &[u8]) -> Option<(Charset, usize)> {
    // The mark of UTF-16 is also the beginning of that of UTF-32.
    match bytes {
        [0xff, 0xfe, 0, 0, ..] => Some((Charset::Utf32Le, 4)),
        [0, 0, 0xfe, 0xff, ..] => Some((Charset::Utf32Be, 4)),
        _ => encoding_rs::Encoding::for_bom(bytes).map(|(e, length)| (Charset::Web(e), length)),
    }
}

/// The encoding of the text that begins with `sample`; `None` for what is no text.
pub(crate) fn detect(sample: &[u8]) -> Option<Charset> {
    if let Some((charset, _)) = bom(sample) {
        return Some(charset);
    }
    if let Some(charset) = wide::without_bom(sample) {
        return Some(charset);
    }
    if is_binary(sample) {
        return None;
    }
    // What it escapes to is ASCII too, and so valid UTF-8 that says nothing.
    if sample.is_ascii() && sample.contains(&0x1b) && guess(sample) == ISO_2022_JP {
        return Some(Charset::Web(ISO_2022_JP));
    }
    if mostly_utf8(sample) {
        return Some(Charset::Web(UTF_8));
    }
    let guess = guess(sample);
    Some(Charset::Web(mac::instead_of(guess, sample)))
}

fn guess(sample: &[u8]) -> &'static encoding_rs::Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    // A sample that goes on in the file may end within a character.
    detector.feed(sample, sample.len() < crate::Format::HEAD_BYTES);
    detector.guess(None, Utf8Detection::Allow)
}

/// The encoding of a sample and how many bytes its mark takes.
pub(crate) fn detect_with_mark(sample: &[u8]) -> Option<(Charset, usize)> {
    let charset = detect(sample)?;
    Some((charset, bom(sample).map_or(0, |(_, length)| length)))
}

pub(crate) fn decode_sample(sample: &[u8]) -> Option<Decoded> {
    let (charset, mark) = detect_with_mark(sample)?;
    let (text, _) = charset.decode(&sample[mark..]);
    Some(Decoded {
        text: text.into_owned(),
    })
}

/// The whole text, the encoding found from its beginning, and where its characters stood.
pub(crate) fn decode(bytes: &[u8]) -> Option<(String, Places)> {
    let sample = &bytes[..bytes.len().min(crate::Format::HEAD_BYTES)];
    let (charset, mark) = detect_with_mark(sample)?;
    Some(Decoding::whole(charset, bytes, mark))
}

/// Text has no control characters to speak of, but for backspaces that overstrike a letter with
/// another. Stray NULs are let pass when all else is plain.
fn is_binary(sample: &[u8]) -> bool {
    let is_control = |b: &&u8| matches!(**b, 0..=8 | 14..=26 | 28..=31 | 127);
    let nuls = sample.iter().filter(|b| **b == 0).count();
    let is_overstrike =
        |at: &&[u8]| at[1] == 8 && at[0] >= b' ' && at[2] >= b' ' && at[0] != 127 && at[2] != 127;
    let overstrikes = sample.windows(3).filter(is_overstrike).count();
    let controls = sample.iter().filter(is_control).count() - nuls - overstrikes;
    let high = sample.iter().filter(|b| **b >= 0x80).count();
    controls * 50 > sample.len()
        || (nuls > 0 && (controls > 0 || high > 0) && nuls * 100 > sample.len())
}

/// Valid but for its cut end, or valid but for a few broken places in what is plainly UTF-8 or ASCII.
fn mostly_utf8(sample: &[u8]) -> bool {
    let (mut valid_multibyte, mut broken) = (0usize, 0usize);
    for chunk in sample.utf8_chunks() {
        valid_multibyte += chunk.valid().bytes().filter(|b| *b >= 0xc0).count();
        broken += usize::from(!chunk.invalid().is_empty());
    }
    let cut_end = sample
        .utf8_chunks()
        .last()
        .is_some_and(|last| !last.invalid().is_empty() && last.invalid().len() < 4);
    let broken = broken - usize::from(cut_end && broken == 1 && sample.len() >= 4);
    broken == 0 || valid_multibyte > broken * 20
}

#[cfg(test)]
mod tests;
