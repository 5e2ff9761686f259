//! Texts the service failed on while it took others.
//!
//! When it fails on them again, that says nothing new of the service. Bounded: beyond the
//! limit the oldest go.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use model::ContentHash;

const MOST: usize = 64;

#[derive(Default)]
pub struct Suspects(Mutex<VecDeque<ContentHash>>);

impl Suspects {
    pub fn add(&self, text: &str) {
        let (mut suspects, text) = (self.locked(), ContentHash::of(text.as_bytes()));
        suspects.retain(|suspect| *suspect != text);
        suspects.push_back(text);
        if suspects.len() > MOST {
            suspects.pop_front();
        }
    }

    /// Whether all of them are.
    pub fn are_all(&self, texts: &[&str]) -> bool {
        let suspects = self.locked();
        let is_one = |text: &&str| suspects.contains(&ContentHash::of(text.as_bytes()));
        !suspects.is_empty() && texts.iter().all(is_one)
    }

    fn locked(&self) -> MutexGuard<'_, VecDeque<ContentHash>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
