//! Right-to-left writing: from the order on the page to the order of reading.

use unicode_bidi::{BidiClass, BidiInfo, Level, bidi_class};

pub(super) fn is_right_to_left(text: &str) -> bool {
    text.chars().any(is_rtl_char)
}

fn is_rtl_char(char: char) -> bool {
    char >= '\u{590}' && matches!(bidi_class(char), BidiClass::R | BidiClass::AL)
}

/// Whether most of its letters run right to left.
pub(super) fn reads_right_to_left(text: &str) -> bool {
    // Asked of every line, some of them more than once, and next to none has such letters.
    if !is_right_to_left(text) {
        return false;
    }
    let mut balance = 0_i64;
    for char in text.chars() {
        match bidi_class(char) {
            BidiClass::R | BidiClass::AL => balance += 1,
            BidiClass::L => balance -= 1,
            _ => {}
        }
    }
    balance > 0
}

/// Text as it stands on the page, left to right, in the order it is read in.
///
/// Reordering undoes itself, but for a number beside foreign words: `42 abc` and `abc 42`
/// are printed alike, and read as the latter.
pub(super) fn logical(visual: &str) -> String {
    if !is_right_to_left(visual) {
        return visual.to_owned();
    }
    let base = if reads_right_to_left(visual) {
        Level::rtl()
    } else {
        Level::ltr()
    };
    let info = BidiInfo::new(visual, Some(base));
    let mut out = String::with_capacity(visual.len());
    for paragraph in &info.paragraphs {
        out.push_str(&info.reorder_line(paragraph, paragraph.range.clone()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hebrew_in_page_order_is_read_from_its_right_end() {
        let read = "שלום 42 עולם abc שוב";
        let info = BidiInfo::new(read, Some(Level::rtl()));
        let printed = info.reorder_line(&info.paragraphs[0], 0..read.len());
        assert_eq!(logical(&printed), read);
        assert_eq!(logical("plain"), "plain");
    }
}
