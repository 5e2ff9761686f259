//! Where words and clauses end, also in scripts that put no space between them.

use std::ops::Range;

/// What white space separates; an ideograph, or a letter of hiragana, is a word by itself.
pub(super) fn words(text: &str) -> Vec<Range<usize>> {
    let base = text.as_ptr() as usize;
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        let start = word.as_ptr() as usize - base;
        words.extend(unspaced(word).map(|part| start + part.start..start + part.end));
    }
    words
}

fn unspaced(word: &str) -> impl Iterator<Item = Range<usize>> {
    // Nearly all words are plain: these are not looked at letter by letter.
    let divisible = if word.is_ascii() { "" } else { word };
    let letters = divisible.char_indices().zip(divisible.chars().skip(1));
    let begun = letters
        .filter(|((_, before), after)| parts(*before, *after))
        .map(|((at, before), _)| at + before.len_utf8());
    ranges(begun, word.len())
}

/// Whether a word may end between two letters. Marks stay with what they follow, opening ones with
/// what they open.
fn parts(before: char, after: char) -> bool {
    let stands_alone = is_ideograph(after) || opens(after);
    let follows = is_wide_mark(before) || is_ideograph(before);
    !opens(before) && (stands_alone || follows && after.is_alphanumeric() && !lengthens(after))
}

/// After the marks that part a sentence where commas have no space behind them.
pub(super) fn clauses(text: &str) -> Vec<Range<usize>> {
    let begun = text
        .match_indices(['，', '、', '；', '：'])
        .map(|(at, mark)| at + mark.len());
    ranges(begun, text.len()).collect()
}

/// The parts of a text of that length that begin at these places.
fn ranges(begun: impl Iterator<Item = usize>, length: usize) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    begun
        .chain([length])
        .map(move |at| std::mem::replace(&mut from, at)..at)
        .filter(|part| !part.is_empty())
}

/// Letters each of which is a word, as Unicode has it (UAX #29); katakana are spelt out in words.
fn is_ideograph(char: char) -> bool {
    matches!(char,
        '\u{3006}'..='\u{3007}' | '\u{3041}'..='\u{3096}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn is_wide_mark(char: char) -> bool {
    matches!(char,
        '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{301f}' | '\u{ff01}'..='\u{ff0f}'
        | '\u{ff1a}'..='\u{ff20}' | '\u{ff5b}'..='\u{ff65}')
}

fn opens(char: char) -> bool {
    matches!(
        char,
        '「' | '『' | '《' | '〈' | '【' | '〔' | '〖' | '（' | '［' | '｛' | '“' | '‘'
    )
}

/// The mark of a long vowel, and those that say a letter again.
fn lengthens(char: char) -> bool {
    matches!(char, 'ー' | '々' | 'ゝ' | 'ゞ' | 'ヽ' | 'ヾ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str, cut: impl Fn(&str) -> Vec<Range<usize>>) -> Vec<&str> {
        cut(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn ideographs_are_words_and_marks_stay_with_them() {
        assert_eq!(
            split("don't stop, naïve! 水车（石磨）转，用Rust写。", words),
            [
                "don't", "stop,", "naïve!", "水", "车", "（石", "磨）", "转，", "用", "Rust",
                "写。"
            ]
        );
        assert_eq!(
            split("コーヒーをのむ人々 葛\u{e0100}飾", words),
            ["コーヒー", "を", "の", "む", "人々", "葛\u{e0100}", "飾"]
        );
    }

    #[test]
    fn clauses_end_behind_wide_commas() {
        assert_eq!(
            split("水车转动，石磨、谷物；面粉。", clauses),
            ["水车转动，", "石磨、", "谷物；", "面粉。"]
        );
        assert_eq!(split("plain, text", clauses), ["plain, text"]);
    }
}
