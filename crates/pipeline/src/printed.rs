//! Where passages stand on the pages that somebody else printed their text on.
//!
//! In: a text without pages, and a print of it as it was read. Out: for a span of the text the
//! boxes of the lines that print it. Words alone are compared, and only what can be nothing
//! else is taken for the same: a few words in a row that stand once in the text and once on
//! the print, and the equal words on either side of them. A passage of which less than half is
//! found has no place; it is never guessed.

use std::collections::HashMap;

use model::{PageBox, Parsed, Span};

use crate::chunk::boxes;

/// How many words in a row make a passage that can be told from others.
const ROW: usize = 4;
/// A text begins and ends with words that nobody writes, so that a short one has a row, too.
const EDGES: usize = ROW / 2;
const EDGE: Word<'static> = Word {
    text: "\u{2}",
    span: Span {
        byte_start: 0,
        byte_end: 0,
        char_start: 0,
        char_end: 0,
    },
};

#[derive(Debug, Clone, Copy)]
struct Word<'t> {
    text: &'t str,
    span: Span,
}

/// A text beside its print.
pub struct Printed<'p> {
    print: &'p Parsed,
    text: Vec<Word<'p>>,
    printed: Vec<Word<'p>>,
    /// Which word of the print each word of the text is.
    found: Vec<Option<usize>>,
}

impl<'p> Printed<'p> {
    pub fn new(text: &'p str, print: &'p Parsed) -> Self {
        let text = between_edges(words(text, 0, 0));
        // Running heads and page numbers are the printer's.
        let atoms = print.atoms.iter().filter(|atom| atom.kind.is_indexed());
        let printed = between_edges(atoms.flat_map(|atom| {
            let Span {
                byte_start,
                char_start,
                ..
            } = atom.span;
            words(&print.text[atom.span.bytes()], byte_start, char_start)
        }));
        let found = matched(&plain(&text), &plain(&printed));
        Self {
            print,
            text,
            printed,
            found,
        }
    }

    /// Where this part of the text is printed; nowhere, unless most of it was found.
    pub fn boxes(&self, span: &Span) -> Vec<PageBox> {
        // The edges have no place and are no part of any span.
        let inner = &self.text[EDGES..self.text.len() - EDGES];
        let first = inner.partition_point(|word| word.span.byte_start < span.byte_start);
        let end = inner.partition_point(|word| word.span.byte_end <= span.byte_end);
        let Some(found) = self.found.get(EDGES + first..EDGES + end) else {
            return Vec::new();
        };
        let places: Vec<usize> = found.iter().flatten().copied().collect();
        if places.is_empty() || places.len() * 2 < found.len() {
            return Vec::new();
        }
        let mut all: Vec<PageBox> = Vec::new();
        for row in places.chunk_by(|one, next| one + 1 == *next) {
            for one in boxes(&self.print.atoms, &self.across(row)) {
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        }
        all
    }

    /// From the first of some words of the print to the last.
    fn across(&self, row: &[usize]) -> Span {
        let (first, last) = (row[0], row[row.len() - 1]);
        let (first, last) = (self.printed[first].span, self.printed[last].span);
        Span {
            byte_start: first.byte_start,
            byte_end: last.byte_end,
            char_start: first.char_start,
            char_end: last.char_end,
        }
    }
}

fn between_edges<'t>(words: impl Iterator<Item = Word<'t>>) -> Vec<Word<'t>> {
    let edge = || std::iter::repeat_n(EDGE, EDGES);
    edge().chain(words).chain(edge()).collect()
}

fn plain<'t>(words: &[Word<'t>]) -> Vec<&'t str> {
    words.iter().map(|word| word.text).collect()
}

/// Runs of letters and digits. Scripts that put no space between words are taken sign by sign.
fn words(text: &str, bytes: u64, chars: u64) -> impl Iterator<Item = Word<'_>> {
    let mut signs = text.char_indices().zip(0_u64..).peekable();
    std::iter::from_fn(move || {
        let ((start, first), from) = signs
            .by_ref()
            .find(|((_, sign), _)| sign.is_alphanumeric())?;
        let (mut end, mut to) = (start + first.len_utf8(), from + 1);
        let goes_on = |sign: char| sign.is_alphanumeric() && !stands_alone(sign);
        while let Some(((at, sign), _)) =
            signs.next_if(|((_, sign), _)| !stands_alone(first) && goes_on(*sign))
        {
            (end, to) = (at + sign.len_utf8(), to + 1);
        }
        Some(Word {
            text: &text[start..end],
            span: Span {
                byte_start: bytes + start as u64,
                byte_end: bytes + end as u64,
                char_start: chars + from,
                char_end: chars + to,
            },
        })
    })
}

