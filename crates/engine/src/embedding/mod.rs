//! Chunks of many documents share embedding calls.
//!
//! One task owns the batchers, one for each `{tenant}:{kb}:{model}`, and the
//! calls under way. What a batch holds and when it is full is the batcher's
//! business; the clock and the model's being free are known only here. A batch
//! that could leave stays open while the model is busy, so that a thousand tiny
//! files fill it (`docs/adr/0005-batches-close-when-the-model-is-free.md`). One
//! that is full gains nothing by it: a model of this process has it ahead.

mod desk;
mod lane;
mod unindexed;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use model::{ContentHash, TenantId, VersionId};
use pipeline::batch::{Batch, BatchKey, Counts, Passage, Reason};
use providers::Embedder;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::{Engine, Error};
use desk::Desk;
use unindexed::Unindexed;

#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Closes a batch this long after the last append, whatever else.
    pub quiet: Duration,
    /// Embedding calls under way at the same time.
    pub calls: usize,
    /// Chunks one document may have waiting.
    pub window: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(250),
            calls: 1,
            window: 32,
        }
    }
}

type Answer = Result<Arc<[f32]>, Arc<providers::Error>>;

/// A passage on its way, and who waits for its vector.
struct Request {
    key: BatchKey,
    passage: Passage,
    /// With the last of a window: nothing more comes from there until it is answered, and why.
    ends: Option<Reason>,
    reply: oneshot::Sender<Answer>,
}

/// The handle. Its task ends when the last handle is gone and every call has returned.
pub struct Embeddings {
    requests: mpsc::Sender<Request>,
    window: usize,
    windows: Mutex<HashMap<VersionId, Weak<Semaphore>>>,
    counts: Arc<Mutex<Counts>>,
    unindexed: Arc<Mutex<Unindexed>>,
}

/// Requests waiting to be put into a batch.
const QUEUE: usize = 1024;

impl Embeddings {
    pub fn start(settings: Settings, embedder: Arc<dyn Embedder>) -> Self {
        let (requests, incoming) = mpsc::channel(QUEUE);
        let counts = Arc::default();
        let unindexed = Arc::default();
        let shared = (Arc::clone(&counts), Arc::clone(&unindexed));
        let desk = Desk::new(settings, embedder.info(), shared);
        tokio::spawn(run(settings, embedder, incoming, desk));
        Self {
            requests,
            window: settings.window,
            windows: Mutex::default(),
            counts,
            unindexed,
        }
    }

    /// As many passages of a document as are under way at once, so that one large document
    /// cannot crowd out the others.
    pub fn window(&self) -> usize {
        self.window
    }

    /// One vector per passage, in order. They are of one document, and no more than a window;
    /// `end` says whether more of what is embedded in this step follows.
    pub async fn embed(
        &self,
        key: &BatchKey,
        passages: Vec<Passage>,
        end: Reason,
    ) -> Result<Vec<Vec<f32>>, Error> {
        let Some(first) = passages.first() else {
            return Ok(Vec::new());
        };
        let window = self.window_of(first.chunk.version);
        let _in_flight = window
            .acquire_many(passages.len() as u32)
            .await
            .map_err(|_| Error::StageStopped)?;
        let mut vectors = Vec::with_capacity(passages.len());
        for reply in self.send(key, passages, end).await? {
            let vector = reply.await.map_err(|_| Error::StageStopped)??;
            vectors.push(vector.to_vec());
        }
        Ok(vectors)
    }

    /// Their unit is in the index, durably: it does not come again for them.
    pub fn indexed(&self, tenant: TenantId, inputs: &[ContentHash]) {
        let mut unindexed = locked(&self.unindexed);
        for input in inputs {
            unindexed.forget(tenant, *input);
        }
    }

    async fn send(
        &self,
        key: &BatchKey,
        group: Vec<Passage>,
        end: Reason,
    ) -> Result<Vec<oneshot::Receiver<Answer>>, Error> {
        let last = group.len() - 1;
        let mut replies = Vec::with_capacity(group.len());
        for (at, passage) in group.into_iter().enumerate() {
            let (reply, answer) = oneshot::channel();
            let request = Request {
                key: key.clone(),
                passage,
                ends: (at == last).then_some(end),
                reply,
            };
            self.requests
                .send(request)
                .await
                .map_err(|_| Error::StageStopped)?;
            replies.push(answer);
        }
        Ok(replies)
    }

    /// Shared by all units of a version that are under way; forgotten with the last.
    fn window_of(&self, version: VersionId) -> Arc<Semaphore> {
        let mut windows = self
            .windows
            .lock()
            .expect("nothing panics while it holds the windows");
        if let Some(window) = windows.get(&version).and_then(Weak::upgrade) {
            return window;
        }
        windows.retain(|_, window| window.strong_count() > 0);
        let window = Arc::new(Semaphore::new(self.window));
        windows.insert(version, Arc::downgrade(&window));
        window
    }
}

/// A batch whose call has returned.
struct Done {
    key: BatchKey,
    batch: Batch<Passage>,
    result: Result<Vec<Vec<f32>>, providers::Error>,
}

