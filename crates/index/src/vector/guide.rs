//! Which of many rows are near a vector: guessed by codes, then compared exactly.

use crate::vector::best::Best;
use crate::vector::cluster::Rows;
use crate::vector::code::{Codes, Query, Under};
use crate::vector::simd;

/// Rows on their way while one is compared.
const AHEAD: usize = 4;

/// Codes of rows, under the mean of all or of the first of them.
#[derive(Debug, Clone)]
pub struct Guide {
    codes: Codes,
    mean: Vec<f32>,
}

impl Guide {
    /// A guide to these rows, if there are more than are better compared one by one.
    pub fn to(rows: &Rows, one_by_one: usize) -> Option<Self> {
        (rows.len() > one_by_one).then(|| Self::under(rows.mean_of_first(rows.len()), rows))
    }

    /// As [`to`](Self::to), for rows that become more: the guide is the same whether they came
    /// one by one or were all there. So its mean is that of the fewest rows with a guide.
    pub fn growing(rows: &Rows, one_by_one: usize) -> Option<Self> {
        (rows.len() > one_by_one).then(|| Self::under(rows.mean_of_first(one_by_one + 1), rows))
    }

    fn under(mean: Vec<f32>, rows: &Rows) -> Self {
        let mut guide = Self {
            codes: Codes::default(),
            mean,
        };
        (0..rows.len()).for_each(|at| guide.push(rows, at));
        guide
    }

    /// Takes the next row in. What is guessed is the closeness: the inner product less half
    /// the row's squared length.
    pub fn push(&mut self, rows: &Rows, at: usize) {
        self.codes.push(at as u32, 0, rows.row(at), &self.mean);
        self.codes.shift_last(-rows.half(at));
    }

    /// About the closest `count` of the rows that are admitted, closest first.
    pub fn near(
        &self,
        rows: &Rows,
        (vector, query): (&[f32], &Query),
        count: usize,
        admits: impl Fn(usize) -> bool,
    ) -> Vec<(f32, usize)> {
        let under = Under {
            base: simd::dot(vector, &self.mean),
            distance: 0.0,
            doubt: 0.0,
        };
        let mut near = Best::new(count);
        let all = f32::NEG_INFINITY;
        self.codes
            .guess(query, under, rows.len(), all, |at, guess, _| {
                if admits(at) {
                    near.push(guess, at);
                }
                near.floor()
            });
        let guessed = near.into_held();
        guessed
            .iter()
            .take(AHEAD)
            .for_each(|(_, at)| simd::ahead(rows.row(*at)));
        let mut near = Vec::with_capacity(guessed.len());
        for (place, (_, at)) in guessed.iter().enumerate() {
            if let Some((_, next)) = guessed.get(place + AHEAD) {
                simd::ahead(rows.row(*next));
            }
            near.push((simd::dot(rows.row(*at), vector) - rows.half(*at), *at));
        }
        near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        near
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::rotate::{Rotation, split_mix};

    #[test]
    fn the_closest_row_is_nearly_always_among_the_few_it_names() {
        let (mut state, dimensions) = (11, 128);
        let rotation = Rotation::new(dimensions);
        let mut draw = || {
            let random = |state: &mut u64| (split_mix(state) >> 40) as f32 / (1 << 24) as f32;
            let raw: Vec<f32> = (0..dimensions).map(|_| random(&mut state)).collect();
            rotation.apply(&raw)
        };
        let mut rows = Rows::new(dimensions);
        (0..600).for_each(|_| rows.push(&draw()));
        let guide = Guide::to(&rows, 256).unwrap();
        let (mut found, mut scratch) = (0, Vec::new());
        for _ in 0..100 {
            let vector = draw();
            let query = Query::new(&vector);
            let near = guide.near(&rows, (&vector, &query), 48, |_| true);
            let closest = rows.nearest(&vector, &mut scratch);
            found += usize::from(near.first().is_some_and(|(_, at)| *at == closest));
        }
        assert!(found >= 90, "{found}");
    }
}
