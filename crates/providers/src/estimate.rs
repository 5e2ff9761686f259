//! How many tokens a remote model makes of a text, guessed high.
//!
//! A remote model's vocabulary is not here, and the one of a model behind a
//! compatible endpoint is not even known. Byte-pair vocabularies share a shape:
//! common words are one token, long ones split, digits go in threes, symbols
//! mostly stand alone. Counting that shape high keeps inputs within the limit;
//! `docs/adr/0046-remote-tokens-are-estimated.md` says why this and no vocabulary.

use model::TokenCounter;

/// Letters of a word that usually fit in one token.
const WHOLE_WORD: usize = 5;
/// Letters per token beyond those.
const PER_PIECE: usize = 3;

pub struct Estimate;

impl TokenCounter for Estimate {
    fn count(&self, text: &str) -> usize {
        let mut tokens = 0;
        let mut rest = text.as_bytes();
        while let Some(byte) = rest.first() {
            let class = Class::of(*byte);
            let length = rest.iter().take_while(|b| Class::of(**b) == class).count();
            tokens += class.tokens(&rest[..length]);
            rest = &rest[length..];
        }
        tokens
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    /// A space belongs to the word after it.
    Blank,
    Symbol,
    Beyond,
}

impl Class {
    fn of(byte: u8) -> Self {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => Self::Letter,
            b'0'..=b'9' => Self::Digit,
            b' ' | b'\t' | b'\r' | b'\n' => Self::Blank,
            0x80.. => Self::Beyond,
            _ => Self::Symbol,
        }
    }

    fn tokens(self, run: &[u8]) -> usize {
        let length = run.len();
        match self {
            Self::Letter => 1 + length.saturating_sub(WHOLE_WORD).div_ceil(PER_PIECE),
            Self::Digit => length.div_ceil(3),
            Self::Blank => usize::from(run != b" ") * length.div_ceil(4).max(1),
            Self::Symbol => length,
            Self::Beyond => run.iter().map(|byte| beyond(*byte)).sum(),
        }
    }
}

/// By the first byte of a character, so by its script. No character can take more
/// tokens than it has bytes.
fn beyond(byte: u8) -> usize {
    match byte {
        // Inside a character.
        ..0xc0 => 0,
        // Latin with accents, Greek, Cyrillic.
        0xc0..=0xd5 => 1,
        // Hebrew, Arabic.
        0xd6..=0xdf => 2,
        // Chinese, Japanese, Korean.
        0xe3..=0xed => 2,
        // Indic, Thai, symbols.
        0xe0..=0xef => 3,
        0xf0.. => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_follow_the_shape_of_the_text() {
        let cases = [
            ("", 0),
            ("The mill grinds wheat.", 6),
            ("antidisestablishmentarianism", 9),
            ("1234567 ", 3),
            ("{\"a\": 1}", 7),
            ("水車", 4),
        ];
        for (text, tokens) in cases {
            assert_eq!(Estimate.count(text), tokens, "{text}");
        }
    }
}
