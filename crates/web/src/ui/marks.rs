//! Text cut into pieces, some of them marked. Templates escape each piece by itself.

use std::ops::Range;

#[derive(Debug, PartialEq, Eq)]
pub struct Piece {
    pub text: String,
    pub marked: bool,
}

/// The whole text; ranges are ascending and apart.
pub fn pieces(text: &str, ranges: &[Range<usize>]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = 0;
    let mut push = |range: Range<usize>, marked| {
        if let Some(text) = text.get(range).filter(|text| !text.is_empty()) {
            let text = text.to_owned();
            pieces.push(Piece { text, marked });
        }
    };
    for range in ranges {
        push(at..range.start, false);
        push(range.clone(), true);
        at = range.end;
    }
    push(at..text.len(), false);
    pieces
}

/// How much of a passage a list shows, and how much of it stands before its first mark.
const SHOWN: usize = 420;
const LEAD: usize = 90;

/// The part of a passage around its first mark.
pub fn excerpt(text: &str, ranges: &[Range<usize>]) -> Vec<Piece> {
    let first = ranges.first().map_or(0, |range| range.start);
    let start = word_start(text, first.saturating_sub(LEAD));
    let end = word_end(text, (start + SHOWN).min(text.len()));
    let inside = |range: &&Range<usize>| range.start >= start && range.end <= end;
    let moved = |range: &Range<usize>| range.start - start..range.end - start;
    let ranges: Vec<_> = ranges.iter().filter(inside).map(moved).collect();
    let mut shown = pieces(&text[start..end], &ranges);
    let dots = |text: &str| Piece {
        text: text.to_owned(),
        marked: false,
    };
    if start > 0 {
        shown.insert(0, dots("… "));
    }
    if end < text.len() {
        shown.push(dots(" …"));
    }
    shown
}

/// The first beginning of a word at or after `at`; `at` itself when none is near.
fn word_start(text: &str, at: usize) -> usize {
    if at == 0 {
        return 0;
    }
    let at = text.ceil_char_boundary(at);
    let near = text[at..].char_indices().take(24);
    let mut spaces = near.filter(|(_, c)| c.is_whitespace());
    spaces.next().map_or(at, |(by, c)| at + by + c.len_utf8())
}

fn word_end(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    if at == text.len() {
        return at;
    }
    let space = text[..at].rfind(char::is_whitespace);
    space.filter(|space| at - space < 24).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(pieces: &[Piece]) -> String {
        let show = |piece: &Piece| match piece.marked {
            true => format!("[{}]", piece.text),
            false => piece.text.clone(),
        };
        pieces.iter().map(show).collect()
    }

    #[test]
    fn marks_stand_where_the_ranges_say() {
        let ranges = [0..3, 8..13];
        assert_eq!(
            joined(&pieces("The mill turns", &ranges)),
            "[The] mill[ turn]s"
        );
        assert_eq!(joined(&pieces("", &[])), "");
    }

    #[test]
    fn an_excerpt_shows_the_first_mark_of_a_long_passage_and_cuts_between_words() {
        let text = format!(
            "{}grain ä {}",
            "früh spät ".repeat(100),
            "öl äther ".repeat(100)
        );
        let at = text.find("grain").unwrap();
        let marked = at..at + 5;
        let shown = joined(&excerpt(&text, std::slice::from_ref(&marked)));
        assert!(shown.starts_with("… ") && shown.ends_with(" …"), "{shown}");
        assert!(shown.contains("[grain]"));
        assert!(shown.len() < 600);
    }
}
