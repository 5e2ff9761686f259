//! How many tokens a text has, roughly and at once.
//!
//! One pass over the characters and no vocabulary: a run of letters is a token and
//! another for every five letters after the ninth, a run of digits one for every three,
//! a mark one, an ideograph one, other scripts one for every two letters.
//!
//! How far it is off, measured against all-MiniLM's WordPiece on stretches of 150 words: on
//! English prose and abstracts (four collections) 0.88 to 1.15 of the exact count for 98 in
//! 100 stretches, 1.01 at the median; on Markdown with code and links 0.62 to 1.07, and more
//! on lines of nothing but marks. On one text of each other kind: Chinese and Japanese 1.00,
//! code 0.92, capitals 0.91, numbers 0.90, Devanagari 0.87, hexadecimal 0.75, Arabic 0.59,
//! Cyrillic 0.58, Greek 0.57, German 0.56, base64 0.54, codes in capitals 0.49, Korean 0.32
//! (each letter of a syllable is a token). For any text the exact count is at most its bytes.

use model::TokenCounter;

/// A fast estimate of WordPiece counts, to size with and never to state as a count.
#[derive(Debug, Clone, Copy, Default)]
pub struct Estimate;

impl TokenCounter for Estimate {
    fn count(&self, text: &str) -> usize {
        let mut total = 0;
        let mut run = Run::default();
        for char in text.chars() {
            let class = Class::of(char);
            if class != run.class {
                total += run.tokens();
                run = Run { class, length: 0 };
            }
            run.length += 1;
        }
        total + run.tokens()
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Class {
    #[default]
    Space,
    Letter,
    Digit,
    Mark,
    Ideograph,
    Other,
}

impl Class {
    fn of(char: char) -> Self {
        match char {
            'a'..='z' | 'A'..='Z' => Self::Letter,
            '0'..='9' => Self::Digit,
            ' ' | '\n' | '\t' | '\r' => Self::Space,
            '\u{0}'..='\u{7f}' => Self::Mark,
            '\u{c0}'..='\u{24f}' => Self::Letter,
            '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'.. => Self::Ideograph,
            c if c.is_alphanumeric() => Self::Other,
            c if c.is_whitespace() => Self::Space,
            _ => Self::Mark,
        }
    }
}

#[derive(Default)]
struct Run {
    class: Class,
    length: usize,
}

impl Run {
    fn tokens(&self) -> usize {
        match self.class {
            Class::Space => 0,
            Class::Letter => 1 + self.length.saturating_sub(9).div_ceil(5),
            Class::Digit => self.length.div_ceil(3),
            Class::Mark | Class::Ideograph => self.length,
            Class::Other => self.length.div_ceil(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Sample {
        kind: String,
        /// As all-MiniLM's own tokenizer counts it.
        wordpiece: f64,
        text: String,
    }

    #[test]
    fn it_is_as_far_off_as_is_stated_for_each_kind_of_text() {
        let samples = include_str!("../../../testkit/samples/scripts.json");
        let samples: Vec<Sample> = serde_json::from_str(samples).unwrap();
        let found = samples.iter().map(|sample| {
            let share = Estimate.count(&sample.text) as f64 / sample.wordpiece;
            (sample.kind.as_str(), (100.0 * share).round() as u32)
        });
        let stated = [
            ("english", 101),
            ("german", 56),
            ("cyrillic", 58),
            ("greek", 57),
            ("chinese", 100),
            ("japanese", 100),
            ("korean", 32),
            ("arabic", 59),
            ("devanagari", 87),
            ("code", 92),
            ("base64", 54),
            ("hexadecimal", 75),
            ("codes_in_capitals", 49),
            ("capitals", 91),
            ("numbers", 90),
        ];
        assert_eq!(found.collect::<Vec<_>>(), stated);
    }
}
