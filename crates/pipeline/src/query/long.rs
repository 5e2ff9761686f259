//! A query longer than a model reads: nothing of it is cut away.
//!
//! It is read in parts that end where sentences do, and the parts' vectors are made one,
//! each counting by its length: about what a model would make of it that averages over
//! the tokens of a longer text.

use model::{Atom, AtomKind, ChunkPolicy, Parsed, Span, Strategy, TokenCounter};

use crate::chunk::chunk;
use crate::units::units;

/// As much of a query as is embedded at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub text: String,
    pub tokens: usize,
}

/// All of a query in parts of at most `limit` tokens; one that fits is its only part.
pub fn parts(query: &str, limit: u32, tokens: &dyn TokenCounter) -> Vec<Part> {
    let count = tokens.count(query);
    if count <= limit as usize {
        let text = query.to_owned();
        return vec![Part {
            text,
            tokens: count,
        }];
    }
    let policy = ChunkPolicy::new(Strategy::Sentence, (limit, limit, 0), limit)
        .expect("a target equal to the limit, without overlap");
    let part = |chunk: model::Chunk| Part {
        tokens: chunk.tokens as usize,
        text: chunk.text,
    };
    let parsed = paragraph(query);
    let chunks = units(&parsed);
    let chunks = chunks.iter().flat_map(|unit| chunk(unit, policy, tokens));
    chunks.map(part).collect()
}

fn paragraph(text: &str) -> Parsed {
    let span = Span {
        byte_start: 0,
        byte_end: text.len() as u64,
        char_start: 0,
        char_end: text.chars().count() as u64,
    };
    Parsed {
        text: text.to_owned(),
        atoms: vec![Atom {
            kind: AtomKind::Paragraph,
            span,
            boxes: Vec::new(),
            source: None,
            anchor: None,
            links: Vec::new(),
        }],
        ..Parsed::default()
    }
}

/// The vectors of the parts as one of unit length.
pub fn blend(parts: &[Part], vectors: &[Vec<f32>]) -> Vec<f32> {
    let dimension = vectors.first().map_or(0, Vec::len);
    let mut sum = vec![0.0_f32; dimension];
    for (part, vector) in parts.iter().zip(vectors) {
        let weight = part.tokens.max(1) as f32;
        sum.iter_mut()
            .zip(vector)
            .for_each(|(sum, v)| *sum += weight * v);
    }
    let length = sum.iter().map(|v| v * v).sum::<f32>().sqrt();
    if length > 0.0 {
        sum.iter_mut().for_each(|v| *v /= length);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Words;

    #[test]
    fn every_word_of_a_long_query_is_in_one_part_and_parts_end_with_sentences() {
        let sentence = |n: usize| format!("Who wrote down what mill {n} ground that year?");
        let query: Vec<String> = (0..40).map(sentence).collect();
        let query = query.join(" ");
        let parts = parts(&query, 50, &Words);
        let read: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
        assert_eq!(read.join(" "), query);
        for part in &parts {
            assert!(part.tokens <= 50 && part.text.ends_with('?'), "{part:?}");
        }
    }

    #[test]
    fn a_query_without_sentences_is_read_all_the_same_and_a_short_one_as_it_is() {
        let endless = "mill ".repeat(120);
        let read = parts(&endless, 50, &Words);
        let tokens: Vec<usize> = read.iter().map(|part| part.tokens).collect();
        assert_eq!(tokens, [50, 50, 20]);
        let short = " Who was the miller?\n";
        assert_eq!(parts(short, 50, &Words)[0].text, short);
    }

    #[test]
    fn a_longer_part_counts_for_more_and_the_blend_has_unit_length() {
        let part = |tokens| Part {
            text: String::new(),
            tokens,
        };
        let parts = [part(30), part(40)];
        let blended = blend(&parts, &[vec![1.0, 0.0], vec![0.0, 1.0]]);
        assert_eq!(blended, [0.6, 0.8]);
    }
}
