//! Vectors already paid for, of calls that failed afterwards.
//!
//! Taken out when the call is tried again. Bounded: beyond the limit the oldest go,
//! and are merely asked for once more.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use model::ContentHash;

const MOST: usize = 4096;

#[derive(Default)]
pub struct Kept {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    vectors: HashMap<ContentHash, Vec<f32>>,
    /// Oldest first.
    order: VecDeque<ContentHash>,
}

impl Kept {
    pub fn take(&self, text: &str) -> Option<Vec<f32>> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.vectors.is_empty() {
            return None;
        }
        let hash = ContentHash::of(text.as_bytes());
        let vector = inner.vectors.remove(&hash)?;
        // Put back, it is young again.
        inner.order.retain(|known| *known != hash);
        Some(vector)
    }

    pub fn put(&self, text: &str, vector: Option<Vec<f32>>) {
        let Some(vector) = vector else { return };
        let hash = ContentHash::of(text.as_bytes());
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.vectors.insert(hash, vector).is_none() {
            inner.order.push_back(hash);
        }
        while inner.order.len() > MOST {
            let oldest = inner.order.pop_front().expect("not empty");
            inner.vectors.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_and_put_back_again_and_again_is_kept() {
        let kept = Kept::default();
        for _ in 0..2 * MOST {
            kept.put("old", Some(vec![1.0]));
            assert_eq!(kept.take("old"), Some(vec![1.0]));
        }
        kept.put("old", Some(vec![1.0]));
        for n in 1..MOST {
            kept.put(&n.to_string(), Some(vec![2.0]));
        }
        assert_eq!(kept.take("old"), Some(vec![1.0]));
        assert_eq!(kept.take("old"), None);
    }
}
