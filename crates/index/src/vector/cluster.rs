//! Finds centroids: many at once when a space outgrows the scan, two when a
//! posting outgrows its size. No randomness: equal input gives equal centroids.

use crate::vector::code::Query;
use crate::vector::guide::Guide;
use crate::vector::simd;

const ROUNDS: usize = 6;
/// Vectors per centroid that are looked at; more add time, not quality.
pub const SAMPLE: usize = 32;
/// Rows up to this many are compared one by one: of few, the very closest counts.
const ONE_BY_ONE: usize = 256;
/// Rows a guide names for each vector while centroids are found, or one of so many.
const NEAREST: usize = 8;
const NEAREST_OF: usize = 128;

/// Rows of equal length, side by side, with half their squared lengths.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    dimensions: usize,
    values: Vec<f32>,
    halves: Vec<f32>,
}

impl Rows {
    pub fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            ..Self::default()
        }
    }

    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    pub fn len(&self) -> usize {
        self.halves.len()
    }

    pub fn row(&self, at: usize) -> &[f32] {
        &self.values[at * self.dimensions..(at + 1) * self.dimensions]
    }

    /// Half the squared length of a row.
    pub fn half(&self, at: usize) -> f32 {
        self.halves[at]
    }

    pub fn push(&mut self, row: &[f32]) {
        self.values.extend_from_slice(row);
        self.halves.push(simd::dot(row, row) / 2.0);
    }

    pub fn mean_of_first(&self, count: usize) -> Vec<f32> {
        mean_of(self, 0..count)
    }

    /// Replaces a row by another.
    pub fn set(&mut self, at: usize, row: &[f32]) {
        let start = at * self.dimensions;
        self.values[start..start + self.dimensions].copy_from_slice(row);
        self.halves[at] = simd::dot(row, row) / 2.0;
    }

    /// For each row, a number that is higher the closer it is to a vector.
    pub fn closeness(&self, vector: &[f32], into: &mut Vec<f32>) {
        simd::dots(&self.values, vector, into);
        into.iter_mut()
            .zip(&self.halves)
            .for_each(|(dot, half)| *dot -= half);
    }

    pub fn nearest(&self, vector: &[f32], scratch: &mut Vec<f32>) -> usize {
        self.closeness(vector, scratch);
        let best = scratch.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        best.map_or(0, |(at, _)| at)
    }
}

/// `count` centroids of the vectors.
pub fn many(vectors: &Rows, count: usize) -> Rows {
    let count = count.clamp(1, vectors.len().max(1));
    let mut centroids = Rows::new(vectors.dimensions);
    for at in 0..count {
        centroids.push(vectors.row(at * vectors.len() / count));
    }
    let all: Vec<usize> = (0..vectors.len()).collect();
    for _ in 0..ROUNDS {
        improve(vectors, &all, &mut centroids);
    }
    centroids
}

/// Finds the closest row for one vector after another.
pub struct Closest<'a> {
    rows: &'a Rows,
    guide: Option<Guide>,
    scratch: Vec<f32>,
}

impl<'a> Closest<'a> {
    pub fn of(rows: &'a Rows) -> Self {
        Self {
            rows,
            guide: Guide::to(rows, ONE_BY_ONE),
            scratch: Vec::new(),
        }
    }

    pub fn to(&mut self, vector: &[f32]) -> usize {
        let Some(guide) = &self.guide else {
            return self.rows.nearest(vector, &mut self.scratch);
        };
        let query = Query::new(vector);
        let count = NEAREST.max(self.rows.len() / NEAREST_OF);
        let near = guide.near(self.rows, (vector, &query), count, |_| true);
        near.first().map_or(0, |(_, at)| *at)
    }
}

/// One round of Lloyd's: assign, then move to the mean. A centroid nobody is
/// close to takes half of the fullest's members.
fn improve(vectors: &Rows, sample: &[usize], centroids: &mut Rows) {
    let mut members = vec![Vec::new(); centroids.len()];
    let mut closest = Closest::of(centroids);
    for &at in sample {
        members[closest.to(vectors.row(at))].push(at);
    }
    for centroid in 0..members.len() {
        if members[centroid].is_empty() {
            let fullest = (0..members.len()).max_by_key(|c| members[*c].len());
            let fullest = &mut members[fullest.unwrap_or(centroid)];
            // Every second one: whatever order they came in, the halves look alike.
            let taken = fullest.iter().copied().step_by(2).collect();
            *fullest = fullest.iter().copied().skip(1).step_by(2).collect();
            members[centroid] = taken;
        }
    }
    let filled = members.iter().enumerate().filter(|(_, m)| !m.is_empty());
    for (centroid, members) in filled {
        centroids.set(centroid, &mean_of(vectors, members.iter().copied()));
    }
}

fn mean_of(vectors: &Rows, members: impl Iterator<Item = usize>) -> Vec<f32> {
    let (mut sum, mut count) = (vec![0.0_f32; vectors.dimensions], 0.0_f32);
    for at in members {
        let row = vectors.row(at).iter();
        sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        count += 1.0;
    }
    sum.iter_mut().for_each(|sum| *sum /= count.max(1.0));
    sum
}

/// Parts vectors in two halves that lie apart; says which are in the second.
pub fn in_two(vectors: &Rows) -> (Rows, Vec<bool>) {
    let far = |from: usize| {
        let mut scratch = Vec::new();
        vectors.closeness(vectors.row(from), &mut scratch);
        let least = scratch.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
        least.map_or(0, |(at, _)| at)
    };
    let one = far(0);
    let mut centroids = Rows::new(vectors.dimensions);
    centroids.push(vectors.row(one));
    centroids.push(vectors.row(far(one)));
    let all: Vec<usize> = (0..vectors.len()).collect();
    for _ in 0..ROUNDS {
        improve(vectors, &all, &mut centroids);
    }
    let mut leaning: Vec<(f32, usize)> = Vec::new();
    let mut scratch = Vec::new();
    for at in 0..vectors.len() {
        centroids.closeness(vectors.row(at), &mut scratch);
        leaning.push((scratch[1] - scratch[0], at));
    }
    let mut second: Vec<bool> = leaning.iter().map(|(lean, _)| *lean > 0.0).collect();
    let seconds = second.iter().filter(|is| **is).count();
    // Equal or nearly equal vectors give no split: then the halves are cut by number.
    if seconds.min(vectors.len() - seconds) * 8 < vectors.len() {
        leaning.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (place, (_, at)) in leaning.iter().enumerate() {
            second[*at] = place >= vectors.len() / 2;
        }
    }
    (means(vectors, &second), second)
}

fn means(vectors: &Rows, second: &[bool]) -> Rows {
    let mut centroids = Rows::new(vectors.dimensions);
    for half in [false, true] {
        let mine = (0..vectors.len()).filter(|at| second[*at] == half);
        centroids.push(&mean_of(vectors, mine));
    }
    centroids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_heaps_are_told_apart_and_equal_vectors_still_part_evenly() {
        let mut rows = Rows::new(2);
        for at in 0..20 {
            let shift = if at % 2 == 0 { 0.0 } else { 10.0 };
            rows.push(&[shift + at as f32 * 0.01, shift]);
        }
        let (centroids, second) = in_two(&rows);
        assert_eq!(centroids.len(), 2);
        assert!((2..20).all(|at| second[at] == second[at % 2]));
        let mut same = Rows::new(2);
        (0..9).for_each(|_| same.push(&[1.0, 1.0]));
        let (_, second) = in_two(&same);
        assert_eq!(second.iter().filter(|is| **is).count(), 5);
    }
}
