//! Text indexes, opened when first needed, a bounded number at a time.
//!
//! An index that is opened lags behind SlateDB only if a crash or a hand took
//! something from its folder; then it is rebuilt before anybody sees it. Which
//! of the two it was is known while all texts are as a process left them that
//! came to its end: then it was a hand, and an audit says so. The store knows
//! by a mark, which goes before any text is written and comes back when all are
//! closed.
//!
//! A snapshot needs each text index as it was at its flush. One that was not
//! open then has not changed since, for a change would have opened it: so the
//! moment an index is opened, before anything can change it, its searcher is
//! given to every snapshot that lacks it. When it is closed again, those that
//! see it as it is now give it away: they get it back the same way. What is forgotten
//! is removed unopened: who reads from before that and never had a searcher is told so.
//!
//! Opening may take long, if it is rebuilt or its last merges have to end: whoever
//! opens, removes or looks at the files of one takes its turn, and the others
//! go on. It outlasts who asked for it: whoever gives up waiting leaves it to the
//! next who asks.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use slatedb::{Db, DbSnapshot};
use tantivy::Searcher;

use crate::Error;
use crate::error::Doing;
use crate::place::Space;
use crate::slate::record::{SpaceRecord, Stand};
use crate::slate::{key, store};
use crate::text::Book;
use crate::text::reading::reading;
use crate::text::rebuild;

/// The searchers of one snapshot.
pub type Texts = Mutex<HashMap<Space, Searcher>>;

pub struct Shelf {
    folder: PathBuf,
    limit: usize,
    open: tokio::sync::Mutex<Open>,
    /// Whoever opens, removes or looks at the files of a space.
    turns: Mutex<HashMap<Space, Weak<tokio::sync::Mutex<()>>>>,
    snapshots: Mutex<Vec<Weak<Texts>>>,
    /// None is opened any more.
    ended: AtomicBool,
    /// Whether every text was whole when this began.
    left_whole: AtomicBool,
    /// Whether the store still says so.
    marked: tokio::sync::Mutex<bool>,
}

/// Answers whoever waits for a text index with it, or with what kept it from being opened.
type Opening = Shared<BoxFuture<'static, Result<Arc<Book>, Error>>>;

/// Tells, to whoever asks, whether a text index closed well.
type Closing = Shared<BoxFuture<'static, bool>>;

#[derive(Default)]
struct Open {
    books: HashMap<Space, (Arc<Book>, u64)>,
    /// Counts uses, to know which was used last.
    uses: u64,
    /// All that were ever open: they are whole.
    seen: HashSet<Space>,
    /// On their way.
    opening: HashMap<Space, Opening>,
    /// Closed, and perhaps still merging: none of them is opened before that has ended.
    closing: HashMap<Space, Closing>,
}

impl Shelf {
    /// Of all texts below a folder, at most so many open at a time.
    pub async fn open(folder: PathBuf, limit: usize, db: &Db) -> Result<Self, Error> {
        let view = db.snapshot().doing("take a snapshot")?;
        let whole = store::get(&view, key::WHOLE).await?.is_some();
        Ok(Self {
            folder,
            limit: limit.max(1),
            open: tokio::sync::Mutex::default(),
            turns: Mutex::default(),
            snapshots: Mutex::default(),
            ended: AtomicBool::new(false),
            left_whole: AtomicBool::new(whole),
            marked: tokio::sync::Mutex::new(whole),
        })
    }

    /// To be called before any text is written outside of what is owed to the store: a crash may
    /// leave it behind from here on.
    pub async fn begin_writing(&self, db: &Db) -> Result<(), Error> {
        let mut marked = self.marked.lock().await;
        if *marked {
            #[expect(clippy::disallowed_methods, reason = "this is the mark")]
            let written = durable::effect("index.unmark", async {
                db.delete(key::WHOLE).await?;
                db.flush().await
            });
            written.await.doing("write that text changes")?;
            *marked = false;
        }
        Ok(())
    }

