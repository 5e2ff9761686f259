//! Lines to blocks: paragraphs, headings and list items are each one block; so is a
//! listing, a table, a running head.

use model::Table;

use super::glyph::Rect;
use super::line::{Line, Strip};
use super::marker;
use super::order::median;

#[derive(Debug)]
pub(super) struct Block {
    /// Counted from 1.
    pub(super) page: u32,
    pub(super) shape: Shape,
    pub(super) lines: Vec<Line>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Shape {
    /// Words that flow from line to line.
    Prose,
    /// A typewriter face: line ends and indents mean something.
    Listing,
    Table(Table),
    /// On lines of its own, away from the text around it.
    Formula,
    Furniture,
}

impl Block {
    pub(super) fn rect(&self) -> Rect {
        let mut rects = self.lines.iter().map(Line::rect);
        let first = rects.next().unwrap_or_default();
        rects.fold(first, |all, rect| all.union(&rect))
    }

    pub(super) fn first(&self) -> &Line {
        self.lines.first().expect("a block has lines")
    }

    pub(super) fn last(&self) -> &Line {
        self.lines.last().expect("a block has lines")
    }

    pub(super) fn letters(&self) -> u32 {
        self.lines.iter().map(|line| line.look.letters).sum()
    }

    pub(super) fn size(&self) -> f32 {
        let largest = self.lines.iter().max_by_key(|line| line.look.letters);
        largest.map_or(0.0, |line| line.size)
    }

    pub(super) fn is_bold(&self) -> bool {
        self.lines.iter().all(|line| line.look.is_bold())
    }

    pub(super) fn is_italic(&self) -> bool {
        self.lines.iter().all(|line| line.look.is_italic())
    }
}

/// How a document sets its running text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Body {
    pub(super) size: f32,
    pub(super) bold: bool,
    /// From baseline to baseline, in font sizes.
    pub(super) pitch: f32,
}

impl Body {
    /// The size most letters have, and the distance most of its lines keep.
    pub(super) fn of<'l>(pages: impl Iterator<Item = &'l [Strip]> + Clone) -> Self {
        let lines = pages.clone().flatten().filter(|line| !line.artifact);
        let mut letters = std::collections::BTreeMap::<i32, (u32, u32)>::new();
        for line in lines {
            let (all, bold) = letters.entry(half_points(line.size)).or_default();
            *all += line.look.letters;
            *bold += line.look.bold;
        }
        let most = letters.into_iter().max_by_key(|(_, (all, _))| *all);
        let (size, (all, bold)) = most.unwrap_or((20, (1, 0)));
        let same = |line: &Strip| half_points(line.size) == size && !line.artifact;
        let steps = pages
            .flat_map(|lines| lines.windows(2))
            .filter(|pair| same(&pair[0]) && same(&pair[1]))
            .map(|pair| (pair[1].baseline - pair[0].baseline) / pair[0].size)
            .filter(|step| (0.8..2.5).contains(step));
        Self {
            size: size as f32 / 2.0,
            bold: bold * 2 > all,
            pitch: median(steps).unwrap_or(1.2),
        }
    }
}

pub(super) fn half_points(size: f32) -> i32 {
    (size * 2.0).round() as i32
}

/// Groups a page's lines, in reading order, into blocks.
pub(super) fn blocks(page: u32, lines: Vec<Line>, body: &Body) -> Vec<Block> {
    let margin = RightMargin::of(&lines);
    let mut blocks: Vec<Block> = Vec::new();
    for line in lines {
        let shape = shape_of(&line);
        match blocks.last_mut() {
            Some(block) if block.shape == shape && continues(block, &line, body, &margin) => {
                block.lines.push(line);
            }
            _ => blocks.push(Block {
                page,
                shape,
                lines: vec![line],
            }),
        }
    }
    blocks
}

fn shape_of(line: &Line) -> Shape {
    match line {
        line if line.artifact => Shape::Furniture,
        line if line.look.is_mono() => Shape::Listing,
        _ => Shape::Prose,
    }
}

/// Lines that tell where the margin is, at most. Each line is held against them all, and a page of
/// print has a hundred.
const TELLING: usize = 1000;

/// How far right lines reach, by where they begin.
struct RightMargin {
    spans: Vec<Span>,
}

struct Span {
    left: f32,
    right: f32,
    baseline: f32,
}

impl RightMargin {
    fn of(lines: &[Line]) -> Self {
        let lines = lines
            .iter()
            .filter(|line| line.angle == 0 && !line.artifact);
        Self {
            spans: lines
                .take(TELLING)
                .map(|line| Span {
                    left: line.left,
                    right: line.right,
                    baseline: line.baseline,
                })
                .collect(),
        }
    }

