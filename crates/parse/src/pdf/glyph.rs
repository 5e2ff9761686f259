//! What a page prints, before anyone has read it: glyphs, rulings, pictures, links.

/// Names a string in [`Texts`].
pub(super) type TextId = u32;

/// Every different string a glyph of the document stands for, kept once.
#[derive(Debug, Default)]
pub(super) struct Texts {
    all: Vec<Box<str>>,
    known: std::collections::HashMap<Box<str>, TextId>,
}

impl Texts {
    pub(super) fn intern(&mut self, text: &str) -> TextId {
        if let Some(id) = self.known.get(text) {
            return *id;
        }
        let id = self.all.len() as TextId;
        self.all.push(text.into());
        self.known.insert(text.into(), id);
        id
    }

    pub(super) fn get(&self, id: TextId) -> &str {
        &self.all[id as usize]
    }
}

/// How a font looks, as far as it tells a heading or code from prose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Face {
    pub(super) bold: bool,
    pub(super) italic: bool,
    pub(super) mono: bool,
    /// Made for formulas alone.
    pub(super) math: bool,
}

/// One glyph where it is printed. Coordinates are points from the page's top left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Glyph {
    pub(super) text: TextId,
    /// Where the pen was, on the baseline.
    pub(super) x: f32,
    pub(super) y: f32,
    /// How far the pen moved, along `angle`.
    pub(super) advance: f32,
    /// How much of that is a distance between letters.
    pub(super) spacing: f32,
    pub(super) size: f32,
    /// Whole degrees, clockwise; 0 is upright.
    pub(super) angle: i16,
    pub(super) face: Face,
    /// Marked by the document itself as no part of its text.
    pub(super) artifact: bool,
}

/// An upright rectangle in points from the page's top left.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Rect {
    pub(super) left: f32,
    pub(super) top: f32,
    pub(super) right: f32,
    pub(super) bottom: f32,
}

impl Rect {
    pub(super) fn width(&self) -> f32 {
        self.right - self.left
    }

    pub(super) fn height(&self) -> f32 {
        self.bottom - self.top
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        Self {
            left: self.left.min(other.left),
            top: self.top.min(other.top),
            right: self.right.max(other.right),
            bottom: self.bottom.max(other.bottom),
        }
    }

    pub(super) fn holds(&self, x: f32, y: f32) -> bool {
        x >= self.left && x <= self.right && y >= self.top && y <= self.bottom
    }

    /// The smallest upright rectangle around some points.
    pub(super) fn around(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut rect = Self {
            left: f32::MAX,
            top: f32::MAX,
            right: f32::MIN,
            bottom: f32::MIN,
        };
        for (x, y) in points {
            rect.left = rect.left.min(x as f32);
            rect.right = rect.right.max(x as f32);
            rect.top = rect.top.min(y as f32);
            rect.bottom = rect.bottom.max(y as f32);
        }
        rect
    }
}

/// A printed line, upright or level: the edge of a table cell, or a rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ruling {
    pub(super) level: bool,
    /// Its place across: `y` of a level one, `x` of an upright one.
    pub(super) at: f32,
    pub(super) from: f32,
    pub(super) to: f32,
}

/// All that a page prints, in the order in which it does.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) glyphs: Vec<Glyph>,
    pub(super) rulings: Vec<Ruling>,
    pub(super) images: Vec<Rect>,
    /// Glyphs whose meaning the document does not give.
    pub(super) unmapped: usize,
    /// The page wanted to unpack more than it may.
    pub(super) cut_short: bool,
    /// Not all of it could be unpacked.
    pub(super) damaged: bool,
}
