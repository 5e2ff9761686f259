//! Finds centroids: many at once when a space outgrows the scan, two when a
//! posting outgrows its size. No randomness: equal input gives equal centroids.

use crate::vector::simd;

const ROUNDS: usize = 8;
/// Vectors per centroid that are looked at; more add time, not quality.
const SAMPLE: usize = 64;

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

    pub fn push(&mut self, row: &[f32]) {
        self.values.extend_from_slice(row);
        self.halves.push(simd::dot(row, row) / 2.0);
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
    let step = (vectors.len() / (count * SAMPLE)).max(1);
    let sample: Vec<usize> = (0..vectors.len()).step_by(step).collect();
    let mut centroids = Rows::new(vectors.dimensions);
    for at in 0..count {
        centroids.push(vectors.row(sample[at * sample.len() / count]));
    }
    for _ in 0..ROUNDS {
        improve(vectors, &sample, &mut centroids);
    }
    centroids
}

/// One round of Lloyd's: assign, then move to the mean. A centroid nobody is
/// close to takes a member of the fullest.
fn improve(vectors: &Rows, sample: &[usize], centroids: &mut Rows) {
    let dimensions = vectors.dimensions;
    let mut sums = vec![0.0_f32; centroids.len() * dimensions];
    let mut members = vec![Vec::new(); centroids.len()];
    let mut scratch = Vec::new();
    for &at in sample {
        let nearest = centroids.nearest(vectors.row(at), &mut scratch);
        members[nearest].push(at);
        let sum = &mut sums[nearest * dimensions..(nearest + 1) * dimensions];
        sum.iter_mut()
            .zip(vectors.row(at))
            .for_each(|(s, x)| *s += x);
    }
    for centroid in 0..centroids.len() {
        let count = members[centroid].len();
        if count == 0 {
            let fullest = (0..members.len()).max_by_key(|c| members[*c].len());
            let taken = fullest.and_then(|full| members[full].pop());
            taken
                .into_iter()
                .for_each(|at| centroids.set(centroid, vectors.row(at)));
        } else {
            let sum = &mut sums[centroid * dimensions..(centroid + 1) * dimensions];
            sum.iter_mut().for_each(|s| *s /= count as f32);
            centroids.set(centroid, sum);
        }
    }
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
        let mut sum = vec![0.0_f32; vectors.dimensions];
        let mine = || (0..vectors.len()).filter(|at| second[*at] == half);
        for at in mine() {
            sum.iter_mut()
                .zip(vectors.row(at))
                .for_each(|(s, x)| *s += x);
        }
        let count = mine().count().max(1) as f32;
        sum.iter_mut().for_each(|s| *s /= count);
        centroids.push(&sum);
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
