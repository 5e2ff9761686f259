//! Fragments to lines: what stands side by side and was printed one after the other.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};

use super::bidi;
use super::fragment::{Fragment, Look};
use super::glyph::Rect;

/// How far letters reach above and below the baseline, in font sizes.
const ASCENT: f32 = 0.78;
const DESCENT: f32 = 0.22;
/// Lines are looked up by their height in steps of this.
const ROW: f32 = 8.0;

/// Where a printed line stands and how it looks: all there is to it but its words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strip {
    pub(super) left: f32,
    pub(super) right: f32,
    pub(super) baseline: f32,
    pub(super) size: f32,
    pub(super) angle: i16,
    pub(super) look: Look,
    pub(super) artifact: bool,
}

impl Strip {
    pub(super) fn top(&self) -> f32 {
        self.baseline - self.size * ASCENT
    }

    pub(super) fn bottom(&self) -> f32 {
        self.baseline + self.size * DESCENT
    }
}

/// A printed line, parts from left to right.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) strip: Strip,
    pub(super) parts: Vec<Fragment>,
}

/// A line is asked for its place and look as a strip is.
impl Deref for Line {
    type Target = Strip;

    fn deref(&self) -> &Strip {
        &self.strip
    }
}

impl DerefMut for Line {
    fn deref_mut(&mut self) -> &mut Strip {
        &mut self.strip
    }
}

impl Line {
    pub(super) fn of(fragment: Fragment) -> Self {
        Self {
            strip: Strip {
                left: fragment.left,
                right: fragment.right,
                baseline: fragment.baseline,
                size: fragment.size,
                angle: fragment.angle,
                look: fragment.look,
                artifact: fragment.artifact,
            },
            parts: vec![fragment],
        }
    }

    pub(super) fn push(&mut self, fragment: Fragment) {
        self.left = self.left.min(fragment.left);
        self.right = self.right.max(fragment.right);
        if fragment.look.letters > self.look.letters {
            self.size = fragment.size;
            self.baseline = fragment.baseline;
        }
        self.look.add(fragment.look);
        let before = |part: &Fragment| part.left <= fragment.left;
        let at = self.parts.partition_point(before);
        self.parts.insert(at, fragment);
    }

    /// How many pieces it falls into, with white space between that no word space explains.
    pub(super) fn cells(&self) -> usize {
        let wide = |pair: &&[Fragment]| pair[1].left - pair[0].right > self.size * 1.6;
        1 + self.parts.windows(2).filter(wide).count()
    }

    /// Its words; parts that touch make one.
    pub(super) fn text(&self) -> String {
        if let [only] = self.parts.as_slice() {
            return only.text.clone();
        }
        let all: String = self.parts.iter().map(|part| part.text.as_str()).collect();
        if bidi::reads_right_to_left(&all) {
            let texts = self.words().into_iter().map(|part| part.text.as_str());
            return texts.collect::<Vec<_>>().join(" ");
        }
        let mut out = String::with_capacity(all.len() + self.parts.len());
        let mut before: Option<&Fragment> = None;
        for part in self.words() {
            if before.is_some_and(|before| self.parts_words(before, part)) {
                out.push(' ');
            }
            out.push_str(&part.text);
            before = Some(part);
        }
        out
    }

    /// Whether there is a blank between two parts that are read one after the other.
    fn parts_words(&self, before: &Fragment, part: &Fragment) -> bool {
        let (left, right) = match before.left <= part.left {
            true => (before, part),
            false => (part, before),
        };
        right.apart || right.left - left.right > part.size.min(self.size) * 0.08
    }

    /// Its words as they are read.
    pub(super) fn words(&self) -> Vec<&Fragment> {
        let texts = self.parts.iter().map(|part| part.text.as_str());
        match texts.clone().any(bidi::is_right_to_left) {
            true => {
                let order = bidi::reading_order(&texts.collect::<Vec<_>>());
                order.into_iter().map(|at| &self.parts[at]).collect()
            }
            false => self.parts.iter().collect(),
        }
    }

