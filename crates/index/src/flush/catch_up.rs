//! At open: does what the redo records say was left to do. At close: takes them away.

use std::collections::BTreeMap;
use std::sync::Arc;

use slatedb::{Db, DbSnapshot, WriteBatch};

use crate::Error;
use crate::error::Doing;
use crate::flush::Store;
use crate::place::Space;
use crate::slate::key;
use crate::slate::record::{Changed, Redo, SpaceRecord};
use crate::slate::store::{self, Rows};
use crate::text::shelf::blocking;
use crate::text::{Book, Shelf, rebuild};

/// Answers with the flushes whose redo records are no longer needed.
pub async fn catch_up(store: &Store, view: &DbSnapshot) -> Result<Vec<u64>, Error> {
    let mut flushes = Vec::new();
    let mut owed: BTreeMap<Space, BTreeMap<u64, Vec<Changed>>> = BTreeMap::new();
    let mut rows = Rows::under(view, &[key::REDO]).await?;
    while let Some((key, bytes)) = rows.next().await? {
        let flush = read_flush(&key)?;
        flushes.push(flush);
        // Text that is behind is made again when it is needed; a record nobody can read must
        // not keep everything else from being opened.
        let redo = match Redo::read(&bytes) {
            Ok(redo) => redo,
            Err(error) => {
                tracing::warn!(flush, %error, "a redo record is left out");
                continue;
            }
        };
        for space in redo.removed {
            store.shelf.remove(&space).await?;
            owed.remove(&space);
        }
        for one in redo.changed {
            let of_space = owed.entry(one.space).or_default();
            of_space.entry(flush).or_default().push(one);
        }
    }
    for (space, changes) in owed {
        catch_up_space(store, view, space, &changes).await?;
    }
    Ok(flushes)
}

/// Nothing is left to do for any text: without a record, opening looks into none of them. Where
/// each is known to be whole, the store says so.
pub async fn owe_nothing(db: &Db, shelf: &Shelf) -> Result<(), Error> {
    let view = db.snapshot().doing("take a snapshot")?;
    let mut rows = Rows::under(&view, &[key::REDO]).await?;
    let mut batch = WriteBatch::new();
    while let Some((key, _)) = rows.next().await? {
        batch.delete(key);
    }
    let marked = store::get(&view, key::WHOLE).await?.is_some();
    if !marked && shelf.are_whole(&with_text(&view).await?).await {
        batch.put(key::WHOLE, []);
    }
    if batch.is_empty() {
        return Ok(());
    }
    #[expect(clippy::disallowed_methods, reason = "this is the last flush")]
    let written = durable::effect("index.close", async {
        db.write(batch).await?;
        db.flush().await
    });
    written.await.doing("write the last flush")
}

async fn with_text(view: &DbSnapshot) -> Result<Vec<Space>, Error> {
    let mut spaces = Vec::new();
    let mut rows = Rows::under(view, &[key::SPACE]).await?;
    while let Some((key, bytes)) = rows.next().await? {
        let text = SpaceRecord::read(&bytes).is_ok_and(|record| record.text_flush > 0);
        spaces.extend(key::read_space(&key[1..]).filter(|_| text));
    }
    Ok(spaces)
}

fn read_flush(key: &[u8]) -> Result<u64, Error> {
    let bytes = key.get(1..).and_then(|rest| rest.try_into().ok());
    let bytes = bytes.ok_or_else(|| Error::corrupt("redo record", "its key has no flush"))?;
    Ok(u64::from_be_bytes(bytes))
}

async fn catch_up_space(
    store: &Store,
    view: &DbSnapshot,
    space: Space,
    changes: &BTreeMap<u64, Vec<Changed>>,
) -> Result<(), Error> {
    let Some(bytes) = store::get(view, key::of_space(key::SPACE, &space)).await? else {
        return Ok(());
    };
    // Whoever comes to the space is told so; the others are to be opened.
    let wanted = match SpaceRecord::read(&bytes) {
        // Its text goes with it.
        Ok(record) if record.is_gone() => return Ok(()),
        Ok(record) => record.text_flush,
        Err(error) => {
            tracing::warn!(%space, %error, "a text index is not caught up");
            return Ok(());
        }
    };
    // What cannot be opened or continued from is rebuilt when it is first needed.
    let Ok(book) = store.shelf.behind(space).await else {
        return Ok(());
    };
    match catch_up_book(view, space, &book, wanted, changes).await {
        Err(error) if error.is_of_spoilt_text() => {
            tracing::warn!(%space, %error, "a text index cannot be continued");
            // A merge under way would write into the folder of the next.
            drop(blocking(move || book.close()).await);
            store.shelf.remove(&space).await
        }
        done => done,
    }
}

async fn catch_up_book(
    view: &DbSnapshot,
    space: Space,
    book: &Arc<Book>,
    wanted: u64,
    changes: &BTreeMap<u64, Vec<Changed>>,
) -> Result<(), Error> {
    let at = book.flush()?.unwrap_or(0);
    let known = changes.contains_key(&at) || changes.values().flatten().any(|c| c.since == at);
    if at == wanted || !known {
        return Ok(());
    }
    tracing::info!(%space, at, wanted, "catching the text index up");
    let missing: Vec<Changed> = changes
        .range(at + 1..)
        .flat_map(|(_, changed)| changed.iter().cloned())
        .collect();
    rebuild::changed(view, space, book, wanted, &missing).await?;
    // It is opened anew when it is needed: no merge may still write then.
    let book = Arc::clone(book);
    blocking(move || book.close()).await
}
