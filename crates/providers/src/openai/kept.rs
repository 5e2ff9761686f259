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
    /// Oldest first; may name vectors taken since.
    order: VecDeque<ContentHash>,
}

impl Kept {
    pub fn take(&self, text: &str) -> Option<Vec<f32>> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.vectors.is_empty() {
            return None;
        }
        inner.vectors.remove(&ContentHash::of(text.as_bytes()))
    }

    pub fn put(&self, text: &str, vector: Option<Vec<f32>>) {
        let Some(vector) = vector else { return };
        let hash = ContentHash::of(text.as_bytes());
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.vectors.insert(hash, vector);
        inner.order.push_back(hash);
        while inner.order.len() > MOST {
            let oldest = inner.order.pop_front().expect("not empty");
            inner.vectors.remove(&oldest);
        }
    }
}
