//! Which encoding a text is in, and its characters.
//!
//! A byte order mark decides; then UTF-8, if the sample is valid; then a guess
//! from the statistics of the sample. A sample with the bytes of no text is binary.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

pub(crate) struct Decoded {
    pub(crate) text: String,
}

/// The encoding a text declares by its first bytes, and how many those are.
pub(crate) fn bom(bytes: &[u8]) -> Option<(&'static Encoding, usize)> {
    Encoding::for_bom(bytes)
}

/// The encoding of the text that begins with `sample`; `None` for what is no text.
pub(crate) fn detect(sample: &[u8]) -> Option<&'static Encoding> {
    if let Some((encoding, _)) = bom(sample) {
        return Some(encoding);
    }
    if let Some(encoding) = utf16_without_bom(sample) {
        return Some(encoding);
    }
    if is_binary(sample) {
        return None;
    }
    if mostly_utf8(sample) {
        return Some(UTF_8);
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, true);
    Some(detector.guess(None, Utf8Detection::Allow))
}

pub(crate) fn decode_sample(sample: &[u8]) -> Option<Decoded> {
    let encoding = detect(sample)?;
    let (text, _) = encoding.decode_with_bom_removal(sample);
    Some(Decoded {
        text: text.into_owned(),
    })
}

/// The whole text, the encoding found from its beginning, and whether anything was lost.
pub(crate) fn decode(bytes: &[u8]) -> Option<(Cow<'_, str>, bool)> {
    let encoding = detect(&bytes[..bytes.len().min(crate::Format::HEAD_BYTES)])?;
    Some(encoding.decode_with_bom_removal(bytes))
}

/// Latin text in UTF-16 has a zero in every other byte.
fn utf16_without_bom(sample: &[u8]) -> Option<&'static Encoding> {
    let sample = &sample[..sample.len().min(512) & !1];
    let zeros = |offset: usize| {
        sample
            .iter()
            .skip(offset)
            .step_by(2)
            .filter(|b| **b == 0)
            .count()
    };
    let (even, odd, pairs) = (zeros(0), zeros(1), sample.len() / 2);
    if pairs < 8 {
        None
    } else if odd * 10 >= pairs * 8 && even * 20 <= pairs {
        Some(UTF_16LE)
    } else if even * 10 >= pairs * 8 && odd * 20 <= pairs {
        Some(UTF_16BE)
    } else {
        None
    }
}

/// Text has no control characters to speak of. Stray NULs are let pass when all else is plain.
fn is_binary(sample: &[u8]) -> bool {
    let is_control = |b: &&u8| matches!(**b, 0..=8 | 14..=26 | 28..=31 | 127);
    let nuls = sample.iter().filter(|b| **b == 0).count();
    let controls = sample.iter().filter(is_control).count() - nuls;
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
mod tests {
    use super::*;

    fn name(bytes: &[u8]) -> Option<&'static str> {
        detect(bytes).map(Encoding::name)
    }

    #[test]
    fn marks_decide_then_utf8_then_statistics() {
        assert_eq!(name(b"\xff\xfeh\0i\0"), Some("UTF-16LE"));
        assert_eq!(name("Gr\u{fc}\u{df}e".as_bytes()), Some("UTF-8"));
        assert_eq!(
            name(b"caf\xe9 au lait, gar\xe7on, \xe0 c\xf4t\xe9"),
            Some("windows-1252")
        );
        let (gb, _, _) = encoding_rs::GB18030.encode("\u{4e2d}\u{6587}\u{6587}\u{672c}\u{7f16}\u{7801}\u{6d4b}\u{8bd5}\u{ff0c}\u{6ca1}\u{6709}\u{58f0}\u{660e}\u{3002}");
        assert_eq!(name(&gb), Some("GBK"));
    }

    #[test]
    fn a_program_is_no_text() {
        let program: Vec<u8> = (0..=255).cycle().take(4096).collect();
        assert_eq!(name(&program), None);
    }
}
