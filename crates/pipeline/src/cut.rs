//! Where to cut something long, so that an edit moves only the cuts beside it.
//!
//! In: the places where a cut may be made, each with a rank and a hash of what
//! follows it. Out: the places chosen. The strongest place divides the whole, the
//! strongest of each part divides that part, until every part fits. What decides
//! is content, not distance from the beginning: parts that do not hold the edit
//! are divided as they were before.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A place where a cut may be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// How much stands before it, in whatever is being measured; ascending.
    pub at: u64,
    /// 0 is where one would rather cut than anywhere else.
    pub rank: u8,
    /// Of the content that begins here.
    pub hash: u64,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Sizes {
    /// A part no larger is left whole.
    pub limit: u64,
    /// A part is not made smaller where another cut will do.
    pub floor: u64,
    /// Whether what two parts can hold is cut near its middle: fuller parts, and an edit changes
    /// both of them.
    pub halve: bool,
}

/// Hashes ascending with their position would make each cut shave off one part. Random ones
/// never come near this depth; past it a part is halved, so no document costs more than n log n.
const DEEPEST: u32 = 48;

/// Indices of the chosen places, ascending. A part without a place to cut stays larger than the limit.
pub(crate) fn choose(places: &[Place], whole: Range<u64>, sizes: Sizes) -> Vec<usize> {
    let mut chosen = Vec::new();
    let mut parts = vec![Part {
        places: 0..places.len(),
        extent: whole,
        depth: 0,
    }];
    while let Some(part) = parts.pop() {
        if let Some(at) = part.cut(places, sizes) {
            chosen.push(at);
            parts.extend(part.divide(places, at));
        }
    }
    chosen.sort_unstable();
    chosen
}

struct Part {
    places: Range<usize>,
    extent: Range<u64>,
    depth: u32,
}

impl Part {
    fn size(&self) -> u64 {
        self.extent.end - self.extent.start
    }

    fn cut(&self, places: &[Place], sizes: Sizes) -> Option<usize> {
        if self.size() <= sizes.limit {
            return None;
        }
        let halves = sizes.halve && self.size() <= 2 * sizes.limit;
        self.best(places, |left, right| {
            halves && left.max(right) <= sizes.limit
        })
        .or_else(|| self.strongest(places, |left, right| left.min(right) >= sizes.floor))
        .or_else(|| self.strongest(places, |left, right| left.min(right) > 0))
    }

    /// Two parts are enough: the best-ranked place nearest the middle.
    fn best(&self, places: &[Place], fits: impl Fn(u64, u64) -> bool) -> Option<usize> {
        self.fitting(places, fits)
            .min_by_key(|&at| (places[at].rank, self.off_centre(&places[at])))
    }

    /// Many parts are to come: content decides, and the middle only between equals.
    fn strongest(&self, places: &[Place], fits: impl Fn(u64, u64) -> bool) -> Option<usize> {
        let off = |at: usize| self.off_centre(&places[at]);
        let fitting = self.fitting(places, fits);
        if self.depth > DEEPEST {
            return fitting.min_by_key(|&at| off(at));
        }
        fitting.min_by_key(|&at| (places[at].rank, places[at].hash, off(at)))
    }

    fn fitting(
        &self,
        places: &[Place],
        fits: impl Fn(u64, u64) -> bool,
    ) -> impl Iterator<Item = usize> {
        self.places.clone().filter(move |&at| {
            let at = places[at].at;
            fits(at - self.extent.start, self.extent.end - at)
        })
    }

    fn off_centre(&self, place: &Place) -> u64 {
        (place.at - self.extent.start).abs_diff(self.extent.end - place.at)
    }

    fn divide(&self, places: &[Place], at: usize) -> [Self; 2] {
        let Range { start, end } = self.extent;
        let half = |places, extent| Self {
            places,
            extent,
            depth: self.depth + 1,
        };
        [
            half(self.places.start..at, start..places[at].at),
            half(at + 1..self.places.end, places[at].at..end),
        ]
    }
}

/// FNV-1a with its bits stirred at the end: stable across builds and machines, which
/// the standard library's hasher does not promise.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325_u64;
    for &byte in bytes {
        h = (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes {
        limit: 100,
        floor: 30,
        halve: true,
    };

    fn evenly(count: u64, hash: impl Fn(u64) -> u64) -> Vec<Place> {
        let place = |n| Place {
            at: n * 10,
            rank: 0,
            hash: hash(n),
        };
        (1..count).map(place).collect()
    }

    #[test]
    fn every_part_fits_and_none_is_a_crumb() {
        let places = evenly(1000, |n| super::hash(&n.to_be_bytes()));
        let chosen = choose(&places, 0..10_000, SIZES);
        let mut ends: Vec<u64> = chosen.iter().map(|&at| places[at].at).collect();
        ends.push(10_000);
        let mut from = 0;
        for end in ends {
            assert!((30..=100).contains(&(end - from)), "{from}..{end}");
            from = end;
        }
    }

    #[test]
    fn hashes_in_order_do_not_make_cutting_slow_or_parts_tiny() {
        let places = evenly(20_000, |n| n);
        let chosen = choose(&places, 0..200_000, SIZES);
        assert!(chosen.len() < 4_000);
    }

    #[test]
    fn a_stronger_place_is_cut_before_a_weaker_one() {
        let mut places = evenly(30, |n| super::hash(&n.to_be_bytes()));
        for place in &mut places {
            place.rank = if place.at == 150 { 0 } else { 1 };
        }
        let chosen = choose(&places, 0..300, SIZES);
        assert!(chosen.iter().any(|&at| places[at].at == 150));
    }
}
