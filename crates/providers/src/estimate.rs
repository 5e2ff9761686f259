//! How many tokens a remote model makes of a text, guessed, and rather high.
//!
//! A remote model's vocabulary is not here, and the one of a model behind a
//! compatible endpoint is not even known. Vocabularies share a shape: common
//! words are one token, long ones split, and so does a change of case within one,
//! capitals go in pairs, digits in threes, symbols mostly stand alone. Of prose
//! that is more than the truth; of nothing that was measured is it less than three
//! quarters. `docs/adr/0046-remote-tokens-are-estimated.md` has the figures, and
//! why this and no vocabulary.

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
            Self::Letter => letters(run),
            Self::Digit => length.div_ceil(3),
            Self::Blank => usize::from(run != b" ") * length.div_ceil(4).max(1),
            Self::Symbol => length,
            Self::Beyond => run.iter().map(|byte| beyond(*byte)).sum(),
        }
    }
}

/// A word begins where a capital follows a small letter. Capitals before its own stand in pairs,
/// as they do in codes and where letters are all there is of bytes.
fn letters(run: &[u8]) -> usize {
    let words = run.chunk_by(|before, at| before.is_ascii_uppercase() || at.is_ascii_lowercase());
    let tokens = words.map(|word| {
        let capitals = word.iter().take_while(|b| b.is_ascii_uppercase()).count();
        if capitals == word.len() {
            return capitals.div_ceil(2);
        }
        let before = capitals.saturating_sub(1);
        let length = word.len() - before;
        before.div_ceil(2) + 1 + length.saturating_sub(WHOLE_WORD).div_ceil(PER_PIECE)
    });
    tokens.sum()
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
            ("HTMLParser", 4),
            ("LIEN", 2),
        ];
        for (text, tokens) in cases {
            assert_eq!(Estimate.count(text), tokens, "{text}");
        }
    }

    #[derive(serde::Deserialize)]
    struct Sample {
        kind: String,
        /// Of all-MiniLM's vocabulary.
        wordpiece: f64,
        /// Of OpenAI's embedding models.
        cl100k: f64,
        text: String,
    }

    /// Of each kind of text: what ADR 0046 states, in hundredths of the exact count of OpenAI's
    /// vocabulary and of WordPiece.
    const STATED: [(&str, u32, u32); 15] = [
        ("english", 140, 138),
        ("german", 99, 85),
        ("cyrillic", 188, 103),
        ("greek", 98, 104),
        ("chinese", 178, 198),
        ("japanese", 177, 200),
        ("korean", 159, 101),
        ("arabic", 229, 204),
        ("devanagari", 257, 410),
        ("code", 154, 113),
        ("base64", 83, 89),
        ("hexadecimal", 98, 77),
        ("codes_in_capitals", 92, 86),
        ("capitals", 197, 226),
        ("numbers", 81, 90),
    ];

    #[test]
    fn no_kind_of_text_is_counted_at_less_than_three_quarters() {
        let samples = include_str!("../../testkit/samples/scripts.json");
        let samples: Vec<Sample> = serde_json::from_str(samples).unwrap();
        let hundredths = |of: f64, exact: f64| (100.0 * of / exact).round() as u32;
        let found = samples.iter().map(|sample| {
            let count = Estimate.count(&sample.text) as f64;
            let (cl100k, wordpiece) = (sample.cl100k, sample.wordpiece);
            (
                sample.kind.as_str(),
                hundredths(count, cl100k),
                hundredths(count, wordpiece),
            )
        });
        assert_eq!(found.collect::<Vec<_>>(), STATED);
        for (kind, of_cl100k, of_wordpiece) in STATED {
            assert!(of_cl100k.min(of_wordpiece) >= 75, "{kind}");
        }
    }
}