    /// Its place on the page, whatever its direction.
    pub(super) fn rect(&self) -> Rect {
        let (top, bottom) = (self.top(), self.bottom());
        if self.angle == 0 {
            return Rect {
                left: self.left,
                top,
                right: self.right,
                bottom,
            };
        }
        let (sin, cos) = f64::from(self.angle).to_radians().sin_cos();
        let corners = [
            (self.left, top),
            (self.right, top),
            (self.left, bottom),
            (self.right, bottom),
        ];
        Rect::around(corners.map(|(along, across)| {
            let (along, across) = (f64::from(along), f64::from(across));
            (along * cos - across * sin, along * sin + across * cos)
        }))
    }

    /// The raised mark a note begins with.
    pub(super) fn note_mark(&self) -> Option<&str> {
        self.raised_mark().or_else(|| self.superscript_mark())
    }

    /// Some fonts have raised numbers of their own.
    fn superscript_mark(&self) -> Option<&str> {
        let text = self.parts.first()?.text.as_str();
        let rest = text.trim_start_matches(is_superscript);
        let mark = &text[..text.len() - rest.len()];
        let words = rest.starts_with(char::is_alphabetic) || rest.is_empty();
        (!mark.is_empty() && words && self.parts.len() > 1).then_some(mark)
    }

    fn raised_mark(&self) -> Option<&str> {
        let [mark, word, ..] = self.parts.as_slice() else {
            return None;
        };
        let sign = |c: char| c.is_ascii_digit() || matches!(c, '*' | '∗' | '†' | '‡' | '§');
        let raised = mark.baseline < word.baseline - word.size * 0.1;
        let small = mark.size < word.size * 0.9;
        (raised && small && mark.text.len() <= 6 && mark.text.chars().all(sign))
            .then_some(mark.text.as_str())
    }

    /// Whether it reaches over a place that parts the page, leaving no white of so many font
    /// sizes there.
    pub(super) fn is_over(&self, place: f32, white: f32) -> bool {
        let hair = self.size * 0.1;
        let covers = |part: &Fragment| part.left < place - hair && part.right > place + hair;
        let ends = self.parts.iter().filter(|part| part.middle() < place);
        let begins = self.parts.iter().filter(|part| part.middle() >= place);
        let end = ends.map(|part| part.right).fold(f32::MIN, f32::max);
        let begin = begins.map(|part| part.left).fold(f32::MAX, f32::min);
        self.parts.iter().any(covers) || begin - end <= self.size * white
    }

    /// What stands left of a place, and what right of it.
    pub(super) fn parted_at(self, place: f32) -> (Option<Self>, Option<Self>) {
        let twice = self.look.bold > self.parts.iter().map(|part| part.look.bold).sum();
        let (left, right): (Vec<Fragment>, Vec<Fragment>) = self
            .parts
            .into_iter()
            .partition(|part| part.middle() < place);
        let line = |parts: Vec<Fragment>| {
            let mut parts = parts.into_iter();
            let mut line = Self::of(parts.next()?);
            parts.for_each(|part| line.push(part));
            if twice {
                line.embolden();
            }
            Some(line)
        };
        (line(left), line(right))
    }

    pub(super) fn overlaps_across(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right
    }

    /// Whether it is one large letter, and the other line stands beside its upper half.
    fn is_initial_of(&self, line: &Self) -> bool {
        let [only] = self.parts.as_slice() else {
            return false;
        };
        let mut letters = only.text.chars();
        let one = letters.next().is_some_and(char::is_uppercase) && letters.next().is_none();
        let gap = line.left - self.right;
        let upper = line.baseline < self.baseline - line.size * 0.6;
        one && self.angle == line.angle
            && self.size > line.size * 1.7
            && (-line.size * 0.3..line.size).contains(&gap)
            && upper
            && line.baseline > self.baseline - self.size
    }

