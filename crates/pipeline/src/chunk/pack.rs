//! Which pieces make a chunk, by strategy.

use std::ops::Range;

use model::{ChunkPolicy, Unit};

use crate::chunk::piece::Piece;
use crate::chunk::sections;
use crate::cut::{self, Place, Sizes};
use crate::units::opening_hash;

/// Pieces that become one chunk, and how far back its overlap may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub pieces: Range<usize>,
    pub reach: usize,
}

/// Below this share of the target a section is too small to stand alone.
const TINY: usize = 5;

/// Sections, cut where their content says: an edit changes the chunks beside it and no other.
pub(super) fn structural(unit: &Unit, pieces: &[Piece], policy: ChunkPolicy) -> Vec<Group> {
    let sizes = sizes(policy);
    sections::runs(pieces, policy.target() / TINY)
        .into_iter()
        .flat_map(|run| cut_run(unit, pieces, run, sizes))
        .collect()
}

/// Parts come out at about three quarters of the limit; overlap has to fit beside them.
fn sizes(policy: ChunkPolicy) -> Sizes {
    let limit = (policy.target() * 4 / 3).min(policy.max() - policy.overlap());
    Sizes {
        limit: limit as u64,
        floor: (limit * 2 / 5) as u64,
        halve: true,
    }
}

fn cut_run(unit: &Unit, pieces: &[Piece], run: Range<usize>, sizes: Sizes) -> Vec<Group> {
    let mut whole = 0;
    let mut places = Vec::with_capacity(run.len());
    for at in run.clone() {
        if at > run.start {
            places.push(Place {
                at: whole,
                rank: pieces[at].rank,
                hash: hash(unit, &pieces[at]),
            });
        }
        whole += pieces[at].size as u64;
    }
    let chosen = cut::choose(&places, 0..whole, sizes);
    let mut starts = vec![run.start];
    starts.extend(chosen.into_iter().map(|at| run.start + 1 + at));
    starts.push(run.end);
    let group = |edge: &[usize]| Group {
        pieces: edge[0]..edge[1],
        reach: run.start,
    };
    starts.windows(2).map(group).collect()
}

/// Where an atom begins, the hash that chooses among units' cuts chooses among chunks': a unit
/// that outgrew its bound is cut where a chunk began before, and its chunks stay as they are.
fn hash(unit: &Unit, piece: &Piece) -> u64 {
    match piece.opens {
        Some(end) => opening_hash(&unit.text[piece.bytes.start..end]),
        None => cut::hash(unit.text[piece.bytes.clone()].as_bytes()),
    }
}

/// One piece after another until the target is reached.
pub(super) fn greedy(
    pieces: &[Piece],
    policy: ChunkPolicy,
    breaks: impl Fn(&Piece) -> bool,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let (mut full, mut fresh) = (0, 0);
    for (at, piece) in pieces.iter().enumerate() {
        let stop = piece.parted || breaks(piece);
        match groups.last_mut() {
            Some(group) if !stop && full + piece.size <= policy.target() => {
                group.pieces.end = at + 1;
                fresh += piece.size;
                full += piece.size;
            }
            last => {
                let reach = match last {
                    Some(group) if !stop => group.reach,
                    _ => at,
                };
                let overlap = if stop { 0 } else { policy.overlap().min(fresh) };
                groups.push(Group {
                    pieces: at..at + 1,
                    reach,
                });
                fresh = piece.size;
                full = overlap + piece.size;
            }
        }
    }
    groups
}
