//! An answer in the documents' own words: the sentences that bear on a question, or
//! the admission that none does.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::chunk::sentences;
use crate::query::words::{telling, words};

/// A sentence of a passage that bears on the question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Support {
    /// Position among the passages given.
    pub passage: usize,
    /// Bytes of that passage.
    pub range: Range<usize>,
    /// How much of what the question asks about it speaks of, 0 to 1.
    pub score: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Best first.
    Supported(Vec<Support>),
    /// Nothing that was found speaks of what was asked; with the words no passage has.
    Abstained { missing: Vec<String> },
}

/// Of what is asked, this share must be spoken of, in one sentence, for it to support an answer.
const ENOUGH: f64 = 0.5;

/// Picks at most `most` sentences from passages given best first.
pub fn answer(question: &str, passages: &[&str], most: usize) -> Answer {
    let asked = telling(question);
    let candidates = candidates(&asked, passages);
    let weights = weights(&asked, &candidates);
    let all: f64 = weights.iter().sum();
    let mut supports: Vec<Support> = candidates
        .iter()
        .map(|candidate| candidate.support(&weights, all))
        .filter(|support| support.score >= ENOUGH)
        .collect();
    if supports.is_empty() {
        let missing = missing(&asked, &candidates);
        return Answer::Abstained { missing };
    }
    supports.sort_by(|a, b| {
        let place = |s: &Support| (s.passage, s.range.start);
        b.score.total_cmp(&a.score).then(place(a).cmp(&place(b)))
    });
    supports.truncate(most);
    Answer::Supported(supports)
}

struct Candidate {
    passage: usize,
    range: Range<usize>,
    /// Which of the words asked for it has, by position.
    has: Vec<usize>,
}

impl Candidate {
    fn support(&self, weights: &[f64], all: f64) -> Support {
        let has: f64 = self.has.iter().map(|&word| weights[word]).sum();
        Support {
            passage: self.passage,
            range: self.range.clone(),
            score: if all > 0.0 { has / all } else { 0.0 },
        }
    }
}

fn candidates(asked: &[String], passages: &[&str]) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    // Neighbouring chunks overlap: the same sentence supports an answer once.
    let mut known = HashMap::new();
    for (passage, text) in passages.iter().enumerate() {
        for range in sentences(text) {
            let sentence = text[range.clone()].trim();
            if sentence.is_empty() || known.insert(sentence, passage).is_some() {
                continue;
            }
            let start = range.start + text[range.clone()].find(sentence).unwrap_or(0);
            candidates.push(Candidate {
                passage,
                range: start..start + sentence.len(),
                has: matched(asked, sentence),
            });
        }
    }
    candidates
}

fn matched(asked: &[String], sentence: &str) -> Vec<usize> {
    let mut has: Vec<usize> = words(sentence)
        .iter()
        .filter_map(|word| asked.binary_search(&word.stem).ok())
        .collect();
    has.sort_unstable();
    has.dedup();
    has
}

/// A word few sentences have tells more; one that none has, most of all.
fn weights(asked: &[String], candidates: &[Candidate]) -> Vec<f64> {
    let count = candidates.len() as f64;
    let having = |word: usize| candidates.iter().filter(|c| c.has.contains(&word)).count();
    (0..asked.len())
        .map(|word| (1.0 + count / (1.0 + having(word) as f64)).ln())
        .collect()
}

fn missing(asked: &[String], candidates: &[Candidate]) -> Vec<String> {
    let absent = |word: &usize| !candidates.iter().any(|c| c.has.contains(word));
    (0..asked.len())
        .filter(absent)
        .map(|word| asked[word].clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSAGES: [&str; 2] = [
        "The batcher closes on tokens. It also closes when a document ends.",
        "A ledger entry is written for every activation. Nothing else is.",
    ];

    #[test]
    fn the_sentence_that_speaks_of_it_is_the_answer() {
        let Answer::Supported(found) = answer("What closes at a document's end?", &PASSAGES, 1)
        else {
            panic!("abstained");
        };
        assert_eq!(
            &PASSAGES[found[0].passage][found[0].range.clone()],
            "It also closes when a document ends."
        );
    }

    #[test]
    fn what_no_passage_speaks_of_is_not_answered() {
        let Answer::Abstained { missing } =
            answer("Who won the chess tournament in Bergen?", &PASSAGES, 3)
        else {
            panic!("answered");
        };
        assert!(missing.contains(&"chess".to_owned()));
    }
}