const fn stands_alone(sign: char) -> bool {
    matches!(sign, '\u{e00}'..='\u{eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Rows that stand once, and where.
fn once<'w>(words: &'w [&'w str]) -> HashMap<&'w [&'w str], Option<usize>> {
    let mut rows = HashMap::with_capacity(words.len());
    for (at, row) in words.windows(ROW).enumerate() {
        rows.entry(row)
            .and_modify(|place| *place = None)
            .or_insert(Some(at));
    }
    rows
}

fn matched(text: &[&str], printed: &[&str]) -> Vec<Option<usize>> {
    let mut pairs = Pairs {
        found: vec![None; text.len()],
        taken: vec![false; printed.len()],
    };
    let (ours, theirs) = (once(text), once(printed));
    for (at, row) in text.windows(ROW).enumerate() {
        if let (Some(Some(_)), Some(Some(there))) = (ours.get(row), theirs.get(row)) {
            (0..ROW).for_each(|more| pairs.join(at + more, there + more));
        }
    }
    for (at, word) in text.iter().enumerate().skip(1) {
        let next = pairs.found[at - 1].map(|there| there + 1);
        if let Some(there) = next.filter(|there| printed.get(*there) == Some(word)) {
            pairs.join(at, there);
        }
    }
    for at in (1..text.len()).rev() {
        let before = pairs.found[at].and_then(|there| there.checked_sub(1));
        if let Some(there) = before.filter(|there| printed[*there] == text[at - 1]) {
            pairs.join(at - 1, there);
        }
    }
    pairs.found
}

struct Pairs {
    found: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl Pairs {
    /// Each word is one other at most; who comes first has it.
    fn join(&mut self, at: usize, there: usize) {
        if self.found[at].is_none() && !self.taken[there] {
            self.found[at] = Some(there);
            self.taken[there] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// A print of one line to a page; `~` is its running head.
    fn print(lines: &[&str]) -> Parsed {
        let mut print = sample::parsed(&lines.join("\n\n"));
        for (page, atom) in (1..).zip(&mut print.atoms) {
            atom.boxes = vec![PageBox {
                page,
                left: 72.0,
                top: 72.0,
                right: 540.0,
                bottom: 84.0,
            }];
        }
        print
    }

    /// On which pages of its print a part of a text stands.
    fn pages(text: &str, print: &Parsed, part: &str) -> Vec<u32> {
        let at = text.find(part).unwrap();
        let chars = |to: usize| text[..to].chars().count() as u64;
        let span = Span {
            byte_start: at as u64,
            byte_end: (at + part.len()) as u64,
            char_start: chars(at),
            char_end: chars(at + part.len()),
        };
        let boxes = Printed::new(text, print).boxes(&span);
        boxes.iter().map(|place| place.page).collect()
    }

    #[test]
    fn a_passage_is_found_where_it_is_printed_over_heads_and_other_spaces() {
        let text = "The mill stands by the river,\nand the river turns it. Grain comes by cart.";
        let print = print(&[
            "The mill stands by the river, and",
            "~Running head",
            "the river turns it.  Grain",
            "comes by cart.",
        ]);
        assert_eq!(pages(text, &print, "The mill stands by the river"), [1]);
        assert_eq!(
            pages(text, &print, "and the river turns it."),
            [1, 3],
            "the running head is none of it"
        );
        assert_eq!(pages(text, &print, "Grain comes by cart."), [3, 4]);
    }

    #[test]
    fn what_stands_twice_or_not_at_all_is_not_guessed() {
        let again = "rye and wheat and oats";
        let text = format!(
            "First this. {again}. Something else. {again}. Words that were never printed at all"
        );
        let twice = print(&[
            "Before it",
            again,
            "between them",
            again,
            "and nothing more",
        ]);
        assert!(pages(&text, &twice, again).is_empty());
        assert!(pages(&text, &twice, "Words that were never printed at all").is_empty());
    }

    #[test]
    fn a_short_text_and_one_without_spaces_are_found_too() {
        assert_eq!(pages("Mill", &print(&["Mill"]), "Mill"), [1]);
        let text = "水車は川のそばに立っています。";
        let halves = print(&["水車は川のそばに", "立っています。"]);
        assert_eq!(pages(text, &halves, text), [1, 2]);
        assert!(pages("Mill", &print(&["Mull"]), "Mill").is_empty());
        assert!(pages("Mill", &Parsed::default(), "Mill").is_empty());
    }
}