    /// Whether every one of these is whole: left so, or opened since.
    pub async fn are_whole(&self, spaces: &[Space]) -> bool {
        let open = self.open.lock().await;
        self.left_whole.load(Ordering::Relaxed)
            || spaces.iter().all(|space| open.seen.contains(space))
    }

    /// Whether files of a text that was left whole are gone or not what they were. It stays as
    /// it is until it is opened. One with no files at all has yet to be made.
    pub async fn was_spoilt(&self, db: &Db, space: Space) -> Result<bool, Error> {
        let turn = self.turn(space);
        let _turn = turn.lock().await;
        self.closed(space).await;
        let open = self.open.lock().await;
        let whole = self.left_whole.load(Ordering::Relaxed) || open.seen.contains(&space);
        if open.books.contains_key(&space) || !whole {
            return Ok(false);
        }
        drop(open);
        let view = db.snapshot().doing("take a snapshot")?;
        let wanted = read_record(&view, space).await?.text_flush;
        let folder = self.folder(&space);
        match reading(move || Book::look(&folder)).await {
            Ok(flush) => Ok(flush.is_some_and(|flush| flush < wanted)),
            Err(error) if error.is_of_spoilt_text() => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Whether a space's text is removed, or about to be: the store is told first.
    pub async fn has_forgotten(&self, db: &Db, space: Space) -> Result<bool, Error> {
        let view = db.snapshot().doing("take a snapshot")?;
        Ok(read_record(&view, space).await?.stand == Stand::Forgotten)
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
    pub async fn book(self: &Arc<Self>, db: &Db, space: Space) -> Result<Arc<Book>, Error> {
        let opening = {
            let mut open = self.open.lock().await;
            if let Some(book) = open.known(&space) {
                return Ok(book);
            }
            if self.ended.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            let opening = open.opening.entry(space);
            let begun = opening.or_insert_with(|| begin(Arc::clone(self), db.clone(), space));
            begun.clone()
        };
        opening.await
    }

    /// Opens the book of a space that was not opened yet: it may have to be made again, or caught up.
    pub async fn prepare(self: &Arc<Self>, db: &Db, space: Space) -> Result<(), Error> {
        if self.open.lock().await.seen.contains(&space) {
            return Ok(());
        }
        match self.book(db, space).await {
            Ok(_) | Err(Error::ForgottenSpace) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn open_for_all(&self, db: &Db, space: Space) -> Result<Arc<Book>, Error> {
        let turn = self.turn(space);
        let _turn = turn.lock().await;
        self.closed(space).await;
        let book = self.open_book(db, space).await?;
        let mut open = self.open.lock().await;
        self.hand_out(space, &book);
        open.seen.insert(space);
        open.add(space, Arc::clone(&book));
        open.opening.remove(&space);
        self.close_oldest(&mut open);
        Ok(book)
    }

    /// To be held while the files of a space are opened, removed or looked at.
    pub fn turn(&self, space: Space) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock().expect("nothing panics with it");
        if let Some(turn) = turns.get(&space).and_then(Weak::upgrade) {
            return turn;
        }
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        turns.insert(space, Arc::downgrade(&turn));
        turn
    }

    /// As [`book`](Self::book), without asking whether it has caught up.
    pub async fn behind(&self, space: Space) -> Result<Arc<Book>, Error> {
        open_blocking(self.folder(&space)).await
    }

    async fn open_book(&self, db: &Db, space: Space) -> Result<Arc<Book>, Error> {
        let view = db.snapshot().doing("take a snapshot")?;
        let record = read_record(&view, space).await?;
        if record.is_gone() {
            // Its folder goes with it. Who still reads from before that shall not bring it back.
            return Err(Error::ForgottenSpace);
        }
        let folder = self.folder(&space);
        let there = folder.clone();
        let opened = reading(move || {
            let book = Book::open(&there)?;
            Ok((book.catch_up()?.unwrap_or(0), Arc::new(book)))
        });
        let book = match opened.await {
            Ok((flush, book)) if flush == record.text_flush => return Ok(book),
            Ok((flush, book)) => {
                tracing::warn!(
                    %space,
                    flush,
                    wanted = record.text_flush,
                    "text index is behind"
                );
                book
            }
            // Whatever else it is, the files may be whole, and what reads them what is at fault.
            Err(error) if !error.is_of_spoilt_text() => return Err(error),
            Err(error) => {
                tracing::warn!(%space, %error, "text index cannot be read");
                self.begin_writing(db).await?;
                remove(&folder).doing("remove a broken index")?;
                open_blocking(folder).await?
            }
        };
        self.begin_writing(db).await?;
        let wanted = || !self.ended.load(Ordering::Relaxed);
        let made = rebuild::all(&view, space, &book, record.text_flush, wanted).await;
        if let Err(error) = made {
            // What it still writes would come into the folder beside what is made there next.
            close(space, book).await;
            return Err(error);
        }
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
        let turn = self.turn(*space);
        let _turn = turn.lock().await;
        // Whoever is in the midst of something holds it still: a merge that ended later would
        // put its own head into the folder, over that of the index made there next.
        self.open.lock().await.close(space);
        self.closed(*space).await;
        remove(&self.folder(space)).doing("remove an index")
    }

    /// Waits for the end of what a closed index still writes.
    async fn closed(&self, space: Space) {
        let closing = self.open.lock().await.closing.get(&space).cloned();
        let Some(closing) = closing else {
            return;
        };
        let well = closing.clone().await;
        let mut open = self.open.lock().await;
        let same = |now: &Closing| now.ptr_eq(&closing);
        if open.closing.get(&space).is_some_and(same) {
            open.closing.remove(&space);
        }
        if !well {
            // What it has on the disk is not known, and so no longer that all is whole.
            open.seen.remove(&space);
            self.left_whole.store(false, Ordering::Relaxed);
        }
    }

    /// Closes what is open beyond the limit and no longer held.
    pub async fn close_idle(&self) {
        self.close_oldest(&mut *self.open.lock().await);
    }

    fn close_oldest(&self, open: &mut Open) {
        while open.books.len() > self.limit {
            // One that somebody holds stays: opened a second time it would seem to be behind.
            let idle = open
                .books
                .iter()
                .filter(|(_, (book, _))| Arc::strong_count(book) == 1);
            let oldest = idle.min_by_key(|(_, (_, used))| *used);
            let Some((space, (book, _))) = oldest else {
                return;
            };
            let space = *space;
            self.take_back(space, book);
            open.close(&space);
        }
    }

    /// Takes a searcher from the snapshots that see a book as it is now.
    fn take_back(&self, space: Space, book: &Book) {
        self.of_each(space, &book.searcher(), |texts| {
            texts.remove(&space);
        });
    }

    /// What was taken out of a text leaves the disk. Files that are gone take room there until
    /// nobody holds them, so whoever sees the text as it is now is given the new ones.
    pub async fn reclaim(self: &Arc<Self>, db: &Db, space: Space) -> Result<(), Error> {
        self.begin_writing(db).await?;
        let book = self.book(db, space).await?;
        let shelf = Arc::clone(self);
        // All at once, or who gives up waiting would leave them the old.
        let reclaimed = blocking(move || {
            let (before, now) = book.reclaim()?;
            // Nobody carries the old one on meanwhile.
            let _open = shelf.open.blocking_lock();
            shelf.of_each(space, &before, |texts| {
                texts.insert(space, now.clone());
            });
            Ok(())
        });
        reclaimed.await
    }

    /// Those of each snapshot that has just this searcher of a space.
    fn of_each(
        &self,
        space: Space,
        searcher: &Searcher,
        change: impl Fn(&mut HashMap<Space, Searcher>),
    ) {
        let same =
            |known: &Searcher| known.generation().segments() == searcher.generation().segments();
        let snapshots = self.snapshots.lock().expect("nothing panics with it");
        for texts in snapshots.iter().filter_map(Weak::upgrade) {
            let mut texts = texts.lock().expect("nothing panics with it");
            if texts.get(&space).is_some_and(same) {
                change(&mut texts);
            }
        }
    }

    /// Gives the snapshot after a flush the searchers of what is open, and of nothing else. Only a
    /// flush changes what they find, and the next has yet to begin.
    pub async fn carry(&self, next: &Texts) {
        let open = self.open.lock().await;
        let books = open.books.iter();
        let searchers = books.map(|(space, (book, _))| (*space, book.searcher()));
        *next.lock().expect("nothing panics with it") = searchers.collect();
    }

    /// Returns when none is open and all they wrote is on the disk. One that is being made anew is
    /// left to the next start.
    pub async fn close_all(&self) {
        let opening: Vec<Opening> = {
            let open = self.open.lock().await;
            self.ended.store(true, Ordering::Relaxed);
            open.opening.values().cloned().collect()
        };
        for one in opening {
            // Who asked for it is told.
            drop(one.await);
        }
        let closing: Vec<Space> = {
            let mut open = self.open.lock().await;
            let books: Vec<_> = open.books.keys().copied().collect();
            for space in &books {
                open.close(space);
            }
            open.closing.keys().copied().collect()
        };
        for space in closing {
            self.closed(space).await;
        }
    }
}

impl Open {
    /// One that is open, now used.
    fn known(&mut self, space: &Space) -> Option<Arc<Book>> {
        self.uses += 1;
        let (book, used) = self.books.get_mut(space)?;
        *used = self.uses;
        Some(Arc::clone(book))
    }

    fn add(&mut self, space: Space, book: Arc<Book>) {
        self.uses += 1;
        self.books.insert(space, (book, self.uses));
    }

    /// Begins to close one, if it is open.
    fn close(&mut self, space: &Space) {
        if let Some((book, _)) = self.books.remove(space) {
            let closing = close(*space, book).boxed().shared();
            self.closing.insert(*space, closing);
        }
    }
}

/// Goes on whether anybody waits for it or not.
fn begin(shelf: Arc<Shelf>, db: Db, space: Space) -> Opening {
    let opening = tokio::spawn(async move {
        let opened = AssertUnwindSafe(shelf.open_for_all(&db, space));
        let opened = opened.catch_unwind().await.unwrap_or(Err(Error::Stopped));
        if opened.is_err() {
            shelf.open.lock().await.opening.remove(&space);
        }
        opened
    });
    let told = async { opening.await.unwrap_or(Err(Error::Stopped)) };
    told.boxed().shared()
}

/// Goes on whether anybody waits for it or not.
fn close(space: Space, book: Arc<Book>) -> impl Future<Output = bool> {
    let closing = tokio::task::spawn_blocking(move || book.close());
    async move {
        let closed = closing.await.unwrap_or(Err(Error::Stopped));
        let told =
            |error: &Error| tracing::warn!(%space, %error, "a text index did not close well");
        closed.inspect_err(told).is_ok()
    }
}

async fn read_record(view: &DbSnapshot, space: Space) -> Result<SpaceRecord, Error> {
    match store::get(view, key::of_space(key::SPACE, &space)).await? {
        Some(bytes) => SpaceRecord::read(&bytes),
        None => Ok(SpaceRecord::default()),
    }
}

async fn open_blocking(folder: PathBuf) -> Result<Arc<Book>, Error> {
    reading(move || Book::open(&folder).map(Arc::new)).await
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
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            std::fs::remove_file(folder)
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
impl Shelf {
    pub async fn open_books(&self) -> usize {
        self.open.lock().await.books.len()
    }

    /// Returns once none is opened any more.
    pub async fn ended(&self) {
        while !self.ended.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
    }

    /// Returns once somebody has asked for a text that is not open yet.
    pub async fn began_to_open(&self, space: Space) {
        while !self.open.lock().await.opening.contains_key(&space) {
            tokio::task::yield_now().await;
        }
    }
}
