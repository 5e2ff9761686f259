//! Which batch leaves next, and who gets its vectors: no task, no clock.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pipeline::batch::{Batch, BatchKey, BatchLimits, Counts, Item, Passage, Reason};
use providers::ModelInfo;

use super::lane::Lane;
use super::unindexed::Unindexed;
use super::{Done, Request, Settings, locked};

pub(super) struct Desk {
    limits: BatchLimits,
    lanes: HashMap<BatchKey, Lane>,
    /// Closed, in the order they closed.
    ready: VecDeque<(BatchKey, Batch<Passage>)>,
    counts: Arc<Mutex<Counts>>,
    unindexed: Arc<Mutex<Unindexed>>,
}

/// So many knowledge bases nobody waits for keep their vectors.
const IDLE_LANES: usize = 16;

impl Desk {
    pub(super) fn new(
        settings: Settings,
        info: &ModelInfo,
        (counts, unindexed): (Arc<Mutex<Counts>>, Arc<Mutex<Unindexed>>),
    ) -> Self {
        let defaults = BatchLimits::default();
        Self {
            limits: BatchLimits {
                tokens: info.max_batch_tokens.min(defaults.tokens),
                items: info.max_batch_items.min(defaults.items),
                quiet: settings.quiet,
                // Duplicates are told here, where their vectors are.
                window: 0,
            },
            lanes: HashMap::new(),
            ready: VecDeque::new(),
            counts,
            unindexed,
        }
    }

    pub(super) fn take_in(&mut self, request: Request, now: Duration) {
        let Request {
            key,
            passage,
            ends,
            reply,
        } = request;
        let lane = self.lanes.entry(key.clone());
        let lane = lane.or_insert_with(|| Lane::new(self.limits));
        lane.use_at(now);
        let ends = ends.map(|reason| (passage.document().to_owned(), reason));
        let answered = locked(&self.unindexed).get(key.tenant, passage.input_hash);
        if lane.is_new(passage.input_hash, answered, reply) {
            let closed = lane.push(passage, now).into_iter();
            self.ready.extend(closed.map(|batch| (key.clone(), batch)));
        } else {
            locked(&self.counts).duplicates += 1;
        }
        if let Some((document, reason)) = ends {
            lane.end(&document, reason);
        }
    }

    /// A full batch, or one that only waited for the model to be free.
    pub(super) fn next_batch(&mut self) -> Option<(BatchKey, Batch<Passage>)> {
        let ready = self.ready.pop_front();
        let (key, batch) = ready.or_else(|| self.close_oldest())?;
        Some(self.leaves(key, batch))
    }

    /// A batch that waiting would not fill further.
    pub(super) fn next_full(&mut self) -> Option<(BatchKey, Batch<Passage>)> {
        let (key, batch) = self.ready.pop_front()?;
        Some(self.leaves(key, batch))
    }

    fn leaves(&self, key: BatchKey, batch: Batch<Passage>) -> (BatchKey, Batch<Passage>) {
        locked(&self.counts).closed(&batch);
        tracing::debug!(
            tenant_id = %key.tenant,
            kb = %key.kb,
            batch_id = %batch.id,
            reason = batch.reason.name(),
            items = batch.items.len(),
            tokens = batch.tokens,
            "batch leaves"
        );
        (key, batch)
    }

    fn close_oldest(&mut self) -> Option<(BatchKey, Batch<Passage>)> {
        let (key, lane) = self
            .lanes
            .iter_mut()
            .filter(|(_, lane)| lane.may_leave().is_some())
            .min_by_key(|(_, lane)| lane.deadline())?;
        let reason = lane.may_leave()?;
        Some((key.clone(), lane.close(reason)?))
    }

    pub(super) fn has_batches(&self) -> bool {
        !self.ready.is_empty() || self.lanes.values().any(Lane::is_filling)
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        self.lanes.values().filter_map(Lane::deadline).min()
    }

    pub(super) fn close_quiet(&mut self, now: Duration) {
        self.close_where(Reason::Time, |lane| {
            lane.deadline().is_some_and(|at| at <= now)
        });
    }

    pub(super) fn close_all(&mut self) {
        self.close_where(Reason::Drain, |_| true);
    }

    fn close_where(&mut self, reason: Reason, due: impl Fn(&Lane) -> bool) {
        for (key, lane) in &mut self.lanes {
            if due(lane) {
                let closed = lane.close(reason).map(|batch| (key.clone(), batch));
                self.ready.extend(closed);
            }
        }
    }

    /// Hands out the vectors of a batch, or its error. An error about one passage is that
    /// one's alone, and the others go again; whatever failed may be asked for anew.
    pub(super) fn settle(&mut self, done: Done, now: Duration) {
        let Done { key, batch, result } = done;
        let Some(lane) = self.lanes.get_mut(&key) else {
            return;
        };
        match result {
            Ok(vectors) => {
                for (passage, vector) in batch.items.iter().zip(vectors) {
                    let vector: Arc<[f32]> = vector.into();
                    // Before anybody is told: whoever is may have it indexed at once.
                    let mut unindexed = locked(&self.unindexed);
                    unindexed.put(key.tenant, passage.input_hash, vector.clone());
                    drop(unindexed);
                    lane.answer(passage.input_hash, vector);
                }
            }
            Err(error) => {
                lane.forget(&batch);
                let (failed, others) = blamed(&error, batch.items);
                lane.fail(&failed, error);
                let closed = lane.push_again(others, batch.reason, now).into_iter();
                self.ready.extend(closed.map(|batch| (key.clone(), batch)));
            }
        }
        self.forget_idle();
    }

    /// Keeps the vectors of those that were in use last: were they all kept, each knowledge
    /// base there ever was would cost memory.
    fn forget_idle(&mut self) {
        let idle = self.lanes.iter().filter(|(_, lane)| lane.is_idle());
        if idle.clone().count() > IDLE_LANES {
            let oldest = idle.min_by_key(|(_, lane)| lane.last_used());
            let oldest = oldest.map(|(key, _)| key.clone()).expect("some are idle");
            self.lanes.remove(&oldest);
        }
    }
}

/// Whom an error is about, and the others.
fn blamed(error: &providers::Error, mut items: Vec<Passage>) -> (Vec<Passage>, Vec<Passage>) {
    match error.input() {
        Some(index) if index < items.len() => (vec![items.remove(index)], items),
        _ => (items, Vec::new()),
    }
}

#[cfg(test)]
mod tests;
