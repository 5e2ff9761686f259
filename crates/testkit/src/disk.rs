//! A disk that is full, read-only or without power: from a given write on, nothing reaches it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use object_store::{Error, ObjectStore, Result};

use crate::meddled::{Asked, Meddled, Meddler};

/// A store on a disk that takes so many writes and nothing more.
pub type Disk = Meddled<Room>;

#[derive(Debug)]
pub struct Room {
    left: AtomicUsize,
    refusal: fn(std::io::Error) -> Error,
    why: std::io::ErrorKind,
}

impl Disk {
    /// With room for everything, until [`leave`](Self::leave) says otherwise. How the store puts
    /// `why` decides whether who writes tries again.
    pub fn roomy(
        inner: Arc<dyn ObjectStore>,
        why: std::io::ErrorKind,
        refusal: fn(std::io::Error) -> Error,
    ) -> Arc<Self> {
        let left = AtomicUsize::new(usize::MAX);
        Self::new(inner, Room { left, refusal, why })
    }

    /// Takes that many more writes.
    pub fn leave(&self, writes: usize) {
        self.by.left.store(writes, Ordering::SeqCst);
    }
}

#[async_trait]
impl Meddler for Room {
    async fn before(&self, asked: Asked<'_>) -> Result<()> {
        if matches!(asked, Asked::Read(_)) {
            return Ok(());
        }
        let spend = |left: usize| left.checked_sub(1);
        let left = self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, spend);
        match left {
            Ok(_) => Ok(()),
            Err(_) => Err((self.refusal)(self.why.into())),
        }
    }
}
