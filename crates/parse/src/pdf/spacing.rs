//! Tells letters that are set apart from words: one and the same instruction sets both.
//!
//! A title is set letter by letter, and the distance belongs to its letters. But some programs
//! write the gap between two words as such a distance too, over the two or three letters
//! around it: `any other` is `an`, `yo` set apart, and `ther`.

use super::glyph::{Glyph, Texts};
use super::script::is_blank;

/// More letters than these in a row are set apart on purpose.
const FEW: usize = 3;
/// Letters closer than this, in font sizes, are those of one word.
const CLOSE: f32 = 0.16;

/// Leaves to each letter what is its own, where the distance behind it is that between words.
pub(super) fn settle(glyphs: &mut [Glyph], texts: &Texts) {
    let mut from = 0;
    while from < glyphs.len() {
        let length = run(&glyphs[from..]);
        if length <= FEW && is_within_words(glyphs, (from, length), texts) {
            for glyph in &mut glyphs[from..from + length] {
                glyph.advance -= glyph.spacing;
                glyph.spacing = 0.0;
            }
        }
        from += length;
    }
}

/// How many glyphs follow each other at the distance of the first.
fn run(glyphs: &[Glyph]) -> usize {
    let is_far = |pair: &&[Glyph]| {
        let alike = (pair[0].spacing - pair[1].spacing).abs() < pair[0].size * 0.01;
        gap(&pair[0], &pair[1]).is_some_and(|gap| alike && gap >= pair[0].spacing / 2.0)
    };
    1 + glyphs.windows(2).take_while(is_far).count()
}

/// Whether letters set far apart go on, on either side, as a letter that is close.
fn is_within_words(glyphs: &[Glyph], (from, length): (usize, usize), texts: &Texts) -> bool {
    let letters = &glyphs[from..from + length];
    let is_letter = |glyph: &Glyph| !is_blank(texts.get(glyph.text));
    let is_far = letters[0].spacing > letters[0].size * CLOSE;
    let touch = |before: &Glyph, next: &Glyph| {
        let is_close = |gap: f32| gap.abs() < before.size.min(next.size) * CLOSE;
        is_letter(before) && is_letter(next) && gap(before, next).is_some_and(is_close)
    };
    let touches = |at: usize| {
        glyphs
            .get(at..at + 2)
            .is_some_and(|two| touch(&two[0], &two[1]))
    };
    let before = || from > 0 && touches(from - 1);
    is_far && letters.iter().all(is_letter) && (before() || touches(from + length - 1))
}

/// From the end of a letter itself to the next one in its line.
fn gap(before: &Glyph, next: &Glyph) -> Option<f32> {
    let is_level = before.angle == 0 && next.angle == 0;
    let in_line = (before.y - next.y).abs() < before.size * 0.1;
    let end = before.x + before.advance - before.spacing;
    (is_level && in_line).then_some(next.x - end)
}
