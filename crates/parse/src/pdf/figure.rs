//! Figures: a picture and the caption that stands under or over it.

use std::collections::HashMap;

use super::block::{Block, Shape};
use super::glyph::Rect;
use super::marker::captions_figure;

/// Smaller pictures are signs and rules.
const LEAST_SIDE: f32 = 24.0;
/// How far a caption stands from its picture, in its own font sizes.
const REACH: f32 = 4.0;

/// The picture of every block that is the caption of one, by the block's position. `texts`
/// are the blocks' words, `pictures` those of each page.
pub(super) fn captioned(
    blocks: &[Block],
    texts: &[String],
    pictures: &HashMap<u32, Vec<Rect>>,
) -> HashMap<usize, Rect> {
    let captions = blocks.iter().zip(texts).enumerate();
    captions
        .filter(|(_, (block, text))| block.shape == Shape::Prose && captions_figure(text))
        .filter_map(|(at, (block, _))| {
            let pictures = pictures.get(&block.page)?;
            Some((at, nearest(&block.rect(), block.size(), pictures)?))
        })
        .collect()
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
