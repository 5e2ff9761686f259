//! One page on its way from print to text.

use std::collections::HashSet;

use hayro_syntax::object::ObjectIdentifier;
use hayro_syntax::page::Page;
use model::PageSize;

use super::content;
use super::font::Fonts;
use super::fragment;
use super::glyph::{Rect, Ruling};
use super::inflate::Inflater;
use super::line::{self, Line};
use super::links::Links;
use super::order::reading_order;
use super::scan::{self, Recognised};

/// Lines of a page that is for its pictures: a title, a legend, the number of the page.
const FEW_LINES: usize = 6;

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
    /// Not all of it could be unpacked.
    pub(super) damaged: bool,
    /// How many words were recognised on it, where somebody tried.
    pub(super) recognised: Option<usize>,
}

impl PageText {
    /// No text to speak of over pictures that fill the page; a scan comes in strips too, and
    /// with a stamp of whoever handed it on.
    fn is_scan(&self) -> bool {
        let paper = self.size.width * self.size.height;
        let print = self
            .lines
            .iter()
            .map(|line| line.size * (line.right - line.left));
        let is_stamp = print.sum::<f32>() < paper * 0.01;
        match self.pictured() {
            most if most > 0.8 => self.glyphs < 20 || is_stamp,
            half => half > 0.5 && self.glyphs < 20,
        }
    }

    /// A few lines beside pictures that fill most of the page, and may have words of their own.
    fn is_mostly_picture(&self) -> bool {
        let is_outside = |line: &Line| {
            let (x, y) = (
                (line.left + line.right) / 2.0,
                line.baseline - line.size * 0.3,
            );
            !self.images.iter().any(|image| image.holds(x, y))
        };
        self.lines.len() <= FEW_LINES && self.pictured() > 0.5 && self.lines.iter().all(is_outside)
    }

    /// How much of the page pictures cover, some of them perhaps more than once.
    fn pictured(&self) -> f32 {
        const STEPS: u16 = 32;
        if self.images.is_empty() {
            return 0.0;
        }
        let middle = |step: u16, of: f32| (f32::from(step) + 0.5) / f32::from(STEPS) * of;
        let covered = |x: f32, y: f32| self.images.iter().any(|image| image.holds(x, y));
        let places = (0..STEPS).flat_map(|row| (0..STEPS).map(move |column| (column, row)));
        let (width, height) = (self.size.width, self.size.height);
        let seen = places.filter(|(x, y)| covered(middle(*x, width), middle(*y, height)));
        seen.count() as f32 / f32::from(STEPS * STEPS)
    }

    pub(super) fn outcome(&self) -> Outcome {
        if self.cut_short {
            Outcome::Gap("the page unpacks to more than a page may hold")
        } else if self.damaged {
            Outcome::Gap("the page is damaged and could not be read to its end")
        } else if let Some(words) = self.recognised {
            // What was recognised stands in the page's lines: they no longer look like a scan's.
            match words {
                0 => Outcome::Gap(scan::NO_WORDS),
                _ => Outcome::Recognised,
            }
        } else if self.is_scan() {
            Outcome::Gap(scan::PICTURE)
        } else if self.unmapped * 3 > self.glyphs && self.glyphs > 30 {
            Outcome::Gap("the page's fonts do not say which characters they print")
        } else if self.is_mostly_picture() {
            Outcome::Pictured
        } else {
            Outcome::Read
        }
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
            self.lines = reading_order(line::lines(words), &self.rulings);
        }
    }
}

/// What reading a page came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Read,
    /// A picture whose words were recognised.
    Recognised,
    /// Read, but for pictures that fill most of it.
    Pictured,
    /// What is missing of it, and why.
    Gap(&'static str),
}

/// What is kept from page to page.
pub(super) struct Reader<'d, 'a> {
    pub(super) fonts: Fonts<'a>,
    pub(super) inflater: Inflater,
    /// The optional parts the document shows by default as off.
    pub(super) hidden: HashSet<ObjectIdentifier>,
    pub(super) links: Links<'d, 'a>,
}

impl<'a> Reader<'_, 'a> {
    pub(super) fn read(&mut self, page: &Page<'a>, number: u32) -> PageText {
        let content = content::read_page(page, &mut self.fonts, &mut self.inflater, &self.hidden);
        let (width, height) = page.render_dimensions();
        let mut fragments = fragment::fragments(&content, &self.fonts.texts);
        self.links.mark(page, &mut fragments);
        PageText {
            number,
            size: PageSize { width, height },
            lines: reading_order(line::lines(fragments), &content.rulings),
            rulings: content.rulings,
            images: content.images,
            glyphs: content.glyphs.len(),
            unmapped: content.unmapped,
            cut_short: content.cut_short,
            damaged: content.damaged,
            recognised: None,
        }
    }
}
