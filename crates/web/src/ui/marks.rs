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
    let has_table = text.lines().any(is_rule);
    for piece in &mut shown {
        piece.text = tidied(&piece.text, has_table && !piece.marked);
    }
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

/// Whether a line is the rule under the head of a table in Markdown.
pub fn is_rule(line: &str) -> bool {
    line.contains('-') && line.chars().all(|c| "|-: ".contains(c))
}

/// As a list shows it: no empty lines, and the rows of a table without its strokes.
fn tidied(text: &str, has_table: bool) -> String {
    let mut tidy = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let is_bare = line.trim().is_empty() && tidy.ends_with('\n');
        match has_table {
            _ if is_bare => {}
            true if is_rule(line.trim_end()) => {}
            true => tidy.push_str(&cells(line)),
            false => tidy.push_str(line),
        }
    }
    tidy
}

/// `| rye | bread |` as `rye · bread`.
fn cells(line: &str) -> String {
    let (row, end) = match line.strip_suffix('\n') {
        Some(row) => (row.trim_end().trim_end_matches('|').trim_end(), "\n"),
        None => (line, ""),
    };
    let row = row.strip_prefix("| ").unwrap_or(row);
    let row = row.strip_suffix(" |").unwrap_or(row);
    format!("{}{end}", row.replace(" | ", " · "))
}

/// Text in which names stand between backticks: the names are the marked pieces.
pub fn ticked(text: &str) -> Vec<Piece> {
    if !text.matches('`').count().is_multiple_of(2) {
        return pieces(text, &[]);
    }
    let parts = text.split('`').enumerate();
    let piece = |(number, part): (usize, &str)| Piece {
        text: part.to_owned(),
        marked: number % 2 == 1,
    };
    parts
        .map(piece)
        .filter(|part| !part.text.is_empty())
        .collect()
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
    fn an_excerpt_of_a_table_reads_as_rows_without_strokes_or_empty_lines() {
        let text = "Prices\n\n| grain | use |\n| --- | --: |\n| rye | bread |\n| spelt | feed |";
        let rye = text.find("rye").unwrap();
        let shown = joined(&excerpt(text, std::slice::from_ref(&(rye..rye + 3))));
        assert_eq!(shown, "Prices\ngrain · use\n[rye] · bread\nspelt · feed");
        let code = "a | b\n\nc";
        assert_eq!(
            joined(&excerpt(code, &[])),
            "a | b\nc",
            "no table, no cells"
        );
    }

    #[test]
    fn names_between_backticks_are_pieces_of_their_own() {
        assert_eq!(joined(&ticked("no kb `a` here")), "no kb [a] here");
        assert_eq!(joined(&ticked("a lone ` stays")), "a lone ` stays");
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
