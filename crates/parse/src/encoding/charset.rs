//! The encodings of the web, and UTF-32 and that of DOS, which the web does not know.

use std::borrow::Cow;

use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charset {
    Web(&'static Encoding),
    Utf32Le,
    Utf32Be,
    /// Code page 850.
    Dos,
}

impl Charset {
    pub(crate) fn utf_8() -> Self {
        Self::Web(UTF_8)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Web(encoding) => encoding.name(),
            Self::Utf32Le => "UTF-32LE",
            Self::Utf32Be => "UTF-32BE",
            Self::Dos => "IBM850",
        }
    }

    /// What is said of a text with bytes that mean nothing in this encoding.
    pub(crate) fn warning(self, lines: u64) -> Option<String> {
        let name = self.name();
        (lines > 0).then(|| format!("{lines} lines hold bytes that are not {name}"))
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        let ours = [Self::Utf32Le, Self::Utf32Be, Self::Dos];
        let found = ours.into_iter().find(|ours| ours.name() == name);
        found.or_else(|| Encoding::for_label(name.as_bytes()).map(Self::Web))
    }

    /// How many bytes a line end takes, and how the bytes of such a unit are read.
    pub(crate) fn unit(self) -> (usize, fn(&[u8]) -> u32) {
        match self {
            Self::Web(e) if e == UTF_16LE => (2, |b| u16::from_le_bytes([b[0], b[1]]).into()),
            Self::Web(e) if e == UTF_16BE => (2, |b| u16::from_be_bytes([b[0], b[1]]).into()),
            Self::Web(_) | Self::Dos => (1, |b| b[0].into()),
            Self::Utf32Le => (4, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])),
            Self::Utf32Be => (4, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]])),
        }
    }

    /// Whether what its bytes mean depends on those long before them.
    pub(crate) fn is_stateful(self) -> bool {
        self == Self::Web(ISO_2022_JP)
    }

    /// The characters of all of `bytes`, a mark at the beginning being one of them; and whether
    /// any of them were none.
    pub(crate) fn decode(self, bytes: &[u8]) -> (Cow<'_, str>, bool) {
        match self {
            Self::Web(encoding) if encoding.is_single_byte() => {
                with_controls_lost(encoding.decode_without_bom_handling(bytes))
            }
            Self::Web(encoding) => encoding.decode_without_bom_handling(bytes),
            Self::Dos => (Cow::Owned(super::dos::decode(bytes)), false),
            Self::Utf32Le | Self::Utf32Be => {
                let (width, unit) = self.unit();
                let units = bytes.chunks(width);
                let read = units.map(|b| (b.len() == width).then(|| unit(b)));
                let chars = read.map(|unit| unit.and_then(char::from_u32));
                let mut lost = false;
                let text = chars.map(|c| {
                    lost |= c.is_none();
                    c.unwrap_or(char::REPLACEMENT_CHARACTER)
                });
                (Cow::Owned(text.collect()), lost)
            }
        }
    }

    /// How many bytes a character takes, where that does not depend on those around it.
    pub(crate) fn bytes_of(self, c: char) -> Option<u64> {
        match self {
            Self::Web(e) if e == UTF_8 => Some(c.len_utf8() as u64),
            Self::Web(e) if e == UTF_16LE || e == UTF_16BE => Some(c.len_utf16() as u64 * 2),
            Self::Web(e) => e.is_single_byte().then_some(1),
            Self::Dos => Some(1),
            Self::Utf32Le | Self::Utf32Be => Some(4),
        }
    }

    /// The first place at or after `from` where a character surely ends.
    pub(crate) fn boundary(self, bytes: &[u8], from: usize) -> Option<usize> {
        let (width, unit) = self.unit();
        let from = from.next_multiple_of(width);
        if width == 1 {
            // No second byte of any encoding is this small; an escape begins something.
            let alone = |b: &u8| *b <= 0x20 && *b != 0x1b;
            let found = bytes.get(from..)?.iter().position(alone);
            return found.map(|at| from + at + 1);
        }
        let units = bytes.get(from..)?.chunks_exact(width);
        let high_surrogate = |b: &[u8]| matches!(unit(b), 0xd800..=0xdbff);
        let found = units.take(2).position(|b| !high_surrogate(b));
        found.map(|at| from + (at + 1) * width)
    }
}

/// Control characters beyond ASCII stand for bytes that mean nothing in an encoding: nobody writes
/// them. But for the end of a line, they are shown to be missing.
fn with_controls_lost((text, lost): (Cow<'_, str>, bool)) -> (Cow<'_, str>, bool) {
    let is_nothing = |c: char| matches!(c, '\u{80}'..='\u{84}' | '\u{86}'..='\u{9f}');
    match text.contains(is_nothing) {
        true => {
            let shown = text.replace(is_nothing, "\u{fffd}");
            (Cow::Owned(shown), true)
        }
        false => (text, lost),
    }
}
