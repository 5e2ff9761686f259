//! What should stay whole: sentences, lines of code, rows of tables; smaller only
//! where one of these is larger than a chunk may be.

use std::ops::Range;

use model::{Atom, AtomKind, TokenCounter, Unit};

use crate::chunk::sentence::sentences;
use crate::chunk::word::{clauses, words};
use crate::units::opening_hash;

/// A token is four bytes of running text, or so. A word the model does not know is one token
/// however long it is: so many bytes count as a token where there are fewer of these.
const TOKEN_BYTES: usize = 16;

/// How gladly one cuts before a piece; lower is gladder. Headings are ranked by their level.
pub(super) mod rank {
    pub const BLOCK: u8 = 200;
    pub const SENTENCE: u8 = 201;
    pub const LINE: u8 = 202;
    /// After a colon: what follows was announced.
    pub const ANNOUNCED: u8 = 203;
    /// A sentence inside a row or a line that should have stayed whole.
    pub const INNER_SENTENCE: u8 = 204;
    /// After a comma that no space follows, as in Chinese.
    pub const CLAUSE: u8 = 205;
    pub const WORD: u8 = 206;
    pub const WITHIN: u8 = 207;
    pub const AFTER_HEADING: u8 = 208;
}

#[derive(Debug, Clone)]
pub(super) struct Piece {
    /// In the unit's text.
    pub bytes: Range<usize>,
    pub chars: Range<u64>,
    pub tokens: usize,
    /// What it takes up of a chunk: its tokens, or more where they stand for many bytes.
    pub size: usize,
    pub rank: u8,
    /// The hash of the atom it begins.
    pub opens: Option<u64>,
    /// Counts the headings before it within the unit.
    pub section: usize,
    /// The level of the heading it is, if it is one.
    pub heading: Option<u8>,
    /// No space, or more than space, before it: its count and its neighbour's may not add up.
    pub glued: bool,
    /// Something that is not indexed stands before it.
    pub parted: bool,
}

impl Piece {
    pub fn begins_section(&self) -> bool {
        self.heading.is_some()
    }
}

#[derive(Clone, Copy)]
pub(super) struct Cutter<'a> {
    pub unit: &'a Unit,
    pub tokens: &'a dyn TokenCounter,
    /// Sizes what surely fits; what may not fit is always counted.
    pub sizer: &'a dyn TokenCounter,
    pub max: usize,
}

impl Cutter<'_> {
    /// Sentences and lines.
    pub fn pieces(&self) -> Vec<Piece> {
        self.cut(|atom, text| match atom.kind {
            AtomKind::Heading { .. } | AtomKind::Formula => {
                std::iter::once(0..text.len()).collect()
            }
            AtomKind::Table(_) | AtomKind::Code { .. } => lines(text),
            _ => sentences(text),
        })
    }

    /// Whole atoms where they fit, sentences and lines where not.
    pub fn blocks(&self) -> Vec<Piece> {
        let mut blocks: Vec<Piece> = Vec::new();
        for piece in self.pieces() {
            let whole = blocks.last().and_then(|last| self.joined(last, &piece));
            match (whole, blocks.last_mut()) {
                (Some(tokens), Some(last)) => {
                    last.bytes.end = piece.bytes.end;
                    last.chars.end = piece.chars.end;
                    last.tokens = tokens;
                    last.size = size(tokens, last.bytes.len());
                }
                _ => blocks.push(piece),
            }
        }
        blocks
    }

    /// The tokens of two pieces of one atom together, if they may be one.
    fn joined(&self, last: &Piece, piece: &Piece) -> Option<usize> {
        let of_one_atom = (rank::SENTENCE..rank::ANNOUNCED).contains(&piece.rank);
        if !of_one_atom || piece.parted {
            return None;
        }
        let both = &self.unit.text[last.bytes.start..piece.bytes.end];
        let tokens = match self.tokens.adds_up() && !piece.glued {
            true => last.tokens + piece.tokens,
            false => self.tokens.count(both),
        };
        (size(tokens, both.len()) <= self.max).then_some(tokens)
    }

    /// Single words.
    pub fn words(&self) -> Vec<Piece> {
        self.cut(|_, text| words(text))
    }

    fn cut(&self, split: impl Fn(&Atom, &str) -> Vec<Range<usize>>) -> Vec<Piece> {
        let mut row = Row::new(self.unit);
        let text_of = |atom: &Atom| &self.unit.text[self.within_unit(atom)];
        for (index, atom) in self.unit.atoms.iter().enumerate() {
            let at = self.within_unit(atom);
            let text = text_of(atom);
            if !atom.kind.is_indexed() {
                row.parted = true;
                continue;
            }
            row.atom(atom, opening_hash(&self.unit.atoms[index..], text_of));
            for range in split(atom, text) {
                self.fit(trimmed(text, range), at.start, text, &mut row);
            }
        }
        row.pieces
    }

    fn within_unit(&self, atom: &Atom) -> Range<usize> {
        let base = self.unit.span.byte_start as usize;
        let bytes = atom.span.bytes();
        bytes.start - base..bytes.end - base
    }

    /// No tokenizer makes more tokens of a text than it has bytes.
    fn count(&self, text: &str) -> usize {
        match text.len() <= self.max {
            true => self.sizer.count(text),
            false => self.tokens.count(text),
        }
    }

    /// Adds a piece, in parts where it is larger than a chunk.
    fn fit(&self, range: Range<usize>, base: usize, text: &str, row: &mut Row<'_>) {
        if range.is_empty() {
            return;
        }
        let count = self.count(&text[range.clone()]);
        let fits = size(count, range.len()) <= self.max;
        // A single character is as small as it gets, however many tokens a model makes of it.
        if fits || text[range.clone()].chars().nth(1).is_none() {
            row.push(base + range.start..base + range.end, count);
            return;
        }
        let (parts, rank) = smaller(&text[range.clone()]);
        let finer = row.finer;
        row.finer = finer.max(rank);
        for part in parts {
            let part = range.start + part.start..range.start + part.end;
            self.fit(trimmed(text, part), base, text, row);
        }
        row.finer = finer;
        row.rank = finer;
    }
}

