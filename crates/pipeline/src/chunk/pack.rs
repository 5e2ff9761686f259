//! Which pieces make a chunk, by strategy.

use std::ops::Range;

use model::hash::short;
use model::{ChunkPolicy, Unit};

use crate::chunk::piece::Piece;
use crate::chunk::sections;
use crate::cut::{self, Place, Sizes};
use crate::units::LASTING;

/// Pieces that become one chunk, and how far back its overlap may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub pieces: Range<usize>,
    pub reach: usize,
}

impl Group {
    /// Where its overlap begins, and the size of that: whole pieces, as far back as the policy says.
    pub fn overlap(&self, pieces: &[Piece], policy: ChunkPolicy) -> (usize, usize) {
        let own: usize = pieces[self.pieces.clone()].iter().map(|p| p.size).sum();
        let most = policy.overlap().min(policy.max().saturating_sub(own));
        let mut start = self.pieces.start;
        let mut taken = 0;
        while start > self.reach && taken + pieces[start - 1].size <= most {
            start -= 1;
            taken += pieces[start].size;
        }
        (start, taken)
    }
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

/// Parts come out at about two thirds of the limit; half the overlap fits beside the fullest.
fn sizes(policy: ChunkPolicy) -> Sizes {
    let limit = (policy.target() * 4 / 3).min(policy.max() - policy.overlap() / 2);
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
    let chosen = cut::choose_nearby(&places, 0..whole, sizes);
    let ends = chosen.iter().map(|at| run.start + 1 + at).chain([run.end]);
    let lasting = Lasting::new(&places, &pieces[run.clone()]);
    let (mut start, mut reach) = (run.start, run.start);
    let mut groups = Vec::with_capacity(chosen.len() + 1);
    for end in ends {
        let pieces = start..end;
        groups.push(Group { pieces, reach });
        if end < run.end && lasting.is_at(end - run.start - 1) {
            reach = end;
        }
        start = end;
    }
    groups
}

/// The places where a unit might as well begin. Nothing is repeated across them: if one begins
/// there some day, because the text has grown elsewhere, the chunk stays as it is.
struct Lasting {
    places: Vec<Place>,
    whole: Range<u64>,
}

impl Lasting {
    /// By bytes, as units are cut.
    fn new(places: &[Place], pieces: &[Piece]) -> Self {
        let at = |piece: &Piece| piece.bytes.start as u64;
        let ends = pieces.first().map_or(0, at)..pieces.last().map_or(0, |p| p.bytes.end as u64);
        let long = ends.end - ends.start >= 2 * LASTING;
        let places = places.iter().zip(pieces.iter().skip(1)).filter(|_| long);
        Self {
            places: places
                .map(|(place, piece)| Place {
                    at: at(piece),
                    ..*place
                })
                .collect(),
            whole: ends,
        }
    }

    fn is_at(&self, place: usize) -> bool {
        !self.places.is_empty() && cut::stands_out(&self.places, place, &self.whole, LASTING)
    }
}

/// Where an atom begins, the hash that chooses among units' cuts chooses among chunks': a unit
/// that outgrew its bound is cut where a chunk began before, and its chunks stay as they are.
fn hash(unit: &Unit, piece: &Piece) -> u64 {
    let text = || unit.text[piece.bytes.clone()].as_bytes();
    piece.opens.unwrap_or_else(|| short([text()]))
}

/// One piece after another until the target is reached, with the overlap that is really taken.
pub(super) fn greedy(
    pieces: &[Piece],
    policy: ChunkPolicy,
    breaks: impl Fn(&Piece) -> bool,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut full = 0;
    for (at, piece) in pieces.iter().enumerate() {
        let stop = piece.parted || breaks(piece);
        match groups.last_mut() {
            Some(group) if !stop && full + piece.size <= policy.target() => {
                group.pieces.end = at + 1;
                full += piece.size;
            }
            last => {
                let reach = match last {
                    Some(group) if !stop => group.reach,
                    _ => at,
                };
                let group = Group {
                    pieces: at..at + 1,
                    reach,
                };
                let (_, overlap) = group.overlap(pieces, policy);
                full = overlap + piece.size;
                groups.push(group);
            }
        }
    }
    groups
}
