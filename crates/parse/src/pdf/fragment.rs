//! Glyphs to words.
//!
//! In: a page's glyphs in printing order. Out: words in the same order; scripts without
//! spaces make one word of each run. Accents printed over a letter are composed with it;
//! right-to-left text comes out in reading order.

use super::bidi;
use super::glyph::{Content, Face, Glyph, Texts};
use super::links::TargetId;
use super::script::{combining, is_blank, is_wide};

/// Gaps between words, in font sizes.
const WORD_GAP: f32 = 0.16;
const WIDE_WORD_GAP: f32 = 0.7;
/// How many of a fragment's letters look how.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Look {
    pub(super) letters: u32,
    pub(super) bold: u32,
    pub(super) italic: u32,
    pub(super) mono: u32,
    pub(super) math: u32,
}

impl Look {
    fn count(&mut self, face: Face) {
        self.letters += 1;
        self.bold += u32::from(face.bold);
        self.italic += u32::from(face.italic);
        self.mono += u32::from(face.mono);
        self.math += u32::from(face.math);
    }

    pub(super) fn add(&mut self, other: Self) {
        self.letters += other.letters;
        self.bold += other.bold;
        self.italic += other.italic;
        self.mono += other.mono;
        self.math += other.math;
    }

    pub(super) fn is_bold(&self) -> bool {
        self.bold * 10 >= self.letters * 9 && self.bold > 0
    }

    pub(super) fn is_italic(&self) -> bool {
        self.italic * 10 >= self.letters * 9 && self.italic > 0
    }

    pub(super) fn is_mono(&self) -> bool {
        self.mono * 10 >= self.letters * 9 && self.mono > 0
    }
}

/// A word. `left` and `right` run along the writing direction, `baseline` across.
#[derive(Debug, Clone)]
pub(super) struct Fragment {
    pub(super) text: String,
    pub(super) left: f32,
    pub(super) right: f32,
    pub(super) baseline: f32,
    pub(super) size: f32,
    pub(super) angle: i16,
    pub(super) look: Look,
    pub(super) artifact: bool,
    /// Begins a word however close the one before it stands: a note's mark.
    pub(super) apart: bool,
    /// The width of one character, where all are of one width.
    pub(super) pitch: f32,
    pub(super) link: Option<TargetId>,
}

impl Fragment {
    pub(super) fn middle(&self) -> f32 {
        (self.left + self.right) / 2.0
    }

    /// The middle of its letters, in points from the page's top left.
    pub(super) fn centre(&self) -> (f32, f32) {
        let (along, across) = (self.middle(), self.baseline - self.size * 0.3);
        match self.angle {
            0 => (along, across),
            angle => {
                let (sin, cos) = f32::from(angle).to_radians().sin_cos();
                (along * cos - across * sin, along * sin + across * cos)
            }
        }
    }
}

/// A glyph in the frame of its own writing direction.
#[derive(Clone, Copy)]
struct Placed<'t> {
    glyph: Glyph,
    text: &'t str,
    along: f32,
    across: f32,
}

impl Placed<'_> {
    fn centre(&self) -> f32 {
        self.along + self.glyph.advance / 2.0
    }

    fn right(&self) -> f32 {
        self.along + self.glyph.advance
    }
}

fn place<'t>(glyph: &Glyph, texts: &'t Texts) -> Placed<'t> {
    let (along, across) = match glyph.angle {
        0 => (glyph.x, glyph.y),
        angle => {
            let (sin, cos) = f32::from(angle).to_radians().sin_cos();
            (glyph.x * cos + glyph.y * sin, glyph.y * cos - glyph.x * sin)
        }
    };
    Placed {
        glyph: *glyph,
        text: texts.get(glyph.text),
        along,
        across,
    }
}

pub(super) fn fragments(content: &Content, texts: &Texts) -> Vec<Fragment> {
    let mut placed: Vec<_> = content.glyphs.iter().map(|g| place(g, texts)).collect();
    let right_to_left = placed
        .iter()
        .any(|glyph| bidi::is_right_to_left(glyph.text));
    if right_to_left {
        into_visual_order(&mut placed);
    }
    let mut builder = Builder::default();
    for glyph in &placed {
        builder.push(glyph);
    }
    let mut all = builder.finish();
    if right_to_left {
        for fragment in &mut all {
            fragment.text = bidi::logical(&fragment.text);
        }
    }
    all
}