/// Pieces as they line up, and what is known about the next one.
struct Row<'a> {
    text: &'a str,
    pieces: Vec<Piece>,
    rank: u8,
    finer: u8,
    section: usize,
    heading: Option<u8>,
    opens: Option<u64>,
    under_heading: bool,
    parted: bool,
    /// Up to where characters have been counted.
    at: (usize, u64),
}

impl<'a> Row<'a> {
    fn new(unit: &'a Unit) -> Self {
        Self {
            text: &unit.text,
            pieces: Vec::new(),
            rank: rank::BLOCK,
            finer: rank::SENTENCE,
            section: 0,
            heading: None,
            opens: None,
            under_heading: false,
            parted: false,
            at: (0, 0),
        }
    }

    fn atom(&mut self, atom: &Atom, hash: u64) {
        let heading = match atom.kind {
            AtomKind::Heading { level } => Some(level.clamp(1, rank::BLOCK - 1)),
            _ => None,
        };
        self.section += usize::from(heading.is_some());
        let announced = self.last_text().ends_with(':');
        self.rank = match heading {
            Some(level) => level,
            None if self.under_heading => rank::AFTER_HEADING,
            None if announced => rank::ANNOUNCED,
            None => rank::BLOCK,
        };
        self.under_heading = heading.is_some();
        self.heading = heading;
        self.opens = Some(hash);
        self.finer = match atom.kind {
            AtomKind::Table(_) | AtomKind::Code { .. } => rank::LINE,
            _ => rank::SENTENCE,
        };
    }

    fn last_text(&self) -> &'a str {
        self.pieces
            .last()
            .map_or("", |last| &self.text[last.bytes.clone()])
    }

    fn push(&mut self, bytes: Range<usize>, tokens: usize) {
        let gap = self.pieces.last().map_or(0, |last| last.bytes.end)..bytes.start;
        let gap = &self.text[gap];
        let spaced = gap.contains([' ', '\t', '\n', '\r']) && gap.trim().is_empty();
        let start = self.char_at(bytes.start);
        let end = self.char_at(bytes.end);
        self.pieces.push(Piece {
            chars: start..end,
            size: size(tokens, bytes.len()),
            opens: self.opens.take(),
            bytes,
            tokens,
            rank: self.rank,
            section: self.section,
            heading: self.heading.take(),
            glued: !spaced && !self.pieces.is_empty(),
            parted: std::mem::take(&mut self.parted),
        });
        self.rank = self.finer;
    }

    fn char_at(&mut self, byte: usize) -> u64 {
        self.at.1 += self.text[self.at.0..byte].chars().count() as u64;
        self.at.0 = byte;
        self.at.1
    }
}

fn size(tokens: usize, bytes: usize) -> usize {
    tokens.max(bytes / TOKEN_BYTES)
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let inner = &text[range.clone()];
    let start = range.start + (inner.len() - inner.trim_start().len());
    start..start.max(range.start + inner.trim_end().len())
}

fn lines(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let line = |line: &str| {
        at += line.len();
        at - line.len()..at
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Lines, which in a log are what sentences are elsewhere; then sentences, which a cell of a table may be
/// full of; then clauses and words; where there is only one, its halves.
fn smaller(text: &str) -> (Vec<Range<usize>>, u8) {
    if text.trim_end().contains('\n') {
        return (lines(text), rank::LINE);
    }
    let sentences = sentences(text);
    if sentences.len() > 1 {
        return (sentences, rank::INNER_SENTENCE);
    }
    let clauses = clauses(text);
    if clauses.len() > 1 {
        return (clauses, rank::CLAUSE);
    }
    let words = words(text);
    if words.len() > 1 {
        return (words, rank::WORD);
    }
    let mut mid = text.len() / 2;
    while !text.is_char_boundary(mid) {
        mid -= 1;
    }
    let first = text.chars().next().map_or(0, char::len_utf8);
    let mid = mid.max(first);
    (vec![0..mid, mid..text.len()], rank::WITHIN)
}
