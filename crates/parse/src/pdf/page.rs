//! One page on its way from print to text.

use model::PageSize;

use super::content;
use super::font::Fonts;
use super::fragment;
use super::glyph::{Rect, Ruling};
use super::inflate::Inflater;
use super::line::{self, Line};
use super::order::reading_order;
use super::scan::{self, Recognised};

/// A page's lines in reading order, and what else the layout is told by.
#[derive(Debug)]
pub(super) struct PageText {
    /// Counted from 1.
    pub(super) number: u32,
    pub(super) size: PageSize,
    pub(super) lines: Vec<Line>,
    pub(super) rulings: Vec<Ruling>,
    pub(super) images: Vec<Rect>,
    pub(super) glyphs: usize,
    pub(super) unmapped: usize,
    /// It would have unpacked more than a page may.
    pub(super) cut_short: bool,
    /// How many words were recognised on it, where somebody tried.
    pub(super) recognised: Option<usize>,
}

impl PageText {
    /// No text to speak of under a picture that fills the page.
    pub(super) fn is_scan(&self) -> bool {
        let paper = self.size.width * self.size.height;
        let largest = self.images.iter().map(Rect::area).fold(0.0, f32::max);
        self.glyphs < 20 && largest > paper * 0.5
    }

    /// What was recognised stands for the page's own text, where that is a picture.
    pub(super) fn take_recognised(&mut self, all: &[Recognised]) {
        let of_page = all.iter().find(|of| of.page == self.number);
        let Some(recognised) = of_page.filter(|_| self.is_scan()) else {
            return;
        };
        let words = scan::fragments(&recognised.table, self.size.width);
        self.recognised = Some(words.len());
        if !words.is_empty() {
            self.lines = reading_order(line::lines(words));
        }
    }
}

pub(super) fn read<'a>(
    page: &hayro_syntax::page::Page<'a>,
    number: u32,
    fonts: &mut Fonts<'a>,
    inflater: &mut Inflater,
    hidden: &std::collections::HashSet<hayro_syntax::object::ObjectIdentifier>,
) -> PageText {
    let content = content::read_page(page, fonts, inflater, hidden);
    let (width, height) = page.render_dimensions();
    let fragments = fragment::fragments(&content, &fonts.texts);
    PageText {
        number,
        size: PageSize { width, height },
        lines: reading_order(line::lines(fragments)),
        rulings: content.rulings,
        images: content.images,
        glyphs: content.glyphs.len(),
        unmapped: content.unmapped,
        cut_short: content.cut_short,
        recognised: None,
    }
}
