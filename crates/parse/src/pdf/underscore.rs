//! Underscores that are drawn: TeX has none in its older fonts, and rules a short line on the
//! baseline instead. Without it `glp_add_rows` would be three words that nobody looks for.

use super::glyph::{Glyph, Ruling, TextId};

/// Underscores in a row.
pub(super) const MOST: usize = 4;

/// The glyphs for lines drawn between two letters of a word; none where they are something else.
pub(super) fn between(before: &Glyph, dashes: &[Ruling], next: &Glyph, text: TextId) -> Vec<Glyph> {
    let size = before.size.min(next.size);
    let is_one_line = before.angle == 0
        && next.angle == 0
        && (before.y - next.y).abs() < 0.05 * size
        && !before.face.math
        && !next.face.math;
    let joins = |gap: f32| gap > -0.1 * size && gap < 0.2 * size;
    let mut end = before.x + before.advance;
    let mut drawn = Vec::new();
    for dash in dashes {
        let (width, below) = (dash.to - dash.from, dash.at - before.y);
        let is_underscore = width > 0.15 * size
            && width < 0.65 * size
            && below > -0.08 * size
            && below < 0.3 * size;
        if !is_one_line || !is_underscore || !joins(dash.from - end) {
            return Vec::new();
        }
        drawn.push(Glyph {
            text,
            x: dash.from,
            advance: width,
            spacing: 0.0,
            ..*before
        });
        end = dash.to;
    }
    match joins(next.x - end) {
        true => drawn,
        false => Vec::new(),
    }
}
