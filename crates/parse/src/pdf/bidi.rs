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

/// In which order the pieces of a line are read that stand on it from left to right: words of
/// the other direction keep theirs among themselves.
pub(super) fn reading_order(pieces: &[&str]) -> Vec<usize> {
    let is_rtl_line = reads_right_to_left(&pieces.concat());
    let runs_left = directions(pieces, is_rtl_line);
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for at in 0..pieces.len() {
        match runs.last_mut() {
            Some(run) if runs_left[run.start] == runs_left[at] => run.end = at + 1,
            _ => runs.push(at..at + 1),
        }
    }
    if is_rtl_line {
        runs.reverse();
    }
    let mut order = Vec::with_capacity(pieces.len());
    for run in runs {
        match runs_left[run.start] {
            true => order.extend(run.rev()),
            false => order.extend(run),
        }
    }
    order
}

/// Whether each piece runs to the left. Numbers and signs go with what stands on both sides of
/// them, or else with the line.
fn directions(pieces: &[&str], is_rtl_line: bool) -> Vec<bool> {
    let own = |piece: &&str| match () {
        () if reads_right_to_left(piece) => Some(true),
        () if piece.chars().any(|c| bidi_class(c) == BidiClass::L) => Some(false),
        () => None,
    };
    let own: Vec<Option<bool>> = pieces.iter().map(own).collect();
    let mut behind = vec![None; own.len()];
    let mut next = None;
    for at in (0..own.len()).rev() {
        behind[at] = next;
        next = own[at].or(next);
    }
    let mut before = None;
    let mut all = Vec::with_capacity(own.len());
    for (at, piece) in own.iter().enumerate() {
        let between = before.filter(|before| behind[at] == Some(*before));
        all.push(piece.or(between).unwrap_or(is_rtl_line));
        before = piece.or(before);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_words_in_a_line_keep_their_own_order() {
        let read = |pieces: &[&'static str]| {
            let order = reading_order(pieces).into_iter();
            order.map(|at| pieces[at]).collect::<Vec<_>>().join(" ")
        };
        // As they stand on the page, from left to right.
        assert_eq!(
            read(&[
                "\u{5e2}\u{5d5}\u{5dc}\u{5dd}",
                "The",
                "mill",
                "7",
                "grinds.",
                "\u{5e9}\u{5dc}\u{5d5}\u{5dd}\u{5e9}\u{5dc}\u{5d5}\u{5dd}",
                "42",
                "\u{5e9}\u{5dc}\u{5d5}\u{5dd}\u{5e2}\u{5d5}\u{5dc}\u{5dd}"
            ]),
            "\u{5e9}\u{5dc}\u{5d5}\u{5dd}\u{5e2}\u{5d5}\u{5dc}\u{5dd} 42 \u{5e9}\u{5dc}\u{5d5}\u{5dd}\u{5e9}\u{5dc}\u{5d5}\u{5dd} The mill 7 grinds. \u{5e2}\u{5d5}\u{5dc}\u{5dd}"
        );
        assert_eq!(
            read(&["The", "mill", "\u{5e2}\u{5d5}", "\u{5e9}\u{5dc}", "grinds."]),
            "The mill \u{5e9}\u{5dc} \u{5e2}\u{5d5} grinds."
        );
        assert_eq!(read(&["one", "2", "three"]), "one 2 three");
    }

    #[test]
    fn hebrew_in_page_order_is_read_from_its_right_end() {
        let read = "שלום 42 עולם abc שוב";
        let info = BidiInfo::new(read, Some(Level::rtl()));
        let printed = info.reorder_line(&info.paragraphs[0], 0..read.len());
        assert_eq!(logical(&printed), read);
        assert_eq!(logical("plain"), "plain");
    }
}
