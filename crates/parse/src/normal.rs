//! The one form all text takes: NFC, `\n` line ends, nothing invisible.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Line ends become `\n`, every kind of blank a space, what is struck over goes as do
/// control and invisible formatting characters, the rest is composed (NFC).
pub fn normal(text: &str) -> Cow<'_, str> {
    if text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mapped = map_characters(text);
    match is_nfc_quick(mapped.chars()) {
        IsNormalized::Yes => Cow::Owned(mapped),
        IsNormalized::No | IsNormalized::Maybe => Cow::Owned(mapped.nfc().collect()),
    }
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t')
}

fn map_characters(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{b}' | '\u{c}' => out.push('\n'),
            '\n' | '\t' => out.push(c),
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' => out.push(' '),
            // Soft hyphens, zero-width marks and byte order marks split words for
            // whoever searches; joiners stay, they carry meaning in several scripts.
            '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {}
            // As printers wrote bold and underlined letters: the one on top is read.
            '\u{8}' if chars.peek().is_some_and(|next| !next.is_control()) => {
                if !out.ends_with('\n') {
                    out.pop();
                }
            }
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Runs of white space as one space, none at the ends: how prose is set.
pub fn collapsed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_end_becomes_one() {
        assert_eq!(normal("a\r\nb\rc\nd\u{85}e\u{2028}f"), "a\nb\nc\nd\ne\nf");
    }

    #[test]
    fn what_cannot_be_seen_is_gone_and_what_is_seen_is_composed() {
        assert_eq!(
            normal("a\0b\u{ad}c\u{feff} e\u{301}\u{a0}x"),
            "abc \u{e9} x"
        );
    }
}
