//! Mac Roman, which the guesser of encodings does not know: it keeps its letters where others
//! keep signs.

use encoding_rs::{Encoding, MACINTOSH};

/// Mac Roman, if within words it reads as letters throughout and the guess does not.
pub(super) fn instead_of(guess: &'static Encoding, sample: &[u8]) -> &'static Encoding {
    if !guess.is_single_byte() {
        return guess;
    }
    let inner: Vec<u8> = within_words(sample).collect();
    let fitting = |encoding: &'static Encoding| {
        let (text, _) = encoding.decode_without_bom_handling(&inner);
        text.chars().filter(|c| fits(*c)).count()
    };
    let (mac, guessed) = (fitting(MACINTOSH), fitting(guess));
    let enough = inner.len() >= 3;
    match enough && mac * 20 >= inner.len() * 19 && guessed * 2 <= inner.len() {
        true => MACINTOSH,
        false => guess,
    }
}

/// Bytes beyond ASCII that follow a small Latin letter.
fn within_words(sample: &[u8]) -> impl Iterator<Item = u8> {
    let pairs = sample.windows(2);
    pairs
        .filter(|pair| pair[0].is_ascii_lowercase() && pair[1] >= 0x80)
        .map(|pair| pair[1])
}

/// What may follow a small letter: another one, or the marks that end a word.
fn fits(c: char) -> bool {
    let marks = "\u{2019}\u{201d}\u{201c}\u{2018}\u{2013}\u{2014}\u{2026}\u{bb}\u{a0}";
    c.is_lowercase() || marks.contains(c)
}
