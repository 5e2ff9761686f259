//! Which parts of a passage match a query.

use std::ops::Range;

use crate::query::words::{telling, words};

/// Byte ranges of the passage, ascending and apart; words that stand side by side are one range.
pub fn highlights(query: &str, passage: &str) -> Vec<Range<usize>> {
    let wanted = telling(query);
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for word in words(passage) {
        if wanted.binary_search(&word.stem).is_err() {
            continue;
        }
        match ranges.last_mut() {
            Some(last) if passage[last.end..word.bytes.start].trim().is_empty() => {
                last.end = word.bytes.end;
            }
            _ => ranges.push(word.bytes),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked<'a>(query: &str, passage: &'a str) -> Vec<&'a str> {
        highlights(query, passage)
            .into_iter()
            .map(|r| &passage[r])
            .collect()
    }

    #[test]
    fn words_match_in_any_form_and_side_by_side_are_one() {
        let passage = "Closing a batch: the Batches closed on time, the batch size did not.";
        assert_eq!(
            marked("how are batch sizes closed?", passage),
            ["Closing", "batch", "Batches closed", "batch size"]
        );
    }

    #[test]
    fn ideographs_match_one_by_one() {
        assert_eq!(marked("知识库", "这是一个知识库系统"), ["知识库"]);
        assert!(marked("", "anything").is_empty());
    }
}
