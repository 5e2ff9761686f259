//! Which encoding a text is in.
//!
//! A byte order mark decides; then the shapes of UTF-32, UTF-16 and ISO-2022-JP, which other
//! texts do not have; then UTF-8, if the sample is valid; then a guess from the statistics of
//! the sample. A sample with the bytes of no text is binary. Where a text begins in ASCII for
//! longer than a sample, its encoding is told by the first bytes that are not.

mod charset;
pub(crate) mod declared;
mod decoding;
mod dos;
mod mac;
mod wide;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::ISO_2022_JP;

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
    Some(narrow(sample))
}

/// Of the encodings in which ASCII is itself.
fn narrow(sample: &[u8]) -> Charset {
    let utf8 = Utf8Signs::of(sample);
    if utf8.prevail() {
        return Charset::utf_8();
    }
    let guess = guess(sample);
    if guess.is_single_byte() && utf8.outweigh_a_guess() {
        return Charset::utf_8();
    }
    match dos::rather_than(guess, sample) {
        true => Charset::Dos,
        false => Charset::Web(mac::instead_of(guess, sample)),
    }
}

/// Behind so much ASCII that there is too little else in the first sample to tell by.
const LITTLE_OF_A_SAMPLE: usize = 4 << 10;

/// How far a text is plain ASCII, if that is so far that its beginning tells nothing of its
/// encoding.
pub(crate) fn plain_beginning(bytes: &[u8], charset: Charset, mark: usize) -> Option<usize> {
    let tells_nothing = mark == 0 && matches!(charset.unit(), (1, _)) && !charset.is_stateful();
    let plain = bytes.iter().position(|b| !b.is_ascii());
    let plain = plain.unwrap_or(bytes.len());
    let is_long = plain + LITTLE_OF_A_SAMPLE > crate::Format::HEAD_BYTES;
    (tells_nothing && is_long).then_some(plain)
}

/// The encoding of a text that was ASCII up to `sample`, or shortly into it.
pub(crate) fn detect_behind_ascii(sample: &[u8]) -> Charset {
    match narrow(sample) {
        charset if charset.is_stateful() => Charset::utf_8(),
        charset => charset,
    }
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
    let (charset, mark) = detect_in(bytes)?;
    Some(Decoding::whole(charset, bytes, mark))
}

/// The encoding of a whole file and how many bytes its mark takes.
pub(crate) fn detect_in(bytes: &[u8]) -> Option<(Charset, usize)> {
    let most = crate::Format::HEAD_BYTES;
    let (charset, mark) = detect_with_mark(&bytes[..bytes.len().min(most)])?;
    let charset = match plain_beginning(bytes, charset, mark) {
        Some(plain) if plain < bytes.len() => {
            let from = plain - plain.min(CONTEXT);
            detect_behind_ascii(&bytes[from..bytes.len().min(plain + most)])
        }
        _ => charset,
    };
    Some((charset, mark))
}

/// So much of the ASCII before them tells which word the first other bytes are in.
pub(crate) const CONTEXT: usize = 16;

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

/// What speaks for UTF-8 in a sample, and what against it.
struct Utf8Signs {
    /// Characters of several bytes.
    valid: usize,
    /// Of them, those that Western texts have.
    western: usize,
    /// Places that are no characters, but for a cut end.
    broken: usize,
}

impl Utf8Signs {
    fn of(sample: &[u8]) -> Self {
        let (mut valid, mut western, mut broken) = (0, 0, 0);
        let mut within_broken = false;
        for chunk in sample.utf8_chunks() {
            let wide = chunk.valid().chars().filter(|c| !c.is_ascii());
            for c in wide {
                valid += 1;
                western += usize::from(is_western(c));
            }
            within_broken &= chunk.valid().is_empty();
            broken += usize::from(!within_broken && !chunk.invalid().is_empty());
            within_broken = !chunk.invalid().is_empty();
        }
        // A text in one-byte letters may end in one of them.
        let may_be_cut = valid > 0 || sample.len() >= crate::Format::HEAD_BYTES;
        broken -= usize::from(may_be_cut && within_broken && broken == 1);
        Self {
            valid,
            western,
            broken,
        }
    }

    /// Valid throughout, or but for a few broken places in what is plainly UTF-8.
    fn prevail(&self) -> bool {
        self.broken == 0 || self.valid > self.broken * 20
    }

    /// Whether a letter read as two of another encoding is less likely than a broken byte: these
    /// would be pairs such as `\u{c3}\u{bc}`, which nobody writes.
    fn outweigh_a_guess(&self) -> bool {
        self.western > 0 && self.western >= self.broken
    }
}

fn is_western(c: char) -> bool {
    let is_mark = "\u{a0}\u{a7}\u{a9}\u{ab}\u{ae}\u{b0}\u{b7}\u{bb}\u{20ac}\u{2122}".contains(c);
    is_mark || matches!(c, '\u{c0}'..='\u{ff}' | '\u{2010}'..='\u{2044}')
}

#[cfg(test)]
mod tests;
