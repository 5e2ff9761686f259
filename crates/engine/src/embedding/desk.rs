//! Which batch leaves next, and who gets its vectors: no task, no clock.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use model::ContentHash;
use pipeline::batch::{
    Answer as Pushed, Batch, BatchKey, BatchLimits, Batcher, Item, Passage, Reason,
};
use providers::ModelInfo;
use tokio::sync::oneshot;

use super::{Answer, Done, Request, Settings};

pub(super) struct Desk {
    limits: BatchLimits,
    lanes: HashMap<BatchKey, Lane>,
    /// Closed, in the order they closed.
    ready: VecDeque<(BatchKey, Batch<Passage>)>,
}

struct Lane {
    batcher: Batcher<Passage>,
    /// Somebody's last passage is in the open batch: it may leave when the model is free.
    may_leave: bool,
    waiting: HashMap<ContentHash, Vec<oneshot::Sender<Answer>>>,
    /// Vectors of the batcher's duplicate window, oldest first.
    recent: HashMap<ContentHash, Arc<[f32]>>,
    recent_order: VecDeque<ContentHash>,
}

/// Duplicates are recognised, and their vectors kept, this many passages back.
const WINDOW: usize = 1024;

impl Desk {
    pub(super) fn new(settings: Settings, info: &ModelInfo) -> Self {
        let defaults = BatchLimits::default();
        Self {
            limits: BatchLimits {
                tokens: info.max_batch_tokens.min(defaults.tokens),
                items: info.max_batch_items.min(defaults.items),
                quiet: settings.quiet,
                window: WINDOW,
            },
            lanes: HashMap::new(),
            ready: VecDeque::new(),
        }
    }

    pub(super) fn take_in(&mut self, request: Request, now: Duration) {
        let limits = self.limits;
        let lane = self
            .lanes
            .entry(request.key.clone())
            .or_insert_with(|| Lane {
                batcher: Batcher::new(limits),
                may_leave: false,
                waiting: HashMap::new(),
                recent: HashMap::new(),
                recent_order: VecDeque::new(),
            });
        let identity = request.passage.identity();
        if let Some(vector) = lane.recent.get(&identity) {
            let _ = request.reply.send(Ok(vector.clone()));
            return;
        }
        let under_way = lane.waiting.contains_key(&identity);
        lane.waiting
            .entry(identity)
            .or_default()
            .push(request.reply);
        if under_way {
            // The same passage is in a batch already; its answer serves both.
            lane.may_leave |= request.last;
            return;
        }
        let pushed = lane.batcher.push(request.passage, now);
        debug_assert_eq!(pushed.answer, Pushed::Taken, "neither recent nor under way");
        if !pushed.closed.is_empty() {
            lane.may_leave = false;
        }
        lane.may_leave |= request.last;
        let closed = pushed.closed.into_iter();
        self.ready
            .extend(closed.map(|batch| (request.key.clone(), batch)));
    }

    /// A full batch, or one that only waited for the model to be free.
    pub(super) fn next_batch(&mut self) -> Option<(BatchKey, Batch<Passage>)> {
        if let Some(ready) = self.ready.pop_front() {
            return Some(ready);
        }
        let oldest = self
            .lanes
            .iter_mut()
            .map(|(key, lane)| (key.clone(), lane))
            .filter(|(_, lane)| lane.may_leave && !lane.batcher.is_empty())
            .min_by_key(|(_, lane)| lane.batcher.deadline());
        oldest.and_then(|(key, lane)| Some((key, lane.close(Reason::EndOfDocument)?)))
    }

    pub(super) fn has_batches(&self) -> bool {
        !self.ready.is_empty() || self.lanes.values().any(|lane| !lane.batcher.is_empty())
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        self.lanes
            .values()
            .filter_map(|lane| lane.batcher.deadline())
            .min()
    }

