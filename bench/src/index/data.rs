//! Clustered, seeded vectors, queries of the same kind, and what an exact scan finds.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{DIMENSIONS, QUERIES, TOP};

pub struct Data {
    pub vectors: Vec<f32>,
    pub queries: Vec<f32>,
}

impl Data {
    /// A tenth as many clusters as a hundred vectors need; spread so that neighbours overlap.
    pub fn new(size: usize) -> Self {
        let mut rng = StdRng::seed_from_u64(size as u64);
        let centers: Vec<Vec<f32>> = (0..(size / 100).max(10))
            .map(|_| {
                (0..DIMENSIONS)
                    .map(|_| rng.random_range(-1.0_f32..1.0))
                    .collect()
            })
            .collect();
        let mut draw = |count: usize| {
            let mut all = Vec::with_capacity(count * DIMENSIONS);
            for _ in 0..count {
                let center = &centers[rng.random_range(0..centers.len())];
                let raw: Vec<f32> = center
                    .iter()
                    .map(|c| c + rng.random_range(-1.2..1.2))
                    .collect();
                let length = dot(&raw, &raw).sqrt();
                all.extend(raw.iter().map(|x| x / length));
            }
            all
        };
        Self {
            vectors: draw(size),
            queries: draw(QUERIES),
        }
    }

    pub fn vector(&self, at: usize) -> &[f32] {
        &self.vectors[at * DIMENSIONS..(at + 1) * DIMENSIONS]
    }

    pub fn queries(&self) -> impl Iterator<Item = &[f32]> {
        self.queries.chunks_exact(DIMENSIONS)
    }

    pub fn size(&self) -> usize {
        self.vectors.len() / DIMENSIONS
    }

    /// For each query the places of the best among those that pass.
    pub fn truth(&self, passes: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        let of = |query: &[f32]| {
            let mut all: Vec<(f32, usize)> = (0..self.size())
                .filter(|at| passes(*at))
                .map(|at| (dot(self.vector(at), query), at))
                .collect();
            all.select_nth_unstable_by(TOP, |a, b| b.0.total_cmp(&a.0));
            all.truncate(TOP);
            all.into_iter().map(|(_, at)| at).collect()
        };
        self.queries().map(of).collect()
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    for (a, b) in a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0) {
        for lane in 0..16 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum()
}
