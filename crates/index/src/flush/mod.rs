//! Brings a delta to both stores.
//!
//! First SlateDB: one batch with the chunks, the vectors, the flush number and a
//! redo record of what the text side has to do; flushed, it is durable. Then
//! text, one commit per space that changed, with the same number. The redo
//! record goes with the next batch, or when the index is closed. A crash in between leaves the record, and
//! opening does what it says; an attempt that failed in between does only the
//! rest when it is repeated.

mod draft;

mod texts;

mod catch_up;

pub use catch_up::owe_nothing;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use coordinator::{BoxError, Epochs, FlushError, FlushHandler, Flushed};
use slatedb::Db;

use crate::delta::Pending;
use crate::erase::Files;
use crate::error::Doing;
use crate::flush::draft::Draft;
use crate::flush::texts::TextWork;
use crate::guard::Guards;
use crate::place::Space;
use crate::slate::store;
use crate::snapshot::Snapshot;
use crate::text::{Book, Shelf};
use crate::vector::{Cache, SpaceView};
use crate::{Error, Settings};

/// What every part of an open index shares.
pub struct Store {
    pub db: Db,
    pub settings: Settings,
    pub shelf: Arc<Shelf>,
    pub cache: Cache,
    pub guards: Arc<Guards>,
    pub files: Files,
    /// Something was forgotten that memory alone may know of, for all that is known.
    pub forgot: AtomicBool,
    tags: Mutex<HashMap<Space, u32>>,
}

impl Store {
    pub fn new(db: Db, files: Files, settings: Settings, shelf: Shelf) -> Self {
        Self {
            db,
            files,
            shelf: Arc::new(shelf),
            cache: Cache::new(settings.cache_bytes),
            guards: Arc::default(),
            // Before the last end, perhaps.
            forgot: AtomicBool::new(true),
            tags: Mutex::default(),
            settings,
        }
    }

    /// What made the database close. Its status says of every error that something panicked; the
    /// error itself is what it answers to everything since.
    fn died_of(&self) -> BoxError {
        match self.db.snapshot() {
            Err(cause) => cause.into(),
            Ok(_) => "the database is gone".into(),
        }
    }

    /// What was read, or why it could not be. A store that has died answers everything with what
    /// it died of, which alone reads as if it might pass.
    pub fn told<T>(&self, read: Result<T, Error>) -> Result<T, Error> {
        read.map_err(|error| match error {
            Error::Store { doing, source } if self.db.status().close_reason.is_some() => {
                Error::StoreStopped { doing, source }
            }
            other => other,
        })
    }

    /// The number that stands for a space in cache keys.
    pub fn tag(&self, space: Space) -> u32 {
        let mut tags = self.tags.lock().expect("nothing panics with it");
        let next = u32::try_from(tags.len()).expect("fewer than 2^32 spaces");
        *tags.entry(space).or_insert(next)
    }
}

pub struct Handler {
    store: Arc<Store>,
    at: tokio::sync::Mutex<Position>,
}

/// How far the stores have come.
struct Position {
    snapshot: Snapshot,
    /// In SlateDB, but not yet in the text indexes.
    half: Option<Half>,
    /// Flushes whose redo records the next batch removes.
    done: Vec<u64>,
}

struct Half {
    flush: u64,
    sequence: u64,
    views: Vec<Arc<SpaceView>>,
    text: TextWork,
    books: HashMap<Space, Arc<Book>>,
}

impl Handler {
    /// Catches text up with SlateDB, whatever the last run left behind.
    pub async fn open(store: Arc<Store>) -> Result<(Self, Snapshot), Error> {
        let view = store.db.snapshot().doing("take a snapshot")?;
        let meta = store::head(&view).await?;
        let done = catch_up::catch_up(&store, &view).await?;
        let snapshot = Snapshot::new(Arc::clone(&store), meta.flush, view);
        let at = tokio::sync::Mutex::new(Position {
            snapshot: snapshot.clone(),
            half: None,
            done,
        });
        Ok((Self { store, at }, snapshot))
    }

    async fn bring(&self, delta: Arc<Pending>, flush: u64) -> Result<Flushed<Snapshot>, Error> {
        let mut at = self.at.lock().await;
        if at.half.as_ref().is_none_or(|half| half.flush != flush) {
            at.half = Some(self.to_slate(&at, &delta, flush).await?);
        }
        let half = at.half.as_mut().expect("just put there");
        half.text.apply(&self.store, &mut half.books, flush).await?;
        let sequence = half.sequence;
        let view = self.store.db.snapshot().doing("take a snapshot")?;
        let views = std::mem::take(&mut half.views);
        let next = at.snapshot.next(flush, view, views).await;
        at.half = None;
        // The batch just written took away all records before its own.
        at.done = vec![flush];
        at.snapshot = next.clone();
        self.store.guards.settled(delta.versions());
        Ok(Flushed {
            snapshot: next,
            sequence,
        })
    }

    async fn to_slate(
        &self,
        at: &Position,
        delta: &Arc<Pending>,
        flush: u64,
    ) -> Result<Half, Error> {
        let mut draft = Draft::new(&self.store, &at.snapshot, flush);
        draft.take(delta).await?;
        let (batch, views, text) = draft.finish(&at.done).await?;
        if !text.is_empty() {
            self.store.shelf.begin_writing(&self.store.db).await?;
        }
        // Opened before anything changes, so that every snapshot gets them as they were.
        let mut books = HashMap::new();
        for space in text.spaces() {
            books.insert(space, self.store.shelf.book(&self.store.db, space).await?);
        }
        let db = &self.store.db;
        #[expect(clippy::disallowed_methods, reason = "this is the flush")]
        let written = durable::effect("index.flush", async {
            let handle = db.write(batch).await?;
            db.flush().await?;
            Ok::<_, slatedb::Error>(handle)
        });
        let handle = written.await.doing("write a flush")?;
        if delta.takes_out() {
            self.store.forgot.store(true, Ordering::Relaxed);
        }
        Ok(Half {
            flush,
            sequence: handle.seqnum(),
            views,
            text,
            books,
        })
    }
}

impl FlushHandler for Handler {
    type Delta = Pending;
    type Snapshot = Snapshot;

    async fn flush(
        &self,
        delta: Arc<Pending>,
        epochs: Epochs,
    ) -> Result<Flushed<Snapshot>, FlushError> {
        let brought = self.bring(delta, epochs.last.0).await;
        brought.map_err(|error| match error.is_transient() {
            true => FlushError::transient(error),
            false => FlushError::permanent(error),
        })
    }

    /// Nothing to do: a flush is not over before SlateDB's is.
    async fn sync(&self) -> Result<(), FlushError> {
        Ok(())
    }

    async fn durable_past(&self, sequence: u64) -> Result<(), BoxError> {
        let mut status = self.store.db.subscribe();
        let reached = status.wait_for(|s| s.durable_seq >= sequence || s.close_reason.is_some());
        match reached.await.is_ok_and(|s| s.durable_seq >= sequence) {
            true => Ok(()),
            false => Err(self.store.died_of()),
        }
    }

    async fn closed(&self) -> BoxError {
        let mut status = self.store.db.subscribe();
        // An error would mean that it is gone, which is all the same.
        drop(status.wait_for(|s| s.close_reason.is_some()).await);
        self.store.died_of()
    }
}

#[cfg(test)]
mod tests;