    /// Whether a line fits into this one or directly beside it, covering nothing.
    fn takes_in(&self, other: &Self) -> bool {
        if !self.same_baseline(&other.parts[0]) {
            return false;
        }
        let em = self.size.max(other.size);
        let pairs = || {
            let ours = self.parts.iter();
            ours.flat_map(|a| other.parts.iter().map(move |b| (a, b)))
        };
        let gap = |(a, b): (&Fragment, &Fragment)| (a.left - b.right).max(b.left - a.right);
        let nearest = pairs().map(gap).fold(f32::MAX, f32::min);
        let marker = other.look.letters <= 4 && other.right <= self.left;
        let reach = if marker { em * 3.0 } else { em * 0.8 };
        nearest > -em * 0.15 && nearest < reach
    }

    /// Whether the other is this line, or words of it, printed again a hair apart.
    fn repeats(&self, other: &Self) -> bool {
        let hair = self.size * 0.15;
        let same = |a: &Fragment, b: &Fragment| {
            (a.left - b.left).abs() < hair
                && (a.baseline - b.baseline).abs() < hair
                && a.text == b.text
        };
        self.angle == other.angle
            && other
                .parts
                .iter()
                .all(|b| self.parts.iter().any(|a| same(a, b)))
    }

    fn embolden(&mut self) {
        self.look.bold = self.look.letters;
    }

    fn absorb(&mut self, other: Self) {
        for part in other.parts {
            self.push(part);
        }
    }

    fn same_baseline(&self, fragment: &Fragment) -> bool {
        let em = self.size.max(fragment.size);
        // The mark of a note is set smaller, and higher than words ever stand apart.
        let resized = (self.size - fragment.size).abs() > em * 0.15;
        let reach = if resized { 0.42 } else { 0.35 };
        self.angle == fragment.angle
            && self.artifact == fragment.artifact
            && (self.baseline - fragment.baseline).abs() < em * reach
    }
}

pub(super) fn is_superscript(c: char) -> bool {
    matches!(
        c,
        '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{2070}' | '\u{2074}'..='\u{2079}'
    )
}

/// Joins fragments that follow one another on one baseline.
pub(super) fn lines(fragments: Vec<Fragment>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for fragment in fragments {
        match lines.last_mut() {
            Some(line)
                if line.same_baseline(&fragment)
                    && fragment.left >= line.right - line.size * 0.3 =>
            {
                line.push(fragment);
            }
            _ => lines.push(Line::of(fragment)),
        }
    }
    let mut lines = join_initials(lines);
    // What joins two lines may come last: they are found to be one in the next pass.
    loop {
        let before = lines.len();
        lines = fill_holes(lines);
        if lines.len() == before {
            return lines;
        }
    }
}

/// A large letter that begins a paragraph, over two lines or three, belongs to the first of them.
fn join_initials(lines: Vec<Line>) -> Vec<Line> {
    let mut joined: Vec<Line> = Vec::with_capacity(lines.len());
    for mut line in lines {
        match joined.pop() {
            Some(initial) if initial.is_initial_of(&line) => {
                let (letter, word) = (&initial.parts[0], &mut line.parts[0]);
                word.text.insert_str(0, &letter.text);
                word.left = letter.left;
                line.left = letter.left;
                joined.push(line);
            }
            before => {
                joined.extend(before);
                joined.push(line);
            }
        }
    }
    joined
}

/// A word printed out of turn joins the line it stands in: links, emphasis, bullets.
fn fill_holes(lines: Vec<Line>) -> Vec<Line> {
    let mut whole: Vec<Line> = Vec::with_capacity(lines.len());
    let mut rows: HashMap<i32, Vec<usize>> = HashMap::new();
    for line in lines {
        let row = (line.baseline / ROW).floor() as i32;
        let near = [row - 1, row, row + 1];
        let owner = near
            .iter()
            .filter_map(|row| rows.get(row))
            .flatten()
            .find(|at| whole[**at].takes_in(&line) || whole[**at].repeats(&line))
            .copied();
        match owner {
            Some(owner) if whole[owner].repeats(&line) => whole[owner].embolden(),
            Some(owner) => whole[owner].absorb(line),
            None => {
                rows.entry(row).or_default().push(whole.len());
                whole.push(line);
            }
        }
    }
    whole
}
