//! A text longer than the model reads: where it is divided, and what stands for it.
//!
//! Tokens of a remote model are estimated, so a text may be found too long only when it is
//! refused. Nothing of it is left out then: its halves are asked for, halves of those where it
//! must be, and their mean by size is its vector.

use super::wire;
use crate::Error;

/// Less than this is not divided: a service that refuses it refuses anything.
const LEAST_BYTES: usize = 64;

/// Two halves, parted at white space where there is any near the middle; `None` where there is
/// too little to divide.
pub fn halves(text: &str) -> Option<[&str; 2]> {
    let text = text.trim();
    if text.len() < LEAST_BYTES {
        return None;
    }
    let middle = text.len() / 2;
    let from_middle = |at: &usize| at.abs_diff(middle);
    let spaces = text.char_indices().filter(|(_, c)| c.is_whitespace());
    let nearest = spaces.map(|(at, _)| at).min_by_key(from_middle);
    let at = nearest
        .filter(|at| from_middle(at) <= text.len() / 4)
        .unwrap_or_else(|| text.ceil_char_boundary(middle));
    let (head, tail) = text.split_at(at);
    Some([head.trim_end(), tail.trim_start()])
}

/// The unit vector between those of some parts, each counting as much as it is long.
pub fn mean(parts: &[(Vec<f32>, usize)]) -> Result<Vec<f32>, Error> {
    let dimension = parts.first().map_or(0, |(vector, _)| vector.len());
    let mut sum = vec![0.0; dimension];
    for (vector, tokens) in parts {
        for (sum, value) in sum.iter_mut().zip(vector) {
            *sum += value * *tokens as f32;
        }
    }
    wire::unit(sum, dimension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_whole_words_where_there_are_any_and_nothing_is_lost() {
        let words = "grain and stones ".repeat(9);
        let [head, tail] = halves(&words).unwrap();
        assert_eq!(format!("{head} {tail}"), words.trim());
        assert!(head.len().abs_diff(tail.len()) < 12, "{head}|{tail}");

        let endless = "日".repeat(101);
        let [head, tail] = halves(&endless).unwrap();
        assert_eq!(format!("{head}{tail}"), endless);

        let lopsided = format!("a {}", "b".repeat(100));
        let [head, _] = halves(&lopsided).unwrap();
        assert!(head.len() > 40, "{head}");
        assert_eq!(halves("a few words"), None);
    }

    #[test]
    fn the_mean_leans_towards_the_longer_part_and_has_unit_length() {
        let mean = mean(&[(vec![1.0, 0.0], 30), (vec![0.0, 1.0], 40)]).unwrap();
        assert_eq!(mean, [0.6, 0.8]);
    }
}
