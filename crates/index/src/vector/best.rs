//! The highest few of many numbers, without keeping the many.

/// Holds the highest `count` seen so far and up to as many more, so that most
/// numbers cost one comparison and the rest are sorted out a whole load at a time.
#[derive(Debug)]
pub struct Best<T> {
    count: usize,
    held: Vec<(f32, T)>,
    floor: f32,
}

impl<T: Copy> Best<T> {
    pub fn new(count: usize) -> Self {
        Self {
            count,
            held: Vec::with_capacity(2 * count),
            floor: f32::NEG_INFINITY,
        }
    }

    /// What a number must exceed to be among them, as far as is known.
    pub fn floor(&self) -> f32 {
        self.floor
    }

    pub fn push(&mut self, score: f32, what: T) {
        if score > self.floor && self.count > 0 {
            self.held.push((score, what));
            if self.held.len() == 2 * self.count {
                self.sort_out();
            }
        }
    }

    fn sort_out(&mut self) {
        if self.held.len() > self.count {
            let by_score = |a: &(f32, T), b: &(f32, T)| b.0.total_cmp(&a.0);
            self.held.select_nth_unstable_by(self.count, by_score);
            self.held.truncate(self.count);
        }
        if self.held.len() == self.count {
            let least = self.held.iter().map(|(score, _)| *score);
            self.floor = least.fold(f32::INFINITY, f32::min);
        }
    }

    /// The least of the highest `count`, once there are as many.
    pub fn settle(&mut self) -> f32 {
        self.sort_out();
        self.floor
    }

    /// The highest, in no order.
    pub fn into_held(mut self) -> Vec<(f32, T)> {
        self.sort_out();
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::rotate::split_mix;

    #[test]
    fn the_highest_are_kept_and_the_floor_is_the_least_of_them() {
        for count in [0, 1, 3, 50, 500] {
            let mut state = 5;
            let mut all: Vec<f32> = (0..200)
                .map(|_| (split_mix(&mut state) >> 40) as f32)
                .collect();
            let mut best = Best::new(count);
            all.iter().for_each(|score| best.push(*score, ()));
            all.sort_unstable_by(|a, b| b.total_cmp(a));
            all.truncate(count);
            if count > 0 && count <= 200 {
                assert_eq!(best.settle(), all[count - 1]);
            }
            let mut kept: Vec<f32> = best.into_held().iter().map(|(score, ())| *score).collect();
            kept.sort_unstable_by(|a, b| b.total_cmp(a));
            assert_eq!(kept, all);
        }
    }
}
