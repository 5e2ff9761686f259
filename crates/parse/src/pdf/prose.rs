//! Lines of a block to its words: hyphens at line ends undone, scripts without spaces
//! joined without.
//!
//! Whether a hyphen at a line's end belongs to the word or to the line is asked of the
//! document: it usually prints the word elsewhere in one piece, one way or the other.

use std::collections::HashSet;

use super::line::Line;
use super::script::{is_hyphen, is_wide_char};

/// The words a document prints within lines.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    words: HashSet<Box<str>>,
    /// Whether words broken at line ends are, for the most part, broken there by the line.
    breaks_words: bool,
}

impl Vocabulary {
    /// Learns from the words of every line, each given once.
    pub(super) fn of<'l>(lines: impl Iterator<Item = Vec<&'l str>> + Clone) -> Self {
        let broken: Vec<(String, String)> = broken_words(lines.clone());
        if broken.is_empty() {
            return Self::default();
        }
        let mut wanted: HashSet<String> = HashSet::new();
        for (head, tail) in &broken {
            wanted.insert(format!("{head}{tail}"));
            wanted.insert(format!("{head}-{tail}"));
        }
        let mut vocabulary = Self::default();
        for line in lines {
            vocabulary.learn(&line, &wanted);
        }
        vocabulary.judge(&broken);
        vocabulary
    }

    fn learn(&mut self, line: &[&str], wanted: &HashSet<String>) {
        for word in line.iter().flat_map(|part| part.split(' ')) {
            let word = bare(word);
            if word.len() > 3 && wanted.contains(&word) {
                self.words.insert(word.into());
            }
        }
    }

    fn judge(&mut self, broken: &[(String, String)]) {
        let has = |word: String| self.words.contains(word.as_str());
        let whole = broken
            .iter()
            .filter(|(h, t)| has(format!("{h}{t}")))
            .count();
        let hyphened = broken
            .iter()
            .filter(|(h, t)| has(format!("{h}-{t}")))
            .count();
        // Broken words far outnumber compounds in set type: in a short document no evidence
        // is enough, in a long one the words would be seen again.
        let seen = broken.len() < 20 || whole * 20 >= broken.len();
        self.breaks_words = whole >= hyphened && seen;
    }

    /// Whether the hyphen between two halves is only the line's.
    fn is_line_hyphen(&self, head: &str, tail: &str) -> bool {
        let (head, tail) = (bare(head), bare(tail));
        if self.words.contains(format!("{head}{tail}").as_str()) {
            return true;
        }
        !self.words.contains(format!("{head}-{tail}").as_str()) && self.breaks_words
    }
}

fn broken_words<'l>(lines: impl Iterator<Item = Vec<&'l str>>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut before: Option<String> = None;
    for line in lines {
        let first = line.first().copied().unwrap_or_default();
        if let Some(head) = before.take() {
            let tail = first.split(' ').next().unwrap_or("");
            if tail.starts_with(char::is_lowercase) {
                found.push((head, bare(tail)));
            }
        }
        let last = line.last().copied().unwrap_or_default();
        if let Some(cut) = last.strip_suffix(is_hyphen) {
            let head = bare(cut.rsplit(' ').next().unwrap_or(""));
            before = (!head.is_empty()).then_some(head);
        }
    }
    found
}

/// Lower case, without what stands around a word.
fn bare(word: &str) -> String {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.chars().flat_map(char::to_lowercase).collect()
}

/// Joins a block's lines into running text.
pub(super) fn join(lines: &[Line], vocabulary: &Vocabulary) -> String {
    let mut out = String::new();
    for line in lines {
        append(&mut out, &line.text(), vocabulary);
    }
    out
}

/// Appends the words of the next line.
pub(super) fn append(out: &mut String, next: &str, vocabulary: &Vocabulary) {
    let next = next.trim();
    let Some(last) = out.chars().next_back() else {
        out.push_str(next);
        return;
    };
    let first = next.chars().next();
    let wide = is_wide_char(last) && first.is_some_and(is_wide_char);
    if last == '\u{ad}' {
        out.pop();
    } else if is_hyphen(last) && first.is_some_and(char::is_alphabetic) {
        let head = out
            .trim_end_matches(is_hyphen)
            .rsplit(' ')
            .next()
            .unwrap_or("");
        let tail = next.split(' ').next().unwrap_or("");
        let lower = first.is_some_and(char::is_lowercase);
        let letters = head.ends_with(char::is_alphabetic);
        if letters && lower && vocabulary.is_line_hyphen(head, tail) {
            out.pop();
        } else if !letters {
            out.push(' ');
        }
    } else if !wide {
        out.push(' ');
    }
    out.push_str(next);
}

/// A listing line by line, indented as it is printed.
pub(super) fn listing(lines: &[Line]) -> String {
    let left = lines.iter().map(|line| line.left).fold(f32::MAX, f32::min);
    let mut out = String::new();
    let mut before: Option<&Line> = None;
    let step = lines
        .windows(2)
        .map(|pair| pair[1].baseline - pair[0].baseline)
        .fold(f32::MAX, f32::min);
    for line in lines {
        if let Some(before) = before {
            let rows = ((line.baseline - before.baseline) / step.max(0.1)).round();
            out.extend(std::iter::repeat_n('\n', rows.clamp(1.0, 3.0) as usize));
        }
        let mut column = 0;
        for part in &line.parts {
            let pitch = part.pitch.max(0.5);
            let target = ((part.left - left) / pitch).round().clamp(0.0, 400.0) as usize;
            let least = usize::from(column > 0);
            let blanks = target.saturating_sub(column).max(least);
            out.extend(std::iter::repeat_n(' ', blanks));
            out.push_str(&part.text);
            column += blanks + part.text.chars().count();
        }
        before = Some(line);
    }
    out
}
