//! Which batch leaves next, and who gets its vectors: no task, no clock.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use model::ContentHash;
use pipeline::batch::{
    Answer as Pushed, Batch, BatchKey, BatchLimits, Batcher, Counts, Item, Passage, Reason,
};
use providers::ModelInfo;
use tokio::sync::oneshot;

use super::unindexed::Unindexed;
use super::{Answer, Done, Request, Settings, locked};

pub(super) struct Desk {
    limits: BatchLimits,
    lanes: HashMap<BatchKey, Lane>,
    /// Closed, in the order they closed.
    ready: VecDeque<(BatchKey, Batch<Passage>)>,
    counts: Arc<Mutex<Counts>>,
    unindexed: Arc<Mutex<Unindexed>>,
}

struct Lane {
    batcher: Batcher<Passage>,
    /// Somebody's last passage is in the open batch: it may leave when the model is free.
    may_leave: Option<Reason>,
    /// By what the model is given: whoever else asks for that waits for the same vector.
    waiting: HashMap<ContentHash, Vec<oneshot::Sender<Answer>>>,
    /// Vectors of the last inputs, oldest first.
    recent: HashMap<ContentHash, Arc<[f32]>>,
    recent_order: VecDeque<ContentHash>,
    last_used: Duration,
}

/// Duplicates are recognised, and their vectors kept, this many inputs back.
const WINDOW: usize = 1024;
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
        lane.last_used = now;
        let ends = ends.map(|reason| (passage.document().to_owned(), reason));
        let answered = locked(&self.unindexed).get(key.tenant, passage.input_hash);
        if lane.is_new(passage.input_hash, answered, reply) {
            let closed = lane.push(passage, now).into_iter();
            self.ready.extend(closed.map(|batch| (key.clone(), batch)));
        } else {
            locked(&self.counts).duplicates += 1;
        }
        if let Some((document, reason)) = ends {
            lane.batcher.leave_document(&document);
            lane.let_leave(reason);
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
            .filter(|(_, lane)| lane.may_leave.is_some() && !lane.batcher.is_empty())
            .min_by_key(|(_, lane)| lane.batcher.deadline())?;
        let reason = lane.may_leave?;
        Some((key.clone(), lane.close(reason)?))
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
                lane.batcher.forget(&batch);
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
            let oldest = idle.min_by_key(|(_, lane)| lane.last_used);
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

impl Lane {
    fn new(limits: BatchLimits) -> Self {
        Self {
            batcher: Batcher::new(limits),
            may_leave: None,
            waiting: HashMap::new(),
            recent: HashMap::new(),
            recent_order: VecDeque::new(),
            last_used: Duration::ZERO,
        }
    }

    /// Whether an input is neither known nor under way. If it is, that answer serves this one,
    /// of whichever document it is: files of one origin share whole chunks.
    fn is_new(
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

    fn push(&mut self, passage: Passage, now: Duration) -> Vec<Batch<Passage>> {
        let pushed = self.batcher.push(passage, now);
        debug_assert_eq!(pushed.answer, Pushed::Taken, "neither recent nor under way");
        if !pushed.closed.is_empty() {
            self.may_leave = None;
        }
        pushed.closed
    }

    /// What closed by it; the rest may leave with the reason it left with before.
    fn push_again(
        &mut self,
        passages: Vec<Passage>,
        reason: Reason,
        now: Duration,
    ) -> Vec<Batch<Passage>> {
        let mut closed = Vec::new();
        for passage in passages {
            let document = passage.document().to_owned();
            closed.extend(self.push(passage, now));
            self.batcher.leave_document(&document);
            self.let_leave(reason);
        }
        closed
    }

    fn let_leave(&mut self, reason: Reason) {
        if !self.batcher.is_empty() {
            self.may_leave = self.may_leave.max(Some(reason));
        }
    }

    fn close(&mut self, reason: Reason) -> Option<Batch<Passage>> {
        self.may_leave = None;
        self.batcher.take(reason)
    }

    fn answer(&mut self, input: ContentHash, vector: Arc<[f32]>) {
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

    fn fail(&mut self, passages: &[Passage], error: providers::Error) {
        let error = Arc::new(error);
        for passage in passages {
            let waiting = self.waiting.remove(&passage.input_hash);
            for reply in waiting.into_iter().flatten() {
                let _ = reply.send(Err(error.clone()));
            }
        }
    }

    /// Nobody waits for anything of it.
    fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use model::{ChunkId, DocumentId, KbId, ModelName, TenantId, UnitName, VersionId};
    use tokio::sync::oneshot::Receiver;
    use uuid::Uuid;

    use super::*;

    fn key() -> BatchKey {
        key_of(0)
    }

    fn key_of(kb: u128) -> BatchKey {
        BatchKey {
            tenant: TenantId::from_uuid(Uuid::nil()),
            kb: KbId::from_uuid(Uuid::from_u128(kb)),
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
        Desk::new(Settings::default(), &info, Default::default())
    }

    fn ask(desk: &mut Desk, document: u128, ordinal: u32, last: bool) -> Receiver<Answer> {
        let ends = last.then_some(Reason::EndOfDocument);
        ask_in(desk, key(), (document, ordinal), ends)
    }

    /// For a text that no other place has.
    fn ask_in(
        desk: &mut Desk,
        key: BatchKey,
        (document, ordinal): (u128, u32),
        ends: Option<Reason>,
    ) -> Receiver<Answer> {
        let text = format!("text {document} {ordinal}");
        ask_for(desk, key, (document, ordinal), text, ends)
    }

    fn ask_for(
        desk: &mut Desk,
        key: BatchKey,
        (document, ordinal): (u128, u32),
        text: String,
        ends: Option<Reason>,
    ) -> Receiver<Answer> {
        let chunk = ChunkId {
            version: VersionId::from_uuid(Uuid::from_u128(document)),
            unit: UnitName::new("start").unwrap(),
            ordinal,
        };
        let document = DocumentId::from_uuid(Uuid::from_u128(document));
        let (reply, answer) = oneshot::channel();
        let request = Request {
            key,
            passage: Passage::new(document, chunk, text, 5),
            ends,
            reply,
        };
        desk.take_in(request, Duration::ZERO);
        answer
    }

    /// The model embeds it.
    fn succeed(desk: &mut Desk, (key, batch): (BatchKey, Batch<Passage>)) {
        let result = Ok(vec![vec![1.0]; batch.items.len()]);
        desk.settle(Done { key, batch, result }, Duration::ZERO);
    }

    fn fail(desk: &mut Desk, (key, batch): (BatchKey, Batch<Passage>), error: providers::Error) {
        let result = Err(error);
        desk.settle(Done { key, batch, result }, Duration::ZERO);
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
        let batch = desk.next_batch().expect("one batch");
        assert_eq!(batch.1.items.len(), 1);
        succeed(&mut desk, batch);
        let mut late = ask(&mut desk, 1, 0, true);
        assert!(desk.next_batch().is_none(), "nothing is left to embed");
        for answer in [&mut first, &mut second, &mut late] {
            assert_eq!(&*answer.try_recv().unwrap().unwrap(), &[1.0]);
        }
        assert_eq!(locked(&desk.counts).duplicates, 2);
    }

    #[test]
    fn what_is_not_indexed_yet_is_kept_however_much_was_answered_since() {
        let mut desk = desk();
        let embed_all = |desk: &mut Desk| {
            let mut embedded = 0;
            for ordinal in 0..2 * WINDOW as u32 {
                let mut asked = ask(desk, 1, ordinal, true);
                if let Some(batch) = desk.next_batch() {
                    embedded += batch.1.items.len();
                    succeed(desk, batch);
                }
                assert!(asked.try_recv().unwrap().is_ok());
            }
            embedded
        };
        assert_eq!(embed_all(&mut desk), 2 * WINDOW);
        assert_eq!(embed_all(&mut desk), 0, "its unit comes again");
        for ordinal in 0..2 * WINDOW {
            let input = ContentHash::of(format!("text 1 {ordinal}").as_bytes());
            locked(&desk.unindexed).forget(key().tenant, input);
        }
        let oldest = ask(&mut desk, 1, 0, true);
        assert!(desk.next_batch().is_some(), "the index knows it now");
        drop(oldest);
    }

    #[test]
    fn a_text_that_two_documents_share_is_embedded_once() {
        let mut desk = desk();
        let mut answers: Vec<_> = [(1, 0), (2, 7)]
            .into_iter()
            .map(|place| {
                let end = Some(Reason::EndOfDocument);
                ask_for(&mut desk, key(), place, "the licence".to_owned(), end)
            })
            .collect();
        let batch = desk.next_batch().expect("one batch");
        assert_eq!(batch.1.items.len(), 1);
        succeed(&mut desk, batch);
        for answer in &mut answers {
            assert_eq!(&*answer.try_recv().unwrap().unwrap(), &[1.0]);
        }
    }

    #[test]
    fn a_failed_batch_tells_everyone_and_may_be_asked_again() {
        let mut desk = desk();
        let mut asked = ask(&mut desk, 1, 0, true);
        let batch = desk.next_batch().expect("one batch");
        fail(&mut desk, batch, providers::Error::Stopped);
        assert!(asked.try_recv().unwrap().is_err());
        let _again = ask(&mut desk, 1, 0, true);
        assert!(desk.next_batch().is_some());
    }

    #[test]
    fn a_passage_the_model_refuses_fails_alone_and_the_others_go_again() {
        let mut desk = desk();
        let mut asked: Vec<_> = (1..=4)
            .map(|document| ask(&mut desk, document, 0, true))
            .collect();
        let batch = desk.next_batch().expect("four are a batch");
        let refused = providers::Error::InputRefused {
            index: 2,
            message: "too long".to_owned(),
        };
        fail(&mut desk, batch, refused);
        let again = desk.next_batch().expect("three are left");
        assert_eq!(again.1.items.len(), 3);
        succeed(&mut desk, again);
        let answers = asked.iter_mut().map(|answer| answer.try_recv().unwrap());
        let embedded: Vec<bool> = answers.map(|answer| answer.is_ok()).collect();
        assert_eq!(embedded, [true, true, false, true]);
        assert!(!desk.has_batches());
    }

    #[test]
    fn a_batch_is_counted_by_why_it_left() {
        let mut desk = desk();
        for ends in [None, Some(Reason::Window)] {
            let ordinal = u32::from(ends.is_some());
            let _asked = ask_in(&mut desk, key(), (1, ordinal), ends);
        }
        assert!(desk.next_batch().is_some(), "its window is full");
        let _end = ask(&mut desk, 1, 2, true);
        assert!(desk.next_batch().is_some(), "it has ended");
        let counts = locked(&desk.counts);
        assert_eq!((counts.batches, counts.items, counts.tokens), (2, 3, 15));
        assert_eq!(counts.reasons[&Reason::Window], 1);
        assert_eq!(counts.reasons[&Reason::EndOfDocument], 1);
    }

    #[test]
    fn a_known_passage_at_the_end_of_a_document_holds_nothing_back() {
        let mut desk = desk();
        let _known = ask(&mut desk, 1, 0, true);
        let batch = desk.next_batch().expect("one batch");
        succeed(&mut desk, batch);
        let _new = ask(&mut desk, 1, 1, false);
        let _known = ask(&mut desk, 1, 0, true);
        assert!(desk.next_batch().is_some());
    }

    #[test]
    fn knowledge_bases_nobody_asks_for_any_more_cost_nothing() {
        let mut desk = desk();
        let _waits = ask_in(&mut desk, key_of(0), (1, 0), None);
        for kb in 1..=3 * IDLE_LANES as u128 {
            let end = Some(Reason::EndOfDocument);
            let mut asked = ask_in(&mut desk, key_of(kb), (kb, 0), end);
            let batch = desk.next_batch().expect("one batch");
            succeed(&mut desk, batch);
            assert!(asked.try_recv().unwrap().is_ok());
        }
        assert_eq!(desk.lanes.len(), IDLE_LANES + 1);
        assert!(desk.lanes.contains_key(&key_of(0)), "somebody waits there");
    }
}
