//! Gathers chunks into batches for one embedding call each.
//!
//! One batcher serves one [`BatchKey`] and fills its batches across documents. It knows
//! sizes, not clocks: it says until when it would wait ([`Batcher::deadline`]), and whoever
//! owns a clock calls [`Batcher::take`] then. A chunk pushed twice is answered with the
//! batch it went out in. A batch's id derives from its chunks, so a replay makes the same one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::time::Duration;

use model::contract::ChunkEnvelope;
use model::{ChunkId, ContentHash, DocumentId, KbId, ModelName, TenantId};
use serde::{Deserialize, Serialize};

/// Whose batches: nothing of one tenant, knowledge base or model mixes with another's.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BatchKey {
    pub tenant: TenantId,
    pub kb: KbId,
    pub model: ModelName,
}

impl fmt::Display for BatchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.tenant, self.kb, self.model)
    }
}

/// What a batcher must know of a thing to batch.
pub trait Item {
    /// Equal for the same chunk with the same content, and only then.
    fn identity(&self) -> ContentHash;
    /// Of the document it belongs to.
    fn document(&self) -> &str;
    fn tokens(&self) -> usize;
}

/// A chunk's exact embedder input on its way to a model, in one process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    pub chunk: ChunkId,
    document: String,
    pub input: String,
    pub input_hash: ContentHash,
    pub tokens: usize,
}

impl Passage {
    pub fn new(document: DocumentId, chunk: ChunkId, input: String, tokens: usize) -> Self {
        Self {
            chunk,
            document: document.to_string(),
            input_hash: ContentHash::of(input.as_bytes()),
            input,
            tokens,
        }
    }
}

impl Item for Passage {
    fn identity(&self) -> ContentHash {
        let chunk = self.chunk.to_string();
        ContentHash::of_fields([chunk.as_bytes(), self.input_hash.as_bytes()])
    }

    fn document(&self) -> &str {
        &self.document
    }

    fn tokens(&self) -> usize {
        self.tokens
    }
}

impl Item for ChunkEnvelope {
    fn identity(&self) -> ContentHash {
        let content = ContentHash::of(self.text.as_bytes());
        ContentHash::of_fields([self.chunk_id.as_bytes(), content.as_bytes()])
    }

    fn document(&self) -> &str {
        &self.doc_id
    }

    fn tokens(&self) -> usize {
        self.token_count as usize
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BatchLimits {
    pub tokens: usize,
    pub items: usize,
    /// How long after the last append an open batch may wait for more.
    pub quiet: Duration,
    /// How many chunks back a duplicate is recognised.
    pub window: usize,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self {
            tokens: 32_000,
            items: 128,
            quiet: Duration::from_millis(300),
            window: 4096,
        }
    }
}

/// Why a batch was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    Tokens,
    Items,
    Time,
    /// As much of a document as may be under way is: nothing more of it comes before an answer.
    Window,
    EndOfDocument,
    /// The owner is shutting down.
    Drain,
}

impl Reason {
    pub const ALL: [Self; 6] = [
        Self::Tokens,
        Self::Items,
        Self::Time,
        Self::Window,
        Self::EndOfDocument,
        Self::Drain,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Items => "items",
            Self::Time => "time",
            Self::Window => "window",
            Self::EndOfDocument => "end_of_document",
            Self::Drain => "drain",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch<T> {
    /// Of the identities of its items, in their order.
    pub id: ContentHash,
    pub items: Vec<T>,
    pub tokens: usize,
    pub reason: Reason,
}

/// What became of a pushed item, and the batches that closed by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed<T> {
    pub answer: Answer,
    pub closed: Vec<Batch<T>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It is in the open batch, or in one of those just closed.
    Taken,
    /// It was pushed before; with the batch it went out in, or `None` while that is open.
    Duplicate(Option<ContentHash>),
}

/// What a batcher has done so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub batches: u64,
    pub items: u64,
    pub tokens: u64,
    pub duplicates: u64,
    pub reasons: BTreeMap<Reason, u64>,
}

impl Counts {
    pub fn closed<T>(&mut self, batch: &Batch<T>) {
        self.batches += 1;
        self.items += batch.items.len() as u64;
        self.tokens += batch.tokens as u64;
        *self.reasons.entry(batch.reason).or_default() += 1;
    }

    pub fn add(&mut self, other: &Self) {
        self.batches += other.batches;
        self.items += other.items;
        self.tokens += other.tokens;
        self.duplicates += other.duplicates;
        for (reason, count) in &other.reasons {
            *self.reasons.entry(*reason).or_default() += count;
        }
    }
}