/// Sorts glyphs into lines and each line from left to right: where writing runs both
/// ways, the order of printing says nothing.
fn into_visual_order(placed: &mut [Placed<'_>]) {
    placed.sort_by(|a, b| {
        let key = |p: &Placed<'_>| (p.glyph.angle, p.across);
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    let mut from = 0;
    while from < placed.len() {
        let first = placed[from];
        let same_line = |p: &&Placed<'_>| {
            p.glyph.angle == first.glyph.angle
                && p.across - first.across < first.glyph.size.max(p.glyph.size) * 0.4
        };
        let count = placed[from..].iter().take_while(same_line).count();
        placed[from..from + count].sort_by(|a, b| a.along.total_cmp(&b.along));
        from += count;
    }
}

#[derive(Default)]
struct Builder<'t> {
    done: Vec<Fragment>,
    open: Option<Open>,
    /// An accent printed before the letter it belongs to.
    accent: Option<Placed<'t>>,
}

struct Open {
    fragment: Fragment,
    /// Where the last letter began, to tell an accent over it.
    last_left: f32,
    last_size: f32,
    last_wide: bool,
    space: bool,
    /// How many letters are of the fragment's size, against all others.
    votes: i32,
}

impl<'t> Builder<'t> {
    fn push(&mut self, glyph: &Placed<'t>) {
        if is_blank(glyph.text) {
            return self.space();
        }
        if combining(glyph.text).is_some() {
            if !self.accents_last(glyph) {
                self.flush_accent();
                self.accent = Some(*glyph);
            }
            return;
        }
        let accent = self.accent.take();
        let over = |a: &Placed<'t>| a.centre() > glyph.along && a.centre() < glyph.right();
        match accent {
            Some(accent) if over(&accent) => {
                self.letter(glyph, glyph.text);
                self.append_mark(accent.text);
            }
            Some(accent) => {
                self.letter(&accent, accent.text);
                self.letter(glyph, glyph.text);
            }
            None => self.letter(glyph, glyph.text),
        }
    }

    fn space(&mut self) {
        self.flush_accent();
        if let Some(open) = &mut self.open {
            open.space = true;
        }
    }

    fn accents_last(&mut self, accent: &Placed<'t>) -> bool {
        let over = self.open.as_ref().is_some_and(|open| {
            let near = (accent.across - open.fragment.baseline).abs() < open.last_size;
            near && accent.centre() > open.last_left && accent.centre() < open.fragment.right
        });
        if over {
            self.append_mark(accent.text);
        }
        over
    }

    fn append_mark(&mut self, accent: &str) {
        if let (Some(open), Some(mark)) = (&mut self.open, combining(accent)) {
            // The dotless letters exist to carry accents.
            match open.fragment.text.pop() {
                Some('ı') => open.fragment.text.push('i'),
                Some('ȷ') => open.fragment.text.push('j'),
                Some(letter) => open.fragment.text.push(letter),
                None => {}
            }
            open.fragment.text.push(mark);
        }
    }

    fn flush_accent(&mut self) {
        if let Some(accent) = self.accent.take() {
            self.letter(&accent, accent.text);
        }
    }

    fn letter(&mut self, glyph: &Placed<'_>, text: &str) {
        let joined = self
            .open
            .as_mut()
            .is_some_and(|open| open.join(glyph, text));
        if !joined {
            let apart = self
                .open
                .as_ref()
                .is_some_and(|o| o.is_reference(glyph, text));
            self.close();
            let mut open = Open::new(glyph, text);
            open.fragment.apart = apart;
            self.open = Some(open);
        }
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.done.push(open.fragment);
        }
    }

    fn finish(mut self) -> Vec<Fragment> {
        self.flush_accent();
        self.close();
        self.done
    }
}

impl Open {
    fn new(glyph: &Placed<'_>, text: &str) -> Self {
        let mut look = Look::default();
        look.count(glyph.glyph.face);
        Self {
            fragment: Fragment {
                text: text.to_owned(),
                left: glyph.along,
                right: glyph.right(),
                baseline: glyph.across,
                size: glyph.glyph.size,
                angle: glyph.glyph.angle,
                look,
                artifact: glyph.glyph.artifact,
                apart: false,
                pitch: glyph.glyph.advance,
                link: None,
            },
            last_left: glyph.along,
            last_size: glyph.glyph.size,
            last_wide: is_wide(text),
            space: false,
            votes: 1,
        }
    }

