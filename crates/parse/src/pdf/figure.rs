//! Figures: a picture and the caption that stands under or over it.

use super::block::{Block, Shape};
use super::glyph::Rect;
use super::marker::captions_figure;

/// Smaller pictures are signs and rules.
const LEAST_SIDE: f32 = 24.0;
/// How far a caption stands from its picture, in its own font sizes.
const REACH: f32 = 4.0;

/// The picture that a block, of these words, is the caption of; `pictures` are those of its page.
pub(super) fn captioned(block: &Block, text: &str, pictures: &[Rect]) -> Option<Rect> {
    if block.shape != Shape::Prose || !captions_figure(text) {
        return None;
    }
    nearest(&block.rect(), block.size(), pictures)
}

fn nearest(caption: &Rect, size: f32, pictures: &[Rect]) -> Option<Rect> {
    let large = |picture: &&Rect| picture.width().min(picture.height()) >= LEAST_SIDE;
    let apart = |picture: &Rect| {
        let across = caption.left < picture.right && picture.left < caption.right;
        let gap = (caption.top - picture.bottom).max(picture.top - caption.bottom);
        (across && gap > -size && gap < size * REACH).then_some(gap)
    };
    pictures
        .iter()
        .filter(large)
        .filter_map(|picture| Some((apart(picture)?, *picture)))
        .min_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, picture)| picture)
}
