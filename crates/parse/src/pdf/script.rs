//! What layout needs to know of characters.

/// The combining form of an accent that stands alone.
pub(super) fn combining(text: &str) -> Option<char> {
    let mut chars = text.chars();
    let (first, None) = (chars.next()?, chars.next()) else {
        return None;
    };
    Some(match first {
        '`' | '\u{2cb}' => '\u{300}',
        '\u{b4}' | '\u{2ca}' => '\u{301}',
        '\u{2c6}' => '\u{302}',
        '\u{2dc}' => '\u{303}',
        '\u{af}' | '\u{2c9}' => '\u{304}',
        '\u{2d8}' => '\u{306}',
        '\u{2d9}' => '\u{307}',
        '\u{a8}' => '\u{308}',
        '\u{2da}' => '\u{30a}',
        '\u{2dd}' => '\u{30b}',
        '\u{2c7}' => '\u{30c}',
        '\u{b8}' => '\u{327}',
        '\u{2db}' => '\u{328}',
        _ => return None,
    })
}

pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

/// Whether it is of a script that sets no spaces between words.
pub(super) fn is_wide(text: &str) -> bool {
    text.chars().next().is_some_and(is_wide_char)
}

pub(super) fn is_wide_char(char: char) -> bool {
    matches!(char,
        '\u{2e80}'..='\u{a4cf}' | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

pub(super) fn is_hyphen(char: char) -> bool {
    matches!(char, '-' | '\u{2010}' | '\u{ad}')
}