async fn run(
    settings: Settings,
    embedder: Arc<dyn Embedder>,
    mut incoming: mpsc::Receiver<Request>,
    mut desk: Desk,
) {
    let began = Instant::now();
    let mut calls = JoinSet::new();
    let mut open = true;
    let ahead = usize::from(embedder.takes_ahead());
    while open || !calls.is_empty() || desk.has_batches() {
        while calls.len() < settings.calls + ahead {
            let free = calls.len() < settings.calls;
            let next = if free {
                desk.next_batch()
            } else {
                desk.next_full()
            };
            let Some((key, batch)) = next else {
                break;
            };
            calls.spawn(call(embedder.clone(), key, batch));
        }
        let quiet_at = desk.deadline().map(|after| began + after);
        tokio::select! {
            Some(done) = calls.join_next(), if !calls.is_empty() => match done {
                Ok(done) => desk.settle(done, began.elapsed()),
                // A call runs in a task of its own, so this one cannot panic; it was aborted.
                Err(_) => return,
            },
            request = incoming.recv(), if open => match request {
                Some(request) => {
                    desk.take_in(request, began.elapsed());
                    while let Ok(request) = incoming.try_recv() {
                        desk.take_in(request, began.elapsed());
                    }
                }
                None => {
                    open = false;
                    desk.close_all();
                }
            },
            () = tokio::time::sleep_until(quiet_at.unwrap_or(began)), if quiet_at.is_some() => {
                desk.close_quiet(began.elapsed());
            }
        }
    }
}

async fn call(embedder: Arc<dyn Embedder>, key: BatchKey, batch: Batch<Passage>) -> Done {
    let inputs: Vec<String> = batch.items.iter().map(|p| p.input.clone()).collect();
    let (model, before) = (Arc::clone(&embedder), embedder.divided());
    // In a task of its own, so that a panic in a model is an error of this batch only.
    let task = tokio::spawn(async move { embedder.embed_passages(&inputs).await });
    let result = task.await.unwrap_or(Err(providers::Error::Stopped));
    if model.divided() > before {
        tracing::warn!(
            tenant_id = %key.tenant,
            kb = %key.kb,
            batch_id = %batch.id,
            reads = model.info().max_tokens,
            "chunks longer than the model reads are embedded by the mean of their parts; set \
             embedding.max_tokens to what it reads"
        );
    }
    Done { key, batch, result }
}

impl Engine {
    /// What the batchers of all models have done since the start.
    pub fn batches(&self) -> Counts {
        let mut sum = Counts::default();
        for model in std::iter::once(&self.first).chain(&self.others) {
            sum.add(&locked(&model.embeddings.counts));
        }
        sum
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().expect("nothing panics while it holds it")
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use model::{ChunkId, DocumentId, KbId, ModelName, TenantId, TokenCounter, UnitName};
    use providers::{HashEmbedder, HashSettings, ModelInfo};
    use uuid::Uuid;

    use super::*;

    /// Notes what it is given and keeps every call waiting until it is let go.
    struct Holds {
        inner: HashEmbedder,
        given: Mutex<Vec<String>>,
        go: Semaphore,
    }

    impl Holds {
        fn given_of(&self, document: &str) -> usize {
            let given = self.given.lock().unwrap();
            given.iter().filter(|text| text.contains(document)).count()
        }
    }

    #[async_trait]
    impl Embedder for Holds {
        fn info(&self) -> &ModelInfo {
            self.inner.info()
        }

        fn tokens(&self) -> Arc<dyn TokenCounter> {
            self.inner.tokens()
        }

        async fn embed_passages(
            &self,
            inputs: &[String],
        ) -> Result<Vec<Vec<f32>>, providers::Error> {
            self.given.lock().unwrap().extend(inputs.iter().cloned());
            let _leave = self.go.acquire().await;
            self.inner.embed_passages(inputs).await
        }

        async fn embed_query(&self, query: &str) -> Result<Vec<f32>, providers::Error> {
            self.inner.embed_query(query).await
        }
    }

    /// As many passages of a unit as a document may have under way.
    fn passages(document: &str, number: u128, unit: &str) -> Vec<Passage> {
        let passage = |ordinal| {
            let chunk = ChunkId {
                version: VersionId::from_uuid(Uuid::from_u128(number)),
                unit: UnitName::new(unit).unwrap(),
                ordinal,
            };
            let id = DocumentId::from_uuid(Uuid::from_u128(number));
            Passage::new(id, chunk, format!("{document} {unit} {ordinal}"), 3)
        };
        (0..Settings::default().window as u32)
            .map(passage)
            .collect()
    }

    #[tokio::test]
    async fn a_document_has_thirty_two_chunks_under_way_and_takes_no_other_s_turn() {
        let embedder = Arc::new(Holds {
            inner: HashEmbedder::new(&HashSettings::default()),
            given: Mutex::default(),
            go: Semaphore::new(0),
        });
        // The model has room for all of it: only the window holds anything back.
        let settings = Settings {
            calls: 8,
            ..Settings::default()
        };
        let embeddings = Arc::new(Embeddings::start(settings, embedder.clone()));
        let mut asked = JoinSet::new();
        for (document, number, unit) in [("long", 1, "a"), ("long", 1, "b"), ("short", 2, "a")] {
            let embeddings = Arc::clone(&embeddings);
            asked.spawn(async move {
                let key = BatchKey {
                    tenant: TenantId::from_uuid(Uuid::nil()),
                    kb: KbId::from_uuid(Uuid::nil()),
                    model: ModelName::new("test", "model"),
                };
                let passages = passages(document, number, unit);
                let vectors = embeddings.embed(&key, passages, Reason::EndOfDocument);
                vectors.await.unwrap().len()
            });
        }
        // One thread: whoever can go on has done so by then.
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(embedder.given_of("long"), 32);
        assert_eq!(embedder.given_of("short"), 32);
        embedder.go.add_permits(8);
        let answered: usize = asked.join_all().await.into_iter().sum();
        assert_eq!(answered, 96);
        assert_eq!(embedder.given_of("long"), 64);
    }
}
