//! Where sentences end.
//!
//! Unicode's rules (UAX #29), mended where running text needs it: a line end is not
//! a sentence end unless a line is empty, nor is the full stop of an abbreviation or an initial.

use std::ops::Range;

use icu_segmenter::SentenceSegmenter;
use icu_segmenter::options::SentenceBreakInvariantOptions;

/// Ranges of the text, one after another and without gaps.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let segmenter = SentenceSegmenter::new(SentenceBreakInvariantOptions::default());
    let mut sentences = Vec::new();
    let mut from = 0;
    for at in segmenter.segment_str(text) {
        if at > from && (at == text.len() || ends_sentence(&text[from..at], &text[at..])) {
            sentences.push(from..at);
            from = at;
        }
    }
    sentences
}

fn ends_sentence(before: &str, after: &str) -> bool {
    let body = before.trim_end();
    let space = &before[body.len()..];
    let body = body.trim_end_matches(['"', '\'', '”', '’', ')', ']', '»']);
    let empty_line = space.matches('\n').count() > 1 || after.starts_with('\n');
    match body.chars().next_back() {
        _ if empty_line => true,
        Some('.') => !is_abbreviation(body),
        Some('!' | '?' | '…' | '。' | '！' | '？' | '।' | '؟') => true,
        // Unicode ends a sentence at each line end; a wrapped line goes on.
        _ => !space.contains('\n'),
    }
}

/// Words whose full stop is part of them and after which a sentence hardly ever ends.
const ABBREVIATIONS: &[&str] = &[
    "al", "approx", "art", "bzw", "ca", "cf", "ch", "col", "dr", "e.g", "ed", "eds", "eq", "eqs",
    "fig", "figs", "gen", "gov", "i.e", "jan", "feb", "apr", "aug", "sept", "oct", "nov", "dec",
    "lt", "mr", "mrs", "ms", "mt", "no", "nos", "nr", "op", "p", "pp", "prof", "ref", "refs",
    "rep", "rev", "sec", "sen", "sgt", "st", "tab", "u.a", "viz", "vol", "vols", "vs", "z.b",
];

fn is_abbreviation(body: &str) -> bool {
    let word = body
        .trim_end_matches('.')
        .rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '“'))
        .next()
        .unwrap_or_default();
    let initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    initial || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        sentences(text)
            .into_iter()
            .map(|r| text[r].trim())
            .collect()
    }

    #[test]
    fn abbreviations_initials_and_wrapped_lines_do_not_end_a_sentence() {
        assert_eq!(
            split("Dr. J. Smith wrote it\nin 1999 (cf. Fig. 3). It cost 3.50 dollars! Did it?"),
            [
                "Dr. J. Smith wrote it\nin 1999 (cf. Fig. 3).",
                "It cost 3.50 dollars!",
                "Did it?"
            ]
        );
    }

    #[test]
    fn chinese_and_empty_lines_end_sentences() {
        assert_eq!(
            split("这是一句。这是另一句。"),
            ["这是一句。", "这是另一句。"]
        );
        assert_eq!(split("a heading\n\nthen text"), ["a heading", "then text"]);
    }

    #[test]
    fn the_ranges_tile_the_text() {
        let text = "One. Two?\n\nThree… four.  ";
        let joined: String = sentences(text).into_iter().map(|r| &text[r]).collect();
        assert_eq!(joined, text);
    }
}
