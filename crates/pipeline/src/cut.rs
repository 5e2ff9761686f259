//! Where to cut something long, so that an edit moves only the cuts beside it.
//!
//! In: the places where a cut may be made, each with a rank and a hash of what
//! follows it. Out: the places chosen. The strongest place divides the whole, the
//! strongest of each part divides that part, until every part fits. What decides
//! is content, not distance from the beginning: parts that do not hold the edit
//! are divided as they were before. Where parts are to be as stable as can be, a
//! place stronger than all its neighbours is a cut before anything is divided: an
//! edit out of its sight cannot move it.

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

impl Place {
    /// The least is the strongest.
    pub(crate) fn strength(&self) -> (u8, u64) {
        (self.rank, self.hash)
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Sizes {
    /// A part no larger is left whole.
    pub limit: u64,
    /// A part is not made smaller where another cut will do.
    pub floor: u64,
    /// Whether what two parts can hold is rather cut in two than where it is strongest: fuller
    /// parts, and now and then an edit changes both of them.
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

/// As [`choose`], for parts as stable as can be: a place that stands out is chosen whatever else
/// is, and what lies between two of them is divided until it fits.
pub(crate) fn choose_nearby(places: &[Place], whole: Range<u64>, sizes: Sizes) -> Vec<usize> {
    if whole.end - whole.start <= sizes.limit {
        return Vec::new();
    }
    let reach = sizes.limit * 9 / 20;
    let standing_out = |at: &usize| stands_out(places, *at, &whole, reach);
    let standing_out = (0..places.len()).filter(standing_out).collect();
    fill(places, whole, sizes, standing_out)
}

/// As [`choose`], at places that stand out within `reach` wherever these will do: somebody else who
/// sees no more than that of the surroundings knows where cuts may be.
pub(crate) fn choose_lasting(
    places: &[Place],
    whole: Range<u64>,
    sizes: Sizes,
    reach: u64,
) -> Vec<usize> {
    let lasting: Vec<usize> = (0..places.len())
        .filter(|at| stands_out(places, *at, &whole, reach))
        .collect();
    let among: Vec<Place> = lasting.iter().map(|at| places[*at]).collect();
    let chosen = choose(&among, whole.clone(), sizes).into_iter();
    fill(places, whole, sizes, chosen.map(|at| lasting[at]).collect())
}

/// These places, and what divides the parts between them until they fit.
fn fill(places: &[Place], whole: Range<u64>, sizes: Sizes, given: Vec<usize>) -> Vec<usize> {
    let mut chosen = Vec::new();
    let mut rest = (0, whole.start);
    for at in given {
        let between = choose(&places[rest.0..at], rest.1..places[at].at, sizes);
        chosen.extend(between.into_iter().map(|inner| rest.0 + inner));
        chosen.push(at);
        rest = (at + 1, places[at].at);
    }
    let last = choose(&places[rest.0..], rest.1..whole.end, sizes);
    chosen.extend(last.into_iter().map(|inner| rest.0 + inner));
    chosen
}

/// Whether nothing within reach is stronger. The ends of the whole are stronger than any place: a
/// whole that is cut in two at a place that stands out is divided as it was in one. Both sides
/// are looked at in turn and only up to what is stronger: that takes n log n steps for all places
/// together, in whatever order they come.
pub(crate) fn stands_out(places: &[Place], at: usize, whole: &Range<u64>, reach: u64) -> bool {
    let here = &places[at];
    if (here.at - whole.start).min(whole.end - here.at) < reach {
        return false;
    }
    let near = |other: &&Place| other.at.abs_diff(here.at) < reach;
    let mut before = places[..at].iter().rev().take_while(near);
    let mut after = places[at + 1..].iter().take_while(near);
    loop {
        let (left, right) = (before.next(), after.next());
        if left.is_none() && right.is_none() {
            return true;
        }
        // The first of equals stands out.
        let below = left.is_some_and(|left| left.strength() <= here.strength());
        if below || right.is_some_and(|right| right.strength() < here.strength()) {
            return false;
        }
    }
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
        let halves = |left: u64, right: u64| sizes.halve && left.max(right) <= sizes.limit;
        let ample = |left: u64, right: u64| left.min(right) >= sizes.floor;
        self.strongest(places, |left, right| {
            halves(left, right) && ample(left, right)
        })
        .or_else(|| self.strongest(places, ample))
        .or_else(|| self.strongest(places, halves))
        .or_else(|| self.strongest(places, |left, right| left.min(right) > 0))
    }

    /// Content decides, and the middle only between equals.
    fn strongest(&self, places: &[Place], fits: impl Fn(u64, u64) -> bool) -> Option<usize> {
        let off = |at: usize| self.off_centre(&places[at]);
        let fitting = self.fitting(places, fits);
        if self.depth > DEEPEST {
            return fitting.min_by_key(|&at| off(at));
        }
        fitting.min_by_key(|&at| (places[at].strength(), off(at)))
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

#[cfg(test)]
mod tests {
    use model::hash::short;

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
        let places = evenly(1000, |n| short([&n.to_be_bytes()[..]]));
        for choose in [choose, choose_nearby] {
            all_fit(&places, &choose(&places, 0..10_000, SIZES));
        }
    }

    fn all_fit(places: &[Place], chosen: &[usize]) {
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
        for choose in [choose, choose_nearby] {
            let chosen = choose(&places, 0..200_000, SIZES);
            assert!(chosen.len() < 4_000);
        }
    }

    #[test]
    fn a_stronger_place_is_cut_before_a_weaker_one() {
        let mut places = evenly(30, |n| short([&n.to_be_bytes()[..]]));
        for place in &mut places {
            place.rank = if place.at == 150 { 0 } else { 1 };
        }
        let chosen = choose(&places, 0..300, SIZES);
        assert!(chosen.iter().any(|&at| places[at].at == 150));
    }
}
