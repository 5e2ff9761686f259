//! Pages folded small, until the last one has been read.
//!
//! What is furniture, how large the text is and where its hyphens belong is told by all pages
//! together, so all of them are kept until then. As words for the layout to work on they would
//! take a hundred bytes each. A word is folded to its text and to what differs from the word
//! before it, mostly its two ends, which is about twenty. Nothing is lost by it: a page
//! unfolds to the lines it was.

use super::fragment::{Fragment, Look};
use super::glyph::{Rect, Ruling};
use super::line::{Line, Strip};
use super::page::{Outcome, PageText};

/// How many bytes the marks of a word come to.
const USUAL_MARKS: usize = 16;

#[derive(Debug)]
pub(super) struct Folded {
    /// Counted from 1.
    pub(super) number: u32,
    pub(super) outcome: Outcome,
    pub(super) rulings: Box<[Ruling]>,
    pub(super) images: Box<[Rect]>,
    lines: Box<[Strip]>,
    /// The words of all lines, one behind the other.
    text: Box<str>,
    /// For each line how many words it has, and how long each is.
    lengths: Box<[u8]>,
    /// All else there is to each word.
    marks: Box<[u8]>,
}

impl Folded {
    pub(super) fn of(page: PageText) -> Self {
        let outcome = page.outcome();
        let words = || page.lines.iter().flat_map(|line| &line.parts);
        let mut text = String::with_capacity(words().map(|word| word.text.len()).sum());
        let mut lengths = Vec::with_capacity(words().count() + page.lines.len());
        let mut marks = Vec::with_capacity(words().count() * USUAL_MARKS);
        let mut before = Marks::default();
        for line in &page.lines {
            put(&mut lengths, line.parts.len() as u32);
            for word in &line.parts {
                put(&mut lengths, word.text.len() as u32);
                text.push_str(&word.text);
                let now = marks_of(word);
                put_changes(&mut marks, &before, &now);
                before = now;
            }
        }
        Self {
            number: page.number,
            outcome,
            rulings: page.rulings.into(),
            images: page.images.into(),
            lines: page.lines.iter().map(|line| line.strip).collect(),
            text: text.into(),
            lengths: lengths.into(),
            marks: marks.into(),
        }
    }

    pub(super) fn lines(&self) -> &[Strip] {
        &self.lines
    }

    pub(super) fn lines_mut(&mut self) -> &mut [Strip] {
        &mut self.lines
    }

    /// The lines as they were folded, but for what has been marked on them since.
    pub(super) fn unfold(&self) -> Vec<Line> {
        let (mut marks, mut before) = (&*self.marks, Marks::default());
        let mut word = |text: &str| {
            take_changes(&mut marks, &mut before);
            fragment_of(text, &before)
        };
        self.lines
            .iter()
            .zip(self.words())
            .map(|(strip, words)| Line {
                strip: *strip,
                parts: words.into_iter().map(&mut word).collect(),
            })
            .collect()
    }

    /// The words of each line.
    pub(super) fn words(&self) -> Vec<Vec<&str>> {
        let (mut lengths, mut text) = (&*self.lengths, &*self.text);
        let line = |_: &Strip| {
            let count = take(&mut lengths);
            (0..count)
                .map(|_| {
                    let (word, rest) = text.split_at(take(&mut lengths) as usize);
                    text = rest;
                    word
                })
                .collect()
        };
        self.lines.iter().map(line).collect()
    }
}

/// All there is to a word but its text, as numbers: what changes from word to word first.
type Marks = [u32; 12];

fn marks_of(word: &Fragment) -> Marks {
    let turned = u32::from(word.angle.cast_unsigned());
    let flags = u32::from(word.artifact) << 1 | u32::from(word.apart);
    [
        word.left.to_bits(),
        word.right.to_bits(),
        word.pitch.to_bits(),
        word.look.letters,
        word.baseline.to_bits(),
        word.size.to_bits(),
        turned << 2 | flags,
        word.look.bold,
        word.look.italic,
        word.look.mono,
        word.look.math,
        word.link.map_or(0, |target| target + 1),
    ]
}

