//! The passages of one knowledge base and model on their way: the open batch, and who waits.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use model::ContentHash;
use pipeline::batch::{Answer as Pushed, Batch, BatchLimits, Batcher, Item, Passage, Reason};
use tokio::sync::oneshot;

use super::Answer;

pub(super) struct Lane {
    batcher: Batcher<Passage>,
    /// By what the model is given: whoever else asks for that waits for the same vector.
    waiting: HashMap<ContentHash, Vec<oneshot::Sender<Answer>>>,
    /// Vectors of the last inputs, oldest first.
    recent: HashMap<ContentHash, Arc<[f32]>>,
    recent_order: VecDeque<ContentHash>,
    last_used: Duration,
}

/// Duplicates are recognised, and their vectors kept, this many inputs back.
pub(super) const WINDOW: usize = 1024;

impl Lane {
    pub(super) fn new(limits: BatchLimits) -> Self {
        Self {
            batcher: Batcher::new(limits),
            waiting: HashMap::new(),
            recent: HashMap::new(),
            recent_order: VecDeque::new(),
            last_used: Duration::ZERO,
        }
    }

    /// Whether an input is neither known nor under way. If it is, that answer serves this one,
    /// of whichever document it is: files of one origin share whole chunks.
    pub(super) fn is_new(
        &mut self,
        input: ContentHash,
        answered: Option<Arc<[f32]>>,
        reply: oneshot::Sender<Answer>,
    ) -> bool {
        if let Some(vector) = answered.or_else(|| self.recent.get(&input).cloned()) {
            let _ = reply.send(Ok(vector));
            return false;
        }
        let waiting = self.waiting.entry(input).or_default();
        waiting.push(reply);
        waiting.len() == 1
    }

    pub(super) fn use_at(&mut self, now: Duration) {
        self.last_used = now;
    }

    pub(super) fn last_used(&self) -> Duration {
        self.last_used
    }

    pub(super) fn push(&mut self, passage: Passage, now: Duration) -> Vec<Batch<Passage>> {
        let pushed = self.batcher.push(passage, now);
        debug_assert_eq!(pushed.answer, Pushed::Taken, "neither recent nor under way");
        pushed.closed
    }

    /// What closed by it; the rest may leave with the reason it left with before.
    pub(super) fn push_again(
        &mut self,
        passages: Vec<Passage>,
        reason: Reason,
        now: Duration,
    ) -> Vec<Batch<Passage>> {
        let mut closed = Vec::new();
        for passage in passages {
            let document = passage.document().to_owned();
            closed.extend(self.push(passage, now));
            self.end(&document, reason);
        }
        closed
    }

    /// Nothing more of a document comes for now.
    pub(super) fn end(&mut self, document: &str, reason: Reason) {
        self.batcher.leave_document(document, reason);
    }

    /// Something is in the open batch.
    pub(super) fn is_filling(&self) -> bool {
        !self.batcher.is_empty()
    }

    /// Why the open batch may leave, where it may.
    pub(super) fn may_leave(&self) -> Option<Reason> {
        self.batcher.may_leave()
    }

    /// Until when the open batch would wait.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.batcher.deadline()
    }

    /// A batch came to nothing.
    pub(super) fn forget(&mut self, batch: &Batch<Passage>) {
        self.batcher.forget(batch);
    }

    pub(super) fn close(&mut self, reason: Reason) -> Option<Batch<Passage>> {
        self.batcher.take(reason)
    }

    pub(super) fn answer(&mut self, input: ContentHash, vector: Arc<[f32]>) {
        for reply in self.waiting.remove(&input).into_iter().flatten() {
            // Whoever waited may be gone: its lease was lost.
            let _ = reply.send(Ok(vector.clone()));
        }
        if self.recent.insert(input, vector).is_none() {
            self.recent_order.push_back(input);
        }
        while self.recent_order.len() > WINDOW {
            if let Some(oldest) = self.recent_order.pop_front() {
                self.recent.remove(&oldest);
            }
        }
    }

    pub(super) fn fail(&mut self, passages: &[Passage], error: providers::Error) {
        let error = Arc::new(error);
        for passage in passages {
            let waiting = self.waiting.remove(&passage.input_hash);
            for reply in waiting.into_iter().flatten() {
                let _ = reply.send(Err(error.clone()));
            }
        }
    }

    /// Nobody waits for anything of it.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
}
