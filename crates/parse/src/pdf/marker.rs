//! What stands before a list item or a heading: bullets, numbers, letters.

const BULLETS: &[char] = &[
    '•', '◦', '▪', '■', '□', '●', '○', '‣', '⁃', '∙', '·', '–', '—', '-', '*', '➢', '➤', '✓', '✔',
    '►', '▶', '→', '❖', '⋄', '◆', '♦', '∗', '⇒',
];

/// What an item begins with, and where its words start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marker {
    /// `None` for a bullet.
    pub(super) label: Option<String>,
    pub(super) length: usize,
}

pub(super) fn begins_item(text: &str) -> bool {
    item_marker(text).is_some()
}

/// A bullet, `1.`, `2)`, `(a)`, `iv.` with something after it.
pub(super) fn item_marker(text: &str) -> Option<Marker> {
    let (first, rest) = text.split_once(' ')?;
    let rest = rest.trim_start();
    if rest.is_empty() {
        return None;
    }
    let length = text.len() - rest.len();
    let mut chars = first.chars();
    if let (Some(only), None) = (chars.next(), chars.next())
        && BULLETS.contains(&only)
    {
        return Some(Marker {
            label: None,
            length,
        });
    }
    is_label(first).then(|| Marker {
        label: Some(first.to_owned()),
        length,
    })
}

fn is_label(word: &str) -> bool {
    let bare = word.strip_prefix('(').unwrap_or(word);
    let Some(bare) = bare.strip_suffix(')').or_else(|| bare.strip_suffix('.')) else {
        return false;
    };
    let digits = (1..=3).contains(&bare.len()) && bare.bytes().all(|b| b.is_ascii_digit());
    let letter = bare.len() == 1 && bare.bytes().all(|b| b.is_ascii_alphabetic());
    let roman = (1..=5).contains(&bare.len()) && bare.bytes().all(|b| b"ivx".contains(&b));
    // `A.` begins a name as often as an item; in brackets it does not.
    let initial =
        word.len() == 2 && word.ends_with('.') && bare.bytes().all(|b| b.is_ascii_uppercase());
    (digits || letter || roman) && !initial
}

const FIGURES: &[&str] = &["figure", "fig.", "abbildung", "abb.", "figura", "图", "図"];
const OTHER_CAPTIONS: &[&str] = &[
    "table", "listing", "example", "tabelle", "tableau", "tabla", "表",
];

/// `Figure 3. …`, `Table 2: …`
pub(super) fn begins_caption(text: &str) -> bool {
    let kind = caption_kind(text);
    kind.is_some_and(|kind| is_one_of(FIGURES, kind) || is_one_of(OTHER_CAPTIONS, kind))
}

/// `Figure 3. …`
pub(super) fn captions_figure(text: &str) -> bool {
    caption_kind(text).is_some_and(|kind| is_one_of(FIGURES, kind))
}

/// The word before a number that ends as a caption's does.
fn caption_kind(text: &str) -> Option<&str> {
    let mut words = text.split_whitespace();
    let (kind, number) = (words.next()?, words.next()?);
    let numbered = number.starts_with(|c: char| c.is_ascii_digit());
    (numbered && number.ends_with(['.', ':'])).then_some(kind)
}

fn is_one_of(kinds: &[&str], kind: &str) -> bool {
    kinds.contains(&kind.to_lowercase().as_str())
}

/// How deep a section number is: `3` is 1, `3.1.` is 2, `A.2` is 2. `None` without one.
pub(super) fn section_depth(text: &str) -> Option<u8> {
    let (first, rest) = text.split_once(' ')?;
    if rest.trim().is_empty() {
        return None;
    }
    let bare = first.trim_end_matches(['.', ')']);
    let parts: Vec<&str> = bare.split('.').collect();
    let number =
        |part: &str| (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    let letter = |part: &str| part.len() == 1 && part.bytes().all(|b| b.is_ascii_uppercase());
    let (head, tail) = parts.split_first()?;
    if is_roman_section(text) {
        return Some(1);
    }
    let numbered = number(head) || (letter(head) && (!tail.is_empty() || first.ends_with('.')));
    (numbered && tail.iter().all(|part| number(part)) && parts.len() <= 6)
        .then_some(parts.len() as u8)
}

/// `IV. Results`: how many journals number their sections.
pub(super) fn is_roman_section(text: &str) -> bool {
    let number = text.split_once(". ").map_or("", |(number, _)| number);
    (1..=6).contains(&number.len()) && number.bytes().all(|b| b"IVX".contains(&b))
}

/// The words after a section number, or all of them.
pub(super) fn without_number(text: &str) -> &str {
    match (section_depth(text), text.split_once(' ')) {
        (Some(_), Some((_, rest))) => rest.trim_start(),
        _ => text,
    }
}

/// `Chapter 1`, `APPENDIX B`, `Part IV`: a number that waits for its name.
pub(super) fn is_chapter_label(text: &str) -> bool {
    const KINDS: &[&str] = &[
        "chapter",
        "appendix",
        "part",
        "kapitel",
        "anhang",
        "teil",
        "chapitre",
        "annexe",
        "partie",
        "cap\u{ed}tulo",
        "ap\u{e9}ndice",
        "ap\u{ea}ndice",
        "parte",
        "capitolo",
        "appendice",
    ];
    let mut words = text.split_whitespace();
    let (Some(kind), Some(number), None) = (words.next(), words.next(), words.next()) else {
        return false;
    };
    let number = number.trim_end_matches(['.', ':']);
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    let is_roman = number.chars().all(|c| matches!(c, 'I' | 'V' | 'X' | 'L'));
    let is_letter = number.len() == 1 && number.chars().all(|c| c.is_ascii_uppercase());
    KINDS.contains(&kind.to_lowercase().as_str()) && (is_number || is_roman || is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_told_from_sentences() {
        let label = |text| item_marker(text).map(|marker| marker.label);
        assert_eq!(label("• First"), Some(None));
        assert_eq!(label("2. Second"), Some(Some("2.".to_owned())));
        assert_eq!(label("(iv) Fourth"), Some(Some("(iv)".to_owned())));
        assert_eq!(label("J. Smith wrote"), None);
        assert_eq!(label("2026 was a year"), None);
        assert_eq!(label("-"), None);
    }

    #[test]
    fn section_numbers_tell_their_depth() {
        assert_eq!(section_depth("1 Introduction"), Some(1));
        assert_eq!(section_depth("3.2.1. Frames"), Some(3));
        assert_eq!(section_depth("A.1 Proofs"), Some(2));
        assert_eq!(section_depth("IV. RESULTS"), Some(1));
        assert_eq!(section_depth("IV RESULTS"), None);
        assert_eq!(section_depth("A new way"), None);
        assert_eq!(section_depth("2026 in numbers"), None);
        assert_eq!(without_number("3.2. Frames of"), "Frames of");
    }
}
