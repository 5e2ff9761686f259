//! From text to words.
//!
//! Text is folded to its compatibility form and lower case and cut at everything
//! that is neither letter nor digit. Words are stemmed by the rules of the
//! chunk's language, English where none is given and none at all where the
//! language has no rules here; then accents go. Scripts written without spaces
//! yield every character and every pair of neighbours.
//!
//! A query does not know in which language it will be answered, so each of its
//! words stands for all its stems in the languages of the space.

use std::collections::HashMap;

use tantivy::tokenizer::{
    Language, Stemmer, StopWordFilter, TextAnalyzer, TokenStream, WhitespaceTokenizer,
};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Words are cut here: longer ones are data, not language.
const LONGEST: usize = 64;

/// Stands for languages without rules.
const PLAIN: &str = "und";

const RULES: [(&str, &str, Language); 18] = [
    ("ar", "ara", Language::Arabic),
    ("da", "dan", Language::Danish),
    ("nl", "nld", Language::Dutch),
    ("en", "eng", Language::English),
    ("fi", "fin", Language::Finnish),
    ("fr", "fra", Language::French),
    ("de", "deu", Language::German),
    ("el", "ell", Language::Greek),
    ("hu", "hun", Language::Hungarian),
    ("it", "ita", Language::Italian),
    ("no", "nob", Language::Norwegian),
    ("pt", "por", Language::Portuguese),
    ("ro", "ron", Language::Romanian),
    ("ru", "rus", Language::Russian),
    ("es", "spa", Language::Spanish),
    ("sv", "swe", Language::Swedish),
    ("ta", "tam", Language::Tamil),
    ("tr", "tur", Language::Turkish),
];

/// The name under which a language's rules are applied and remembered.
pub fn rules_of(language: Option<&str>) -> &'static str {
    let Some(given) = language else { return "en" };
    let given = given.split(['-', '_']).next().unwrap_or_default();
    let given = given.to_ascii_lowercase();
    let known = |(two, three, _): &&(&str, &str, _)| given == *two || given == *three;
    RULES.iter().find(known).map_or(PLAIN, |(two, ..)| two)
}

fn language(rules: &str) -> Option<Language> {
    let known = RULES.iter().find(|(two, ..)| *two == rules);
    known.map(|(.., language)| *language)
}

/// The words of a chunk under the rules of its language.
pub fn of_text<'a>(rules: &str, texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut plain = Vec::new();
    texts.for_each(|text| cut(text, Pairs::AndSingles, &mut plain));
    stem(rules, &plain)
}

/// A word of a query: its stems in every language of the space, and how often it was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub stems: Vec<String>,
    pub times: u32,
}

/// The words of a query in the order they were first said.
///
/// Function words go, unless there is nothing else. One language's function word may be what a
/// text of another is about ("war"), so only what is one in all languages of the space goes; a
/// further language takes no word away, and how common the others are weighs them. Who asks with a whole abstract says what
/// it is about again and again: that counts, as it does in the text.
pub fn of_query(languages: &[String], query: &str) -> Vec<Asked> {
    let mut plain = Vec::new();
    cut(query, Pairs::Only, &mut plain);
    let telling: Vec<String> = plain
        .iter()
        .filter(|w| !is_stop(languages, w))
        .cloned()
        .collect();
    let kept = if telling.is_empty() { plain } else { telling };
    let mut asked: Vec<Asked> = Vec::new();
    let mut places: HashMap<Vec<String>, usize> = HashMap::new();
    for word in &kept {
        let stems = stems(languages, word);
        let place = *places.entry(stems.clone()).or_insert(asked.len());
        match asked.get_mut(place) {
            Some(known) => known.times += 1,
            None => asked.push(Asked { stems, times: 1 }),
        }
    }
    asked
}

fn stems(languages: &[String], word: &String) -> Vec<String> {
    let one = std::slice::from_ref(word);
    let mut stems: Vec<String> = languages.iter().flat_map(|l| stem(l, one)).collect();
    stems.sort_unstable();
    stems.dedup();
    stems
}

fn is_stop(languages: &[String], word: &str) -> bool {
    let stops = |rules: &String| {
        let filter = language(rules).and_then(StopWordFilter::new);
        filter.is_some_and(|filter| {
            let mut analyzer = TextAnalyzer::builder(WhitespaceTokenizer::default())
                .filter(filter)
                .build();
            !analyzer.token_stream(word).advance()
        })
    };
    languages.iter().all(stops)
}

fn stem(rules: &str, words: &[String]) -> Vec<String> {
    let Some(language) = language(rules) else {
        return words.iter().map(|word| without_accents(word)).collect();
    };
    let mut analyzer = TextAnalyzer::builder(WhitespaceTokenizer::default())
        .filter(Stemmer::new(language))
        .build();
    let joined = words.join(" ");
    let mut stream = analyzer.token_stream(&joined);
    let mut stems = Vec::with_capacity(words.len());
    while stream.advance() {
        stems.push(without_accents(&stream.token().text));
    }
    stems
}

