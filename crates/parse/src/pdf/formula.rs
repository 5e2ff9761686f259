//! Formulas that stand on lines of their own.
//!
//! In: a page's blocks. Out: the same, with displayed formulas as such. A formula is printed in
//! pieces at many heights, so what stands close to one and says nothing by itself (a
//! denominator, a limit, its number) is taken in. In doubt it is text: a formula called
//! text is still found and read, a sentence called a formula is torn from its paragraph.

use super::block::{Block, Body, Shape};
use super::fragment::Fragment;
use super::glyph::Rect;
use super::line::Line;
use super::marker;

/// Words of formulas; any others are prose.
const FUNCTIONS: &[&str] = &[
    "arccos",
    "arcsin",
    "arctan",
    "arg",
    "argmax",
    "argmin",
    "cos",
    "cosh",
    "cot",
    "cov",
    "csc",
    "deg",
    "det",
    "diag",
    "dim",
    "div",
    "exp",
    "for",
    "gcd",
    "grad",
    "hom",
    "if",
    "inf",
    "ker",
    "lcm",
    "lim",
    "liminf",
    "limsup",
    "log",
    "max",
    "min",
    "mod",
    "otherwise",
    "rank",
    "rot",
    "sec",
    "sgn",
    "sign",
    "sin",
    "sinh",
    "sup",
    "tan",
    "tanh",
    "var",
];
/// More lines than this are no single piece.
const MAX_LINES: usize = 3;
/// What a piece taken in may have: a denominator or a limit, not a sentence.
const MAX_PIECE: u32 = 24;

pub(super) fn find(mut blocks: Vec<Block>, body: &Body) -> Vec<Block> {
    let found: Vec<bool> = (0..blocks.len())
        .map(|at| is_formula(&blocks, at, body))
        .collect();
    if !found.contains(&true) {
        return blocks;
    }
    for (block, found) in blocks.iter_mut().zip(found) {
        if found {
            block.shape = Shape::Formula;
        }
    }
    gather(blocks)
}

/// Formulas, and pieces of one that stand close to it, each as one block.
fn gather(blocks: Vec<Block>) -> Vec<Block> {
    let mut out: Vec<Block> = Vec::with_capacity(blocks.len());
    for block in blocks {
        match out.last_mut() {
            Some(open) if belong_together(open, &block) => {
                open.shape = Shape::Formula;
                open.lines.extend(block.lines);
            }
            _ => out.push(block),
        }
    }
    out
}

fn belong_together(open: &Block, next: &Block) -> bool {
    let parts = match (&open.shape, &next.shape) {
        (Shape::Formula, Shape::Formula) => true,
        (Shape::Formula, Shape::Prose) => is_piece(next),
        (Shape::Prose, Shape::Formula) => is_piece(open),
        _ => false,
    };
    parts && open.page == next.page && is_close(&open.rect(), &next.rect(), open.size())
}

/// Over, under or beside one another, without room for a line between.
fn is_close(a: &Rect, b: &Rect, size: f32) -> bool {
    let down = (b.top - a.bottom).max(a.top - b.bottom);
    let across = (b.left - a.right).max(a.left - b.right);
    down < size * 0.6 && across < size * 4.0 && (down < 0.0 || across < 0.0)
}

/// Something that only has a meaning beside a formula.
fn is_piece(block: &Block) -> bool {
    let mut words = block.lines.iter().flat_map(|line| &line.parts);
    block.letters() <= MAX_PIECE
        && block.first().angle == 0
        && block.first().note_mark().is_none()
        && words.all(|word| prose_letters(word) == 0)
}

fn is_formula(blocks: &[Block], at: usize, body: &Body) -> bool {
    let block = &blocks[at];
    if block.shape != Shape::Prose
        || block.lines.len() > MAX_LINES
        || block.first().angle != 0
        || block.size() < body.size * 0.8
    {
        return false;
    }
    reads_like_one(block)
        && column_of(blocks, at).is_some_and(|column| stands_apart(block, &column))
}

/// Letters of a maths font, something that relates them, and next to no words.
fn reads_like_one(block: &Block) -> bool {
    let words = || block.lines.iter().flat_map(|line| &line.parts);
    let letters = block.letters();
    let math: u32 = words().map(math_letters).sum();
    let prose: Vec<u32> = words().map(prose_letters).filter(|n| *n > 0).collect();
    let relates = words().any(|word| word.text.contains(is_relation));
    letters >= 3
        && relates
        && math * 5 >= letters
        && prose.len() <= 2
        && prose.iter().sum::<u32>() * 4 <= letters
        && !marker::begins_item(&block.first().text())
}

fn math_letters(word: &Fragment) -> u32 {
    let signs = word.text.chars().filter(|c| is_math_sign(*c)).count() as u32;
    word.look.math.max(signs)
}

/// How many letters of running text a word has.
fn prose_letters(word: &Fragment) -> u32 {
    if word.look.math * 2 > word.look.letters {
        return 0;
    }
    let is_word = |run: &&str| {
        let function = FUNCTIONS.contains(&run.to_lowercase().as_str());
        run.chars().count() >= 3 && !function && !run.contains(is_math_sign)
    };
    let runs = word.text.split(|c: char| !c.is_alphabetic());
    let letters: usize = runs.filter(is_word).map(|run| run.chars().count()).sum();
    letters as u32
}

fn is_relation(c: char) -> bool {
    matches!(c, '=' | '<' | '>' | '\u{2190}'..='\u{21ff}' | '\u{2208}'..='\u{220d}'
        | '\u{220f}'..='\u{2211}' | '\u{222b}'..='\u{2233}' | '\u{223c}'..='\u{228b}'
        | '\u{2291}'..='\u{2292}' | '\u{22a2}'..='\u{22b8}' | '\u{2a7d}'..='\u{2a8c}')
}

fn is_math_sign(c: char) -> bool {
    matches!(c, '\u{391}'..='\u{3f5}' | '\u{2200}'..='\u{22ff}' | '\u{2a00}'..='\u{2aff}'
        | '\u{1d400}'..='\u{1d7ff}')
}

/// The text around a block, from left to right: that of the nearest block that fills lines.
fn column_of(blocks: &[Block], at: usize) -> Option<Rect> {
    let rect = blocks[at].rect();
    let fills = |block: &&Block| {
        let across = block.rect();
        block.shape == Shape::Prose
            && block.letters() >= 40
            && rect.left < across.right
            && across.left < rect.right
    };
    let before = blocks[..at].iter().rev().find(fills);
    let after = blocks[at + 1..].iter().find(fills);
    before.or(after).map(Block::rect)
}

/// Set in from the text on both sides, or numbered at its right edge.
fn stands_apart(block: &Block, column: &Rect) -> bool {
    let (rect, em) = (block.rect(), block.size());
    let set_in = rect.left > column.left + em * 1.5;
    let short = rect.right < column.right - em * 1.5;
    set_in && (short || block.lines.iter().any(is_numbered))
}

/// `(2.14)` at the end, with white space before it.
fn is_numbered(line: &Line) -> bool {
    let [.., before, last] = line.parts.as_slice() else {
        return false;
    };
    let inner = last
        .text
        .strip_prefix('(')
        .and_then(|t| t.strip_suffix(')'));
    let number = |t: &str| {
        t.contains(|c: char| c.is_ascii_digit())
            && t.len() <= 8
            && t.chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-')
    };
    inner.is_some_and(number) && last.left - before.right > line.size * 1.5
}