fn fragment_of(text: &str, marks: &Marks) -> Fragment {
    let [
        left,
        right,
        pitch,
        letters,
        baseline,
        size,
        turned,
        bold,
        italic,
        mono,
        math,
        link,
    ] = *marks;
    Fragment {
        text: text.to_owned(),
        left: f32::from_bits(left),
        right: f32::from_bits(right),
        baseline: f32::from_bits(baseline),
        size: f32::from_bits(size),
        angle: ((turned >> 2) as u16).cast_signed(),
        look: Look {
            letters,
            bold,
            italic,
            mono,
            math,
        },
        artifact: turned & 2 != 0,
        apart: turned & 1 != 0,
        pitch: f32::from_bits(pitch),
        link: link.checked_sub(1),
    }
}

/// Which of the numbers changed, a bit for each, and by which bits.
fn put_changes(to: &mut Vec<u8>, before: &Marks, now: &Marks) {
    let changes = || before.iter().zip(now).map(|(before, now)| before ^ now);
    let which = changes()
        .rev()
        .fold(0, |which, change| which << 1 | u32::from(change != 0));
    put(to, which);
    for change in changes().filter(|change| *change != 0) {
        put(to, change);
    }
}

fn take_changes(from: &mut &[u8], marks: &mut Marks) {
    let mut which = take(from);
    while which != 0 {
        marks[which.trailing_zeros() as usize] ^= take(from);
        which &= which - 1;
    }
}

/// Seven bits to the byte, the lowest first; the eighth says that more follow.
fn put(to: &mut Vec<u8>, mut number: u32) {
    while number > 0x7f {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn take(from: &mut &[u8]) -> u32 {
    let (mut number, mut shift) = (0, 0);
    while let Some((byte, rest)) = from.split_first() {
        *from = rest;
        number |= u32::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use model::PageSize;

    use super::*;

    fn word(text: &str, left: f32, right: f32) -> Fragment {
        let letters = text.chars().count() as u32;
        Fragment {
            text: text.to_owned(),
            left,
            right,
            baseline: 72.3,
            size: 10.91,
            angle: 0,
            look: Look {
                letters,
                ..Look::default()
            },
            artifact: false,
            apart: false,
            pitch: (right - left) / letters.max(1) as f32,
            link: None,
        }
    }

    fn line(words: Vec<Fragment>) -> Line {
        let mut words = words.into_iter();
        let mut line = Line::of(words.next().expect("a line has words"));
        words.for_each(|word| line.push(word));
        line
    }

    fn page(lines: Vec<Line>) -> PageText {
        PageText {
            number: 1,
            size: PageSize {
                width: 612.0,
                height: 792.0,
            },
            lines,
            rulings: Vec::new(),
            images: Vec::new(),
            glyphs: 0,
            unmapped: 0,
            cut_short: false,
            damaged: false,
            recognised: None,
        }
    }

    #[test]
    fn a_page_unfolds_to_the_lines_it_was() {
        let odd = Fragment {
            angle: -270,
            look: Look {
                letters: u32::MAX,
                bold: 1,
                italic: 200,
                mono: 70_000,
                math: 3,
            },
            artifact: true,
            apart: true,
            link: Some(0),
            ..word("Mühle\u{301} 水車", f32::MIN, f32::INFINITY)
        };
        let lines = vec![
            line(vec![word("The", 72.0, 88.5), word("wheel", 91.2, 120.01)]),
            line(vec![odd]),
            line(vec![
                word("", -0.0, 0.0),
                word(&"long".repeat(5000), 1e-30, 1e30),
            ]),
        ];
        let folded = Folded::of(page(lines.clone()));
        assert_eq!(format!("{:?}", folded.unfold()), format!("{lines:?}"));
        assert_eq!(folded.words()[0], ["The", "wheel"]);
    }

    #[test]
    fn what_is_marked_on_a_folded_page_is_on_its_lines() {
        let lines = ["one", "two"].map(|text| line(vec![word(text, 72.0, 99.0)]));
        let mut folded = Folded::of(page(lines.into()));
        folded.lines_mut()[1].artifact = true;
        let artifacts: Vec<bool> = folded.unfold().iter().map(|line| line.artifact).collect();
        assert_eq!(artifacts, [false, true]);
    }

    #[test]
    fn a_word_of_print_folds_to_less_than_a_quarter() {
        let words: Vec<Fragment> = (0_u8..100)
            .map(|n| word("wheel", f32::from(n) * 31.7, f32::from(n) * 31.7 + 28.3))
            .collect();
        let folded = Folded::of(page(vec![line(words)]));
        let bytes = folded.text.len() + folded.lengths.len() + folded.marks.len();
        assert!(bytes * 4 < 100 * size_of::<Fragment>(), "{bytes}");
    }
}