fn without_accents(word: &str) -> String {
    if word.is_ascii() {
        return word.to_owned();
    }
    word.nfd().filter(|c| !is_accent(*c)).nfc().collect()
}

/// Marks that are put over letters or left out as one likes: those of Latin, Greek and Cyrillic,
/// the points of Hebrew and the vowels of Arabic. Elsewhere a mark is a letter's half or a vowel,
/// and without it the word is another.
fn is_accent(c: char) -> bool {
    matches!(c,
        '\u{0300}'..='\u{036f}' | '\u{0483}'..='\u{0489}' | '\u{0591}'..='\u{05c7}'
        | '\u{064b}'..='\u{065f}' | '\u{0670}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
        && is_combining_mark(c)
}

#[derive(Clone, Copy, PartialEq)]
enum Pairs {
    /// A query of two or more characters asks for its pairs.
    Only,
    /// A text offers both.
    AndSingles,
}

fn cut(text: &str, pairs: Pairs, words: &mut Vec<String>) {
    let mut word = String::new();
    let mut run: Vec<char> = Vec::new();
    for c in text.nfkc().flat_map(char::to_lowercase) {
        if is_unspaced(c) {
            end_word(&mut word, words);
            run.push(c);
            continue;
        }
        end_run(&mut run, pairs, words);
        if c.is_alphanumeric() || (is_combining_mark(c) && !word.is_empty()) {
            word.push(c);
        } else {
            end_word(&mut word, words);
        }
    }
    end_word(&mut word, words);
    end_run(&mut run, pairs, words);
}

fn end_word(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        let whole = std::mem::take(word);
        let end = whole.char_indices().nth(LONGEST).map(|(at, _)| at);
        words.push(end.map_or(whole.clone(), |end| whole[..end].to_owned()));
    }
}

fn end_run(run: &mut Vec<char>, pairs: Pairs, words: &mut Vec<String>) {
    if pairs == Pairs::AndSingles || run.len() == 1 {
        words.extend(run.iter().map(char::to_string));
    }
    words.extend(run.windows(2).map(|pair| pair.iter().collect::<String>()));
    run.clear();
}

/// Han, kana, Hangul, Thai, Lao, Khmer, Burmese: written without spaces, or
/// with spaces that do not part words.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{1100}'..='\u{11ff}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
        && (c.is_alphanumeric() || is_combining_mark(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(language: Option<&str>, text: &str) -> Vec<String> {
        of_text(rules_of(language), std::iter::once(text))
    }

    #[test]
    fn words_are_stemmed_by_their_language_and_english_is_the_default() {
        assert_eq!(text(None, "Turbines, running!"), ["turbin", "run"]);
        assert_eq!(text(Some("deu"), "Häuser"), text(Some("de-AT"), "hauser"));
        assert_eq!(text(Some("cs"), "Město"), ["mesto"]);
    }

    /// The stems of each word asked for.
    fn query(languages: &[&str], query: &str) -> Vec<Vec<String>> {
        let languages: Vec<String> = languages.iter().map(|l| (*l).to_owned()).collect();
        let asked = of_query(&languages, query).into_iter();
        asked.map(|asked| asked.stems).collect()
    }

    #[test]
    fn scripts_without_spaces_can_be_searched_by_part_of_a_word() {
        let words = text(Some("ja"), "東京都 GPU搭載");
        let asked = query(&["und"], "東京");
        assert_eq!(asked, [["東京"]]);
        assert!(words.contains(&asked[0][0]) && words.contains(&"gpu".to_owned()));
        assert_eq!(query(&["und"], "都"), [["都"]]);
    }

    #[test]
    fn marks_that_make_another_letter_are_kept() {
        for (word, other) in [
            ("パス", "ハス"),
            ("กิน", "กน"),
            ("किताब", "कताब"),
            ("かぎ", "かき"),
        ] {
            let pair = |of| text(Some("und"), of).pop();
            assert_ne!(pair(word), pair(other), "{word}");
        }
        assert_eq!(text(Some("und"), "شُكْرًا"), text(Some("und"), "شكرا"));
        assert_eq!(text(Some("und"), "ガ"), text(Some("und"), "カ\u{3099}"));
    }

    #[test]
    fn a_query_word_stands_for_its_stems_in_all_languages_of_the_space() {
        let asked = query(&["de", "en"], "in running Katzen");
        assert_eq!(asked, [vec!["run", "running"], vec!["katz", "katzen"]]);
        assert_eq!(query(&["en"], "to be"), [["to"], ["be"]]);
    }

    #[test]
    fn a_further_language_takes_no_word_from_a_query() {
        for languages in [&["en"][..], &["de", "en"], &["de", "en", "und"]] {
            assert_eq!(query(languages, "civil war"), [["civil"], ["war"]]);
        }
    }

    #[test]
    fn a_word_said_again_is_one_word_said_more_often() {
        let asked = of_query(
            &["en".to_owned()],
            "index the titles, indexes of titles, titled",
        );
        let times: Vec<_> = asked.iter().map(|a| (&*a.stems[0], a.times)).collect();
        assert_eq!(times, [("index", 2), ("titl", 3)]);
    }
}
