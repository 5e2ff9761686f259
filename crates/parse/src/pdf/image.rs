//! A page as a picture.

use std::sync::Arc;

use hayro::hayro_interpret::InterpreterSettings;
use hayro::vello_cpu::color::palette::css::WHITE;
use hayro::{PixmapSettings, RenderCache, RenderSettings};

use super::open;
use super::sheets::Sheets;
use crate::{Error, Format};

/// No side of a picture is longer, in pixels: the memory of one is bounded.
const MAX_SIDE: f32 = 8192.0;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub width: u32,
    pub height: u32,
    pub png: Vec<u8>,
}

/// Renders a page, counted from 1, at `scale` pixels to the point (2.0 is 144 dpi).
///
/// A scale that would make the picture too large is lowered until it is not.
pub fn render_page(bytes: &[u8], page: u32, scale: f32) -> Result<Image, Error> {
    let pdf = open(Arc::new(bytes.to_vec()))?;
    let missing = || Error::damaged(Format::Pdf, format_args!("it has no page {page}"));
    let page = Sheets::of(&pdf).page(page).ok_or_else(missing)?;
    let (width, height) = page.render_dimensions();
    let scale = scale
        .clamp(0.05, 16.0)
        .min(MAX_SIDE / width.max(height).max(1.0));
    let settings = PixmapSettings {
        x_scale: scale,
        y_scale: scale,
        bg_color: WHITE,
    };
    let pixmap = hayro::render(
        page,
        &RenderCache::new(),
        &InterpreterSettings::default(),
        &RenderSettings::default(),
        &settings,
    );
    let (width, height) = (u32::from(pixmap.width()), u32::from(pixmap.height()));
    let png = pixmap.into_png();
    let png = png.map_err(|error| Error::damaged(Format::Pdf, error))?;
    Ok(Image { width, height, png })
}