    pub(super) fn close_quiet(&mut self, now: Duration) {
        self.close_where(Reason::Time, |lane| {
            lane.batcher.deadline().is_some_and(|at| at <= now)
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

    /// Hands out the vectors of a batch, or its error; a failed batch may be pushed again.
    pub(super) fn settle(&mut self, done: Done) {
        let Some(lane) = self.lanes.get_mut(&done.key) else {
            return;
        };
        match done.result {
            Ok(vectors) => {
                for (passage, vector) in done.batch.items.iter().zip(vectors) {
                    lane.answer(passage.identity(), vector.into());
                }
            }
            Err(error) => {
                let error = Arc::new(error);
                lane.batcher.forget(&done.batch);
                for passage in &done.batch.items {
                    for reply in lane
                        .waiting
                        .remove(&passage.identity())
                        .into_iter()
                        .flatten()
                    {
                        let _ = reply.send(Err(error.clone()));
                    }
                }
            }
        }
    }
}

impl Lane {
    fn close(&mut self, reason: Reason) -> Option<Batch<Passage>> {
        self.may_leave = false;
        self.batcher.take(reason)
    }

    fn answer(&mut self, identity: ContentHash, vector: Arc<[f32]>) {
        for reply in self.waiting.remove(&identity).into_iter().flatten() {
            // Whoever waited may be gone: its lease was lost.
            let _ = reply.send(Ok(vector.clone()));
        }
        if self.recent.insert(identity, vector).is_none() {
            self.recent_order.push_back(identity);
        }
        while self.recent_order.len() > WINDOW {
            if let Some(oldest) = self.recent_order.pop_front() {
                self.recent.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{ChunkId, DocumentId, KbId, ModelName, TenantId, UnitName, VersionId};
    use tokio::sync::oneshot::Receiver;
    use uuid::Uuid;

    use super::*;

    fn key() -> BatchKey {
        BatchKey {
            tenant: TenantId::from_uuid(Uuid::nil()),
            kb: KbId::from_uuid(Uuid::nil()),
            model: ModelName::new("test", "model"),
        }
    }

    fn desk() -> Desk {
        let info = ModelInfo {
            name: ModelName::new("test", "model"),
            dimension: 1,
            max_tokens: 100,
            max_batch_items: 4,
            max_batch_tokens: 1000,
            language_note: "",
        };
        Desk::new(Settings::default(), &info)
    }

    fn ask(desk: &mut Desk, document: u128, ordinal: u32, last: bool) -> Receiver<Answer> {
        let chunk = ChunkId {
            version: VersionId::from_uuid(Uuid::from_u128(document)),
            unit: UnitName::new("start").unwrap(),
            ordinal,
        };
        let document = DocumentId::from_uuid(Uuid::from_u128(document));
        let (reply, answer) = oneshot::channel();
        let request = Request {
            key: key(),
            passage: Passage::new(document, chunk, format!("text {ordinal}"), 5),
            last,
            reply,
        };
        desk.take_in(request, Duration::ZERO);
        answer
    }

    fn done(batch: Batch<Passage>) -> Done {
        let result = Ok(vec![vec![1.0]; batch.items.len()]);
        Done {
            key: key(),
            batch,
            result,
        }
    }

    #[test]
    fn documents_that_end_while_the_model_is_busy_share_the_next_batch() {
        let mut desk = desk();
        let _first = ask(&mut desk, 1, 0, true);
        let (_, alone) = desk.next_batch().expect("the model is free");
        assert_eq!(alone.items.len(), 1);
        // The model is busy with it: nobody asks for a batch meanwhile.
        let _others: Vec<_> = (2..5)
            .map(|document| ask(&mut desk, document, 0, true))
            .collect();
        let (_, shared) = desk.next_batch().expect("the model is free again");
        assert_eq!(
            (shared.items.len(), shared.reason),
            (3, Reason::EndOfDocument)
        );
    }

    #[test]
    fn a_document_that_has_not_ended_waits_for_the_rest_or_for_quiet() {
        let mut desk = desk();
        let _begun = ask(&mut desk, 1, 0, false);
        assert!(desk.next_batch().is_none());
        desk.close_quiet(Settings::default().quiet);
        let (_, batch) = desk.next_batch().expect("it was quiet for long enough");
        assert_eq!(batch.reason, Reason::Time);
    }

    #[test]
    fn a_full_batch_leaves_whoever_else_is_coming() {
        let mut desk = desk();
        let _asked: Vec<_> = (0..5)
            .map(|ordinal| ask(&mut desk, 1, ordinal, false))
            .collect();
        let (_, batch) = desk.next_batch().expect("four are a batch");
        assert_eq!((batch.items.len(), batch.reason), (4, Reason::Items));
        assert!(desk.next_batch().is_none(), "the fifth waits");
    }

    #[test]
    fn the_same_passage_is_embedded_once_and_answered_twice() {
        let mut desk = desk();
        let mut first = ask(&mut desk, 1, 0, true);
        let mut second = ask(&mut desk, 1, 0, true);
        let (_, batch) = desk.next_batch().expect("one batch");
        assert_eq!(batch.items.len(), 1);
        desk.settle(done(batch));
        let mut late = ask(&mut desk, 1, 0, true);
        assert!(desk.next_batch().is_none(), "nothing is left to embed");
        for answer in [&mut first, &mut second, &mut late] {
            assert_eq!(&*answer.try_recv().unwrap().unwrap(), &[1.0]);
        }
    }

    #[test]
    fn a_failed_batch_tells_everyone_and_may_be_asked_again() {
        let mut desk = desk();
        let mut asked = ask(&mut desk, 1, 0, true);
        let (key, batch) = desk.next_batch().expect("one batch");
        let result = Err(providers::Error::Stopped);
        desk.settle(Done { key, batch, result });
        assert!(asked.try_recv().unwrap().is_err());
        let _again = ask(&mut desk, 1, 0, true);
        assert!(desk.next_batch().is_some());
    }
}
