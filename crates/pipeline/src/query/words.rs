//! Words as a query and a passage are compared by: folded to lower case, English
//! endings taken off, ideographs one by one.

use std::ops::Range;

/// A word and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub stem: String,
    pub bytes: Range<usize>,
}

pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, char) in text.char_indices() {
        let joins = matches!(char, '\'' | '’') && start.is_some()
            || char.is_alphanumeric() && !is_ideograph(char);
        match (joins, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push(word(text, from..at));
                start = None;
            }
            _ => {}
        }
        if is_ideograph(char) {
            words.push(word(text, at..at + char.len_utf8()));
        }
    }
    if let Some(from) = start {
        words.push(word(text, from..text.len()));
    }
    words
}

fn word(text: &str, bytes: Range<usize>) -> Word {
    let whole = &text[bytes.clone()];
    let owner = whole.strip_suffix("'s").or(whole.strip_suffix("’s"));
    let plain = owner.unwrap_or(whole).trim_end_matches(['\'', '’']);
    let bytes = bytes.start..bytes.start + plain.len();
    Word {
        stem: stem(text[bytes.clone()].to_lowercase()),
        bytes,
    }
}

fn is_ideograph(char: char) -> bool {
    matches!(char, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

/// Takes the endings off that turn one English word into its kin; three letters must remain.
fn stem(word: String) -> String {
    const ENDINGS: &[(&str, &str)] = &[
        ("ations", "at"),
        ("ation", "at"),
        ("ingly", ""),
        ("edly", ""),
        ("ings", ""),
        ("ies", "y"),
        ("ing", ""),
        ("sses", "ss"),
        ("ers", "er"),
        ("ed", ""),
        ("ly", ""),
        ("es", ""),
        ("ss", "ss"),
        ("us", "us"),
        ("is", "is"),
        ("s", ""),
        ("e", ""),
    ];
    if !word.is_ascii() || word.bytes().any(|b| b.is_ascii_digit()) {
        return word;
    }
    let ending = ENDINGS.iter().find_map(|(ending, instead)| {
        let rest = word.strip_suffix(ending)?;
        (rest.len() >= 3).then(|| format!("{rest}{instead}"))
    });
    let stem = ending.unwrap_or(word);
    undoubled(stem)
}

/// `stopped` and `stop` end alike.
fn undoubled(mut stem: String) -> String {
    let bytes = stem.as_bytes();
    if let [.., a, b] = bytes
        && a == b
        && stem.len() > 3
        && !matches!(b, b'l' | b's' | b'z')
    {
        stem.pop();
    }
    stem
}

/// Words so common that finding them says nothing.
const COMMON: &[&str] = &[
    "a", "about", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by",
    "can", "could", "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "his",
    "how", "i", "if", "in", "into", "is", "it", "its", "many", "me", "more", "most", "much", "my",
    "no", "not", "of", "on", "or", "our", "she", "should", "so", "some", "such", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "was", "we",
    "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with",
    "would", "you", "your",
];

/// The words of a question that say what it is about; all of them if none does.
pub(super) fn telling(question: &str) -> Vec<String> {
    let all = words(question);
    let is_common = |word: &Word| {
        let text = question[word.bytes.clone()].to_lowercase();
        COMMON.binary_search(&text.as_str()).is_ok()
    };
    let (common, telling): (Vec<_>, Vec<_>) = all.into_iter().partition(is_common);
    let chosen = if telling.is_empty() { common } else { telling };
    let mut stems: Vec<String> = chosen.into_iter().map(|word| word.stem).collect();
    stems.sort_unstable();
    stems.dedup();
    stems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kin_share_a_stem() {
        for (one, other) in [
            ("batches", "batch"),
            ("stopped", "stopping"),
            ("policies", "policy"),
            ("cited", "cites"),
            ("Embedding", "embedded"),
            ("class", "classes"),
        ] {
            assert_eq!(words(one)[0].stem, words(other)[0].stem, "{one} {other}");
        }
        assert_ne!(words("bus")[0].stem, words("bush")[0].stem);
    }

    #[test]
    fn the_common_words_are_sorted_for_searching() {
        assert!(COMMON.is_sorted());
        assert_eq!(telling("What is the batch size?"), ["batch", "siz"]);
        assert_eq!(telling("who is it"), ["is", "it", "who"]);
    }
}