    /// Takes the glyph in when it goes on in the same line.
    fn join(&mut self, glyph: &Placed<'_>, text: &str) -> bool {
        let f = &self.fragment;
        if f.angle != glyph.glyph.angle || f.artifact != glyph.glyph.artifact {
            return false;
        }
        let em = self.last_size.max(glyph.glyph.size);
        if self.repeats(glyph, text) {
            self.fragment.look.bold = self.fragment.look.letters;
            return true;
        }
        let gap = glyph.along - f.right;
        let shift = (glyph.across - f.baseline).abs();
        let level = shift <= em * 0.12 && gap > -em * 0.6;
        // Raised or lowered, it belongs here only when it stands close.
        let script = shift <= em * 0.55 && gap > -em * 0.35 && gap < em * 0.4;
        let wide = is_wide(text);
        let any_wide = wide || self.last_wide;
        let limit = if any_wide { WIDE_WORD_GAP } else { WORD_GAP };
        let spaced = self.space && !(wide && self.last_wide);
        let apart = spaced || gap > self.last_size.min(glyph.glyph.size) * limit;
        let logo = gap > -em * 0.5 && self.is_logo(glyph, text);
        if apart || !(level || script || logo) || self.is_reference(glyph, text) {
            return false;
        }
        self.append(glyph, text);
        true
    }

    /// The `A` of LaTeX stands on the foot of its `L`, further back than any other letter.
    fn is_logo(&self, glyph: &Placed<'_>, text: &str) -> bool {
        text == "A" && self.fragment.text.ends_with('L') && self.is_raised(glyph)
    }

    /// Printed twice, a hair apart, is how some make bold.
    fn repeats(&self, glyph: &Placed<'_>, text: &str) -> bool {
        let hair = glyph.glyph.size * 0.1;
        (glyph.along - self.last_left).abs() < hair
            && (glyph.across - self.fragment.baseline).abs() < hair
            && self.fragment.text.ends_with(text)
    }

    /// A raised number behind a word refers to a note and is no part of the word.
    fn is_reference(&self, glyph: &Placed<'_>, text: &str) -> bool {
        let digits = text.chars().all(|c| c.is_ascii_digit());
        let letters = self
            .fragment
            .text
            .chars()
            .rev()
            .take(3)
            .filter(|c| c.is_alphabetic());
        let behind = digits && self.is_raised(glyph) && letters.count() == 3;
        behind || self.is_mark_before(glyph, text)
    }

    /// A raised number before a word is the mark of the note that begins there.
    fn is_mark_before(&self, glyph: &Placed<'_>, text: &str) -> bool {
        let f = &self.fragment;
        let fall = glyph.across - f.baseline;
        f.size < glyph.glyph.size * 0.87
            && fall > f.size * 0.15
            && f.text.chars().all(|c| c.is_ascii_digit())
            && text.starts_with(char::is_alphabetic)
    }

    fn is_raised(&self, glyph: &Placed<'_>) -> bool {
        let rise = self.fragment.baseline - glyph.across;
        glyph.glyph.size < self.fragment.size * 0.87 && rise > self.fragment.size * 0.15
    }

    fn append(&mut self, glyph: &Placed<'_>, text: &str) {
        let digit = |char: char| char.is_ascii_digit();
        if text.chars().all(digit) && self.fragment.text.ends_with(digit) && self.is_raised(glyph) {
            self.fragment.text.push('^');
        }
        self.fragment.text.push_str(text);
        self.fragment.right = self.fragment.right.max(glyph.right());
        self.fragment.look.count(glyph.glyph.face);
        self.vote(glyph);
        self.last_left = glyph.along;
        self.last_size = glyph.glyph.size;
        self.last_wide = is_wide(text);
        self.space = false;
    }

    /// The size most letters have is the fragment's, and their baseline too.
    fn vote(&mut self, glyph: &Placed<'_>) {
        let same = (glyph.glyph.size - self.fragment.size).abs() < self.fragment.size * 0.02;
        self.votes += if same { 1 } else { -1 };
        if self.votes < 0
            || (!same && self.fragment.look.letters < 4 && glyph.glyph.size > self.fragment.size)
        {
            self.fragment.size = glyph.glyph.size;
            self.fragment.baseline = glyph.across;
            self.votes = 1;
        }
    }
}