    /// The furthest right end of the lines that begin about where this one does, but not beyond
    /// what stands beside it: a title over two columns may begin where the first does.
    fn at(&self, line: &Line) -> f32 {
        let near = |span: &&Span| (span.left - line.left).abs() < line.size * 3.0;
        let ends = self.spans.iter().filter(near).map(|span| span.right);
        let furthest = ends.fold(line.right, f32::max);
        let beside = |span: &&Span| {
            let step = (span.baseline - line.baseline).abs();
            span.left >= line.right && step < line.size * 2.0
        };
        let walls = self.spans.iter().filter(beside).map(|span| span.left);
        walls.fold(furthest, f32::min)
    }
}

/// Whether a line goes on with the paragraph before it.
fn continues(block: &Block, line: &Line, body: &Body, margin: &RightMargin) -> bool {
    let last = block.last();
    let step = line.baseline - last.baseline;
    if block.shape == Shape::Furniture || line.angle != last.angle || step < last.size * 0.4 {
        return false;
    }
    let usual = usual_step(block, body);
    if block.shape == Shape::Listing {
        return step < usual * 2.6 && (line.size - last.size).abs() < last.size * 0.1;
    }
    let resized = (line.size - last.size).abs() > last.size * 0.07;
    if resized || step > usual * 1.22 || !last.overlaps_across(line) {
        return false;
    }
    let full = fills_its_line(last, line, margin);
    if marker::begins_item(&line.text())
        && !is_centred_on(line, last)
        && !(full && is_number_in_a_sentence(block, line))
    {
        return false;
    }
    if line.note_mark().is_some() || is_contents_entry(last) {
        return false;
    }
    if block.is_bold() != line.look.is_bold() && (!full || block.is_bold()) {
        return false;
    }
    full && !indented(block, line)
        || is_centred_on(line, last)
            && block.lines.len() < 4
            && (block.is_bold() || line.size > body.size * 1.1)
}

/// Whether a line that begins like an item goes on with a sentence: `… see Refs. 1 and | 4. By
/// default …`. The next item of a list would stand under the one before.
fn is_number_in_a_sentence(block: &Block, line: &Line) -> bool {
    let (first, last) = (block.first(), block.last());
    let numbered = marker::item_marker(&line.text()).is_some_and(|marker| marker.label.is_some());
    let flush = block.lines.len() > 1 && (line.left - last.left).abs() < line.size * 0.3;
    let open = last
        .parts
        .last()
        .is_some_and(|part| part.text.ends_with(char::is_lowercase));
    numbered && flush && open && !marker::begins_item(&first.text())
}

/// An entry of a printed table of contents: dots, or white, lead to the number of a page.
pub(super) fn is_contents_entry(line: &Line) -> bool {
    let [.., before, number] = line.parts.as_slice() else {
        return false;
    };
    let digits = |c: char| c.is_ascii_digit() || matches!(c, 'i' | 'v' | 'x');
    let dotted = |text: &str| !text.is_empty() && text.chars().all(|c| c == '.');
    let led = dotted(&before.text) || number.left - before.right > line.size * 2.0;
    let named = line
        .parts
        .iter()
        .any(|part| part.text.chars().filter(|c| c.is_alphabetic()).count() > 1);
    led && named && number.text.len() <= 5 && number.text.chars().all(digits)
}

/// From baseline to baseline within this block, or within any of its size.
fn usual_step(block: &Block, body: &Body) -> f32 {
    match block.lines.as_slice() {
        [.., before, last] => last.baseline - before.baseline,
        [only] => only.size * body.pitch.max(1.1),
        [] => body.size * body.pitch,
    }
}

/// Whether the next line's first word had no room any more: a line that ends early
/// ends its paragraph.
fn fills_its_line(last: &Line, next: &Line, margin: &RightMargin) -> bool {
    let word = next.parts[0].right - next.parts[0].left;
    let room = margin.at(last).max(margin.at(next)) - last.right;
    room < word + last.size * 1.8
}

fn is_centred_on(line: &Line, other: &Line) -> bool {
    let offset = (line.left + line.right - other.left - other.right).abs() / 2.0;
    offset < line.size * 0.5 && (line.left - other.left).abs() > line.size * 0.5
}

/// Whether the line stands in from its paragraph the way a first line does.
fn indented(block: &Block, line: &Line) -> bool {
    let [.., last] = block.lines.as_slice() else {
        return false;
    };
    let step = line.left - last.left;
    match block.lines.len() {
        // A first line stands in or hangs out; either may go on like this.
        1 => false,
        2 => step > line.size * 0.7,
        _ => step.abs() > line.size * 0.7,
    }
}
