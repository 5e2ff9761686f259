//! Which pieces may share a chunk: those of one section, and tiny sections with the
//! one they lead to.

use std::ops::Range;

use crate::chunk::piece::Piece;

struct Section {
    pieces: Range<usize>,
    size: usize,
    /// 0 for what stands before the unit's first heading.
    level: u8,
}

/// Runs of pieces that no chunk reaches beyond.
pub(super) fn runs(pieces: &[Piece], tiny: usize) -> Vec<Range<usize>> {
    let sections = sections(pieces);
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, section) in sections.iter().enumerate() {
        let joined = at > 0 && joins(&sections, at, tiny) && !pieces[section.pieces.start].parted;
        match runs.last_mut() {
            Some(run) if joined => run.end = section.pieces.end,
            _ => runs.push(section.pieces.clone()),
        }
    }
    runs.iter().flat_map(|run| unparted(pieces, run)).collect()
}

fn sections(pieces: &[Piece]) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        if at == 0 || piece.begins_section() {
            sections.push(Section {
                pieces: at..at,
                size: 0,
                level: piece.heading.unwrap_or(0),
            });
        }
        let last = sections.last_mut().expect("the first piece begins one");
        last.pieces.end = at + 1;
        last.size += piece.size;
    }
    sections
}

/// A tiny section goes with the next if that is its sibling or stands under it, else with the last.
/// Only neighbours are asked, so an edit elsewhere changes nothing here.
fn joins(sections: &[Section], at: usize, tiny: usize) -> bool {
    let leads = |at: usize| {
        let next = sections.get(at + 1);
        sections[at].size < tiny && next.is_some_and(|next| next.level >= sections[at].level)
    };
    let trails = |at: usize| sections[at].size < tiny && !leads(at);
    let siblings = sections[at].level >= sections[at - 1].level;
    leads(at - 1) || (trails(at) && siblings)
}

/// Nothing that is not indexed may be inside a chunk.
fn unparted(pieces: &[Piece], run: &Range<usize>) -> Vec<Range<usize>> {
    let parted = |at: &usize| pieces[*at].parted;
    let mut runs = Vec::new();
    let mut from = run.start;
    for at in (run.start + 1..run.end).filter(parted) {
        runs.push(from..at);
        from = at;
    }
    runs.push(from..run.end);
    runs
}