/// The state of one key. It can be stored and brought back, as a virtual object's is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batcher<T> {
    limits: BatchLimits,
    open: Vec<T>,
    tokens: usize,
    last_append: Duration,
    /// Documents that have begun and not ended: more of them is to come.
    documents: BTreeSet<String>,
    /// Why the open batch may leave though it is not full.
    may_leave: Option<Reason>,
    seen: BTreeMap<ContentHash, Option<ContentHash>>,
    order: VecDeque<ContentHash>,
    counts: Counts,
}

impl<T: Item> Batcher<T> {
    pub fn new(limits: BatchLimits) -> Self {
        Self {
            limits,
            open: Vec::new(),
            tokens: 0,
            last_append: Duration::ZERO,
            documents: BTreeSet::new(),
            may_leave: None,
            seen: BTreeMap::new(),
            order: VecDeque::new(),
            counts: Counts::default(),
        }
    }

    /// Says that chunks of a document are to come, so that the end of another one waits for them.
    pub fn begin_document(&mut self, document: &str) {
        self.documents.insert(document.to_owned());
    }

    /// Adds an item. `now` is the time since any moment the owner chose, the same one every time.
    pub fn push(&mut self, item: T, now: Duration) -> Pushed<T> {
        let identity = item.identity();
        if let Some(earlier) = self.seen.get(&identity) {
            self.counts.duplicates += 1;
            let answer = Answer::Duplicate(*earlier);
            let closed = Vec::new();
            return Pushed { answer, closed };
        }
        let mut closed = Vec::new();
        if self.tokens + item.tokens() > self.limits.tokens {
            closed.extend(self.take(Reason::Tokens));
        }
        self.append(item, identity, now);
        if self.tokens >= self.limits.tokens {
            closed.extend(self.take(Reason::Tokens));
        } else if self.open.len() >= self.limits.items {
            closed.extend(self.take(Reason::Items));
        }
        let answer = Answer::Taken;
        Pushed { answer, closed }
    }

    fn append(&mut self, item: T, identity: ContentHash, now: Duration) {
        self.documents.insert(item.document().to_owned());
        self.tokens += item.tokens();
        self.open.push(item);
        self.last_append = now;
        self.seen.insert(identity, None);
        self.order.push_back(identity);
        // What is still open is always recognised.
        while self.order.len() > self.limits.window.max(self.open.len()) {
            let oldest = self.order.pop_front().expect("longer than the window");
            self.seen.remove(&oldest);
        }
    }

    /// A document has no more chunks. The open batch closes once no other document is about
    /// to add to it: a thousand small files share batches, the last one does not wait.
    pub fn end_document(&mut self, document: &str) -> Option<Batch<T>> {
        self.leave_document(document, Reason::EndOfDocument);
        if !self.documents.is_empty() {
            return None;
        }
        self.take(Reason::EndOfDocument)
    }

    /// No more of a document comes for now, and why: the open batch is not kept waiting for it.
    pub fn leave_document(&mut self, document: &str, reason: Reason) {
        self.documents.remove(document);
        if !self.is_empty() {
            self.may_leave = self.may_leave.max(Some(reason));
        }
    }

    /// Why the open batch may leave, where it may: somebody's last chunk is in it. Whoever knows
    /// that the model is free takes it then; others wait for its end, or its deadline.
    pub fn may_leave(&self) -> Option<Reason> {
        self.may_leave
    }

    /// When the open batch has waited long enough; `None` when nothing is waiting.
    pub fn deadline(&self) -> Option<Duration> {
        (!self.open.is_empty()).then(|| self.last_append + self.limits.quiet)
    }

    /// Closes the open batch; `None` when nothing is waiting.
    pub fn take(&mut self, reason: Reason) -> Option<Batch<T>> {
        if reason == Reason::Time {
            // Whoever has been silent for so long may never say that it ended.
            self.documents.clear();
        }
        self.may_leave = None;
        if self.open.is_empty() {
            return None;
        }
        let items = std::mem::take(&mut self.open);
        let tokens = std::mem::take(&mut self.tokens);
        let identities: Vec<_> = items.iter().map(Item::identity).collect();
        let id = ContentHash::of_fields(identities.iter().map(|hash| &hash.as_bytes()[..]));
        for identity in &identities {
            self.seen.insert(*identity, Some(id));
        }
        let batch = Batch {
            id,
            items,
            tokens,
            reason,
        };
        self.counts.closed(&batch);
        Some(batch)
    }

    /// A batch came to nothing: its items may be pushed again.
    pub fn forget(&mut self, batch: &Batch<T>) {
        for item in &batch.items {
            let identity = item.identity();
            self.seen.remove(&identity);
            self.order.retain(|known| *known != identity);
        }
    }

    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    pub fn len(&self) -> usize {
        self.open.len()
    }

    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

#[cfg(test)]
mod tests;
