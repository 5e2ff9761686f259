//! Pieces become a chunk: its overlap, its exact count, and its place in text and on pages.

use std::collections::BTreeSet;
use std::ops::Range;

use model::{Atom, AtomKind, Chunk, ChunkPolicy, PageBox, Span, TokenCounter, Unit};

use crate::chunk::pack::Group;
use crate::chunk::piece::Piece;
use crate::structure::{Headings, one_line};

pub(super) struct Assembly<'a> {
    pub unit: &'a Unit,
    pub policy: ChunkPolicy,
    pub tokens: &'a dyn TokenCounter,
    /// Whether the pieces' counts can be trusted to add up.
    pub adds_up: bool,
    pub pieces: &'a [Piece],
}

impl Assembly<'_> {
    pub fn chunks(&self, groups: &[Group]) -> Vec<Chunk> {
        let paths = self.heading_paths();
        let mut chunks = Vec::with_capacity(groups.len());
        for group in groups {
            for (pieces, tokens) in self.fit(group) {
                let core = group.pieces.start.max(pieces.start)..pieces.end;
                chunks.push(Chunk {
                    ordinal: chunks.len() as u32,
                    heading_path: paths[self.section(core)].clone(),
                    tokens: tokens as u32,
                    ..self.place(pieces)
                });
            }
        }
        chunks
    }

    /// The pieces of the chunk with its overlap, counted; several where the exact count is too large.
    fn fit(&self, group: &Group) -> Vec<(Range<usize>, usize)> {
        let (start, _) = group.overlap(self.pieces, self.policy);
        let with_overlap = start..group.pieces.end;
        for pieces in [with_overlap, group.pieces.clone()] {
            let tokens = self.count(&pieces);
            if tokens <= self.policy.max() || pieces.len() == 1 {
                return vec![(pieces, tokens)];
            }
        }
        let half = |pieces| Group {
            pieces,
            reach: group.reach,
        };
        let mid = group.pieces.start + group.pieces.len() / 2;
        let mut parts = self.fit(&half(group.pieces.start..mid));
        parts.extend(self.fit(&half(mid..group.pieces.end)));
        parts
    }

    fn count(&self, pieces: &Range<usize>) -> usize {
        let inner = &self.pieces[pieces.start + 1..pieces.end];
        let glued = inner.iter().any(|piece| piece.glued);
        if self.adds_up && !glued {
            let all = &self.pieces[pieces.clone()];
            return all.iter().map(|piece| piece.tokens).sum();
        }
        self.tokens.count(&self.unit.text[self.bytes(pieces)])
    }

    fn bytes(&self, pieces: &Range<usize>) -> Range<usize> {
        self.pieces[pieces.start].bytes.start..self.pieces[pieces.end - 1].bytes.end
    }

    /// The section most of it stands in; the first of equals.
    fn section(&self, core: Range<usize>) -> usize {
        let mut best = (0, self.pieces[core.start].section);
        let mut sum = (0, best.1);
        for piece in &self.pieces[core] {
            if piece.section != sum.1 {
                sum = (0, piece.section);
            }
            sum.0 += piece.tokens;
            if sum.0 > best.0 {
                best = sum;
            }
        }
        best.1
    }

    /// The heading path of each section of the unit; the first is what precedes its first heading.
    fn heading_paths(&self) -> Vec<Vec<String>> {
        let mut headings = Headings::new(&self.unit.heading_path, &self.unit.heading_levels);
        let mut paths = vec![headings.path()];
        let base = self.unit.span.byte_start as usize;
        for atom in &self.unit.atoms {
            if let AtomKind::Heading { level } = atom.kind {
                let bytes = atom.span.bytes();
                let text = &self.unit.text[bytes.start - base..bytes.end - base];
                headings.enter(level.max(1), one_line(text));
                paths.push(headings.path());
            }
        }
        paths
    }

    fn place(&self, pieces: Range<usize>) -> Chunk {
        let bytes = self.bytes(&pieces);
        let chars = self.pieces[pieces.start].chars.start..self.pieces[pieces.end - 1].chars.end;
        let within = Span {
            byte_start: bytes.start as u64,
            byte_end: bytes.end as u64,
            char_start: chars.start,
            char_end: chars.end,
        };
        let span = within.shifted(self.unit.span.byte_start, self.unit.span.char_start);
        let atoms = touched(&self.unit.atoms, &span);
        let boxes = boxes(&self.unit.atoms, &span);
        let pages: BTreeSet<u32> = boxes.iter().map(|b| b.page).collect();
        Chunk {
            ordinal: 0,
            span,
            atoms: atoms.start as u32..atoms.end as u32,
            text: self.unit.text[bytes].to_owned(),
            tokens: 0,
            heading_path: Vec::new(),
            pages: pages.into_iter().collect(),
            boxes,
        }
    }
}

/// The atoms a span has a part of.
fn touched(atoms: &[Atom], span: &Span) -> Range<usize> {
    let first = atoms.partition_point(|atom| atom.span.byte_end <= span.byte_start);
    let end = atoms.partition_point(|atom| atom.span.byte_start < span.byte_end);
    first..end.max(first)
}

/// Where the part of some atoms that lies in a span is printed.
pub(crate) fn boxes(atoms: &[Atom], span: &Span) -> Vec<PageBox> {
    atoms[touched(atoms, span)]
        .iter()
        .filter(|atom| atom.kind.is_indexed())
        .flat_map(|atom| boxes_of(atom, span))
        .collect()
}

/// The boxes of the part of an atom that lies in the span. Boxes follow the text, so a part
/// of the text is printed in about that part of their area; a box it may touch is kept.
fn boxes_of(atom: &Atom, span: &Span) -> Vec<PageBox> {
    let length = (atom.span.char_end - atom.span.char_start).max(1) as f32;
    let share = |char: u64| char.saturating_sub(atom.span.char_start) as f32 / length;
    let (from, to) = (share(span.char_start), share(span.char_end));
    let area = |b: &PageBox| ((b.right - b.left) * (b.bottom - b.top)).max(f32::MIN_POSITIVE);
    let whole: f32 = atom.boxes.iter().map(area).sum();
    let mut before = 0.0;
    let mut kept = Vec::new();
    for one in &atom.boxes {
        let (start, end) = (before / whole, (before + area(one)) / whole);
        if start < to && from < end {
            kept.push(*one);
        }
        before += area(one);
    }
    kept
}
