//! Text indexes, opened when first needed, a bounded number at a time.
//!
//! An index that is opened lags behind SlateDB only if a crash or a hand took
//! something from its folder; then it is rebuilt before anybody sees it.
//!
//! A snapshot needs each text index as it was at its flush. One that was not
//! open then has not changed since, for a change would have opened it: so the
//! moment an index is opened, before anything can change it, its searcher is
//! given to every snapshot that lacks it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use slatedb::Db;
use tantivy::Searcher;

use crate::Error;
use crate::error::Doing;
use crate::place::Space;
use crate::slate::record::SpaceRecord;
use crate::slate::{key, store};
use crate::text::Book;
use crate::text::rebuild;

/// The searchers of one snapshot.
pub type Texts = Mutex<HashMap<Space, Searcher>>;

pub struct Shelf {
    folder: PathBuf,
    limit: usize,
    open: tokio::sync::Mutex<Open>,
    snapshots: Mutex<Vec<Weak<Texts>>>,
}

#[derive(Default)]
struct Open {
    books: HashMap<Space, (Arc<Book>, u64)>,
    /// Counts uses, to know which was used last.
    uses: u64,
}

impl Shelf {
    pub fn new(folder: PathBuf, limit: usize) -> Self {
        Self {
            folder,
            limit: limit.max(1),
            open: tokio::sync::Mutex::default(),
            snapshots: Mutex::default(),
        }
    }

    pub fn folder(&self, space: &Space) -> PathBuf {
        let kb = self.folder.join(space.tenant.to_string());
        kb.join(space.kb.to_string())
            .join(space.generation.to_string())
    }

    /// A snapshot to be given what is opened later.
    pub fn enlist(&self, texts: &Arc<Texts>) {
        let mut snapshots = self.snapshots.lock().expect("nothing panics with it");
        snapshots.retain(|weak| weak.strong_count() > 0);
        snapshots.push(Arc::downgrade(texts));
    }

    /// The book of a space, opened, caught up and handed out to snapshots.
    pub async fn book(&self, db: &Db, space: Space) -> Result<Arc<Book>, Error> {
        let mut open = self.open.lock().await;
        open.uses += 1;
        let now = open.uses;
        if let Some((book, used)) = open.books.get_mut(&space) {
            *used = now;
            return Ok(Arc::clone(book));
        }
        let book = self.open_book(db, space).await?;
        self.hand_out(space, &book);
        open.books.insert(space, (Arc::clone(&book), now));
        close_oldest(&mut open, self.limit);
        Ok(book)
    }

    /// As [`book`](Self::book), without asking whether it has caught up.
    pub async fn behind(&self, space: Space) -> Result<Arc<Book>, Error> {
        open_blocking(self.folder(&space)).await
    }

    async fn open_book(&self, db: &Db, space: Space) -> Result<Arc<Book>, Error> {
        let view = db.snapshot().doing("take a snapshot")?;
        let record = match store::get(&view, key::of_space(key::SPACE, &space)).await? {
            Some(bytes) => SpaceRecord::read(&bytes)?,
            None => SpaceRecord::default(),
        };
        let folder = self.folder(&space);
        let opened = open_blocking(folder.clone()).await;
        let book = match opened.and_then(|book| Ok((book.flush()?.unwrap_or(0), book))) {
            Ok((flush, book)) if flush == record.text_flush => return Ok(book),
            Ok((flush, book)) => {
                tracing::warn!(
                    ?space,
                    flush,
                    wanted = record.text_flush,
                    "text index is behind"
                );
                book
            }
            Err(error) if error.is_transient() => return Err(error),
            Err(error) => {
                tracing::warn!(?space, %error, "text index cannot be read");
                remove(&folder).doing("remove a broken index")?;
                open_blocking(folder).await?
            }
        };
        rebuild::all(&view, space, &book, record.text_flush).await?;
        Ok(book)
    }

    fn hand_out(&self, space: Space, book: &Book) {
        let snapshots = self.snapshots.lock().expect("nothing panics with it");
        for texts in snapshots.iter().filter_map(Weak::upgrade) {
            let mut texts = texts.lock().expect("nothing panics with it");
            texts.entry(space).or_insert_with(|| book.searcher());
        }
    }

    /// Drops a space's index and its folder.
    pub async fn remove(&self, space: &Space) -> Result<(), Error> {
        let mut open = self.open.lock().await;
        open.books.remove(space);
        remove(&self.folder(space)).doing("remove an index")
    }

    pub async fn open_spaces(&self) -> Vec<Space> {
        self.open.lock().await.books.keys().copied().collect()
    }

    pub async fn close_all(&self) {
        let books: Vec<_> = self.open.lock().await.books.drain().collect();
        // Dropping a writer joins its threads.
        let dropped = tokio::task::spawn_blocking(move || drop(books));
        dropped.await.unwrap_or_default();
    }
}

fn close_oldest(open: &mut Open, limit: usize) {
    while open.books.len() > limit {
        // One that a flush holds stays: opened a second time it would seem to be behind.
        let idle = open
            .books
            .iter()
            .filter(|(_, (book, _))| Arc::strong_count(book) == 1);
        let oldest = idle.min_by_key(|(_, (_, used))| *used);
        let Some(space) = oldest.map(|(space, _)| *space) else {
            return;
        };
        open.books.remove(&space);
    }
}

async fn open_blocking(folder: PathBuf) -> Result<Arc<Book>, Error> {
    blocking(move || Book::open(&folder).map(Arc::new)).await
}

/// Runs what blocks where it may.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(Error::Stopped))
}

#[expect(
    clippy::disallowed_methods,
    reason = "text is made again from the store; its removal needs no crash point"
)]
fn remove(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
