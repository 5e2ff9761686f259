//! Reciprocal-rank fusion: a chunk scores `weight / (60 + rank)` in each leg that found it.
//!
//! Ranks, not scores, are added: a cosine and a BM25 score have no common scale.

use std::collections::BTreeMap;

use model::ChunkId;
use serde::{Deserialize, Serialize};

/// What each leg counts for; 0 leaves a leg out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    pub vector: f64,
    pub text: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            vector: 1.0,
            text: 1.0,
        }
    }
}

/// Where a leg had the chunk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// Counted from 1.
    pub rank: usize,
    pub score: f32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fused {
    pub id: ChunkId,
    pub score: f64,
    pub vector: Option<Leg>,
    pub text: Option<Leg>,
}

/// Damps the lead of the first ranks; the value of the paper that proposed the method.
const DAMPING: f64 = 60.0;

/// One ranking of both legs, each best first. Ties are broken by place, so that a data folder gives
/// the same order every time; a place begins with its version, so what was taken in first is first.
pub fn fuse(vector: &[(ChunkId, f32)], text: &[(ChunkId, f32)], weights: Weights) -> Vec<Fused> {
    let mut found: BTreeMap<&ChunkId, Fused> = BTreeMap::new();
    let legs = [(vector, weights.vector, true), (text, weights.text, false)];
    for (hits, weight, is_vector) in legs {
        if weight <= 0.0 {
            continue;
        }
        for (id, leg) in ranked(hits) {
            let fused = found.entry(id).or_insert_with(|| Fused {
                id: id.clone(),
                score: 0.0,
                vector: None,
                text: None,
            });
            let slot = if is_vector {
                &mut fused.vector
            } else {
                &mut fused.text
            };
            if slot.is_none() {
                *slot = Some(leg);
                fused.score += weight / (DAMPING + leg.rank as f64);
            }
        }
    }
    let mut fused: Vec<Fused> = found.into_values().collect();
    fused.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    fused
}

/// Equal scores share a rank, so that the order in which a leg lists them decides nothing.
fn ranked(hits: &[(ChunkId, f32)]) -> impl Iterator<Item = (&ChunkId, Leg)> {
    let mut rank = 0;
    hits.iter().enumerate().map(move |(at, (id, score))| {
        if at == 0 || hits[at - 1].1 != *score {
            rank = at + 1;
        }
        let score = *score;
        (id, Leg { rank, score })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{UnitName, VersionId};

    fn id(ordinal: u32) -> ChunkId {
        ChunkId {
            version: VersionId::from_uuid(uuid::Uuid::from_u128(7)),
            unit: UnitName::new("start").unwrap(),
            ordinal,
        }
    }

    fn order(fused: &[Fused]) -> Vec<u32> {
        fused.iter().map(|hit| hit.id.ordinal).collect()
    }

    #[test]
    fn what_both_legs_found_comes_before_what_one_found_better() {
        let vector = [(id(1), 0.9), (id(2), 0.8)];
        let text = [(id(3), 12.0), (id(2), 11.0)];
        let fused = fuse(&vector, &text, Weights::default());
        assert_eq!(order(&fused), [2, 1, 3]);
        assert_eq!(
            fused[0].vector,
            Some(Leg {
                rank: 2,
                score: 0.8
            })
        );
        assert_eq!(fused[1].text, None);
    }

    #[test]
    fn ties_are_broken_by_place_however_a_leg_lists_them() {
        let one = fuse(&[(id(5), 0.5), (id(4), 0.5)], &[], Weights::default());
        let other = fuse(&[(id(4), 0.5), (id(5), 0.5)], &[], Weights::default());
        assert_eq!(one, other);
        assert_eq!(order(&one), [4, 5]);
    }

    #[test]
    fn a_leg_of_no_weight_is_left_out() {
        let weights = Weights {
            vector: 0.0,
            text: 1.0,
        };
        let fused = fuse(&[(id(1), 0.9)], &[(id(2), 3.0)], weights);
        assert_eq!(order(&fused), [2]);
    }
}
