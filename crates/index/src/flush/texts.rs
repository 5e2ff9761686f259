//! The text side of a flush.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use model::{UnitName, VersionId};

use crate::Error;
use crate::delta::Pending;
use crate::flush::Store;
use crate::place::Space;
use crate::slate::record::Redo;
use crate::text::rebuild::words_of;
use crate::text::shelf::blocking;
use crate::text::{Book, Doc};

/// The words of each chunk of a unit.
pub type Tokens = Vec<Vec<String>>;

/// What is left to do once SlateDB has the flush.
#[derive(Default)]
pub struct TextWork {
    pub redo: Redo,
    /// Shared with the commit, and still here should it have to be repeated.
    docs: BTreeMap<Space, Arc<Vec<Doc>>>,
    /// Spaces whose text is made anew once everything else is done.
    pub rebuild: BTreeSet<Space>,
}

impl TextWork {
    pub fn docs(&mut self, space: &Space) -> &mut Vec<Doc> {
        Arc::make_mut(self.docs.entry(*space).or_default())
    }

    pub fn is_empty(&self) -> bool {
        self.redo.is_empty() && self.rebuild.is_empty()
    }

    /// The spaces whose text changes.
    pub fn spaces(&self) -> Vec<Space> {
        let mut spaces: Vec<Space> = self.redo.changed.iter().map(|one| one.space).collect();
        spaces.dedup();
        spaces
    }

    /// Commits every space that changed.
    ///
    /// `books` were opened before SlateDB had the flush, so none of them is ahead. Each is let
    /// go of once it is committed, should another attempt be needed.
    pub async fn apply(
        &mut self,
        store: &Store,
        books: &mut HashMap<Space, Arc<Book>>,
        flush: u64,
    ) -> Result<(), Error> {
        for space in &self.redo.removed {
            store.shelf.remove(space).await?;
        }
        let spaces = self.spaces();
        let many = spaces.len() > store.settings.open_texts;
        for space in spaces {
            if let Some(book) = books.get(&space) {
                match self.commit(space, Arc::clone(book), flush, many).await {
                    // The store has all that it is made of, this flush included.
                    Err(error) if error.is_of_spoilt_text() => {
                        tracing::warn!(%space, %error, "a text index cannot be continued");
                        self.rebuild.insert(space);
                    }
                    committed => committed?,
                }
                books.remove(&space);
                store.shelf.close_idle().await;
            }
        }
        while let Some(space) = self.rebuild.first().copied() {
            // Gone from its folder it is behind the store, and what is behind is rebuilt.
            store.shelf.remove(&space).await?;
            store.shelf.book(&store.db, space).await?;
            self.rebuild.remove(&space);
        }
        Ok(())
    }

    /// Of `many`, none keeps its writer: its buffer and threads would add up over all of them.
    async fn commit(
        &self,
        space: Space,
        book: Arc<Book>,
        flush: u64,
        many: bool,
    ) -> Result<(), Error> {
        let mine = self.redo.changed.iter().filter(|one| one.space == space);
        let gone: Vec<_> = mine.map(|one| (one.version, one.unit.clone())).collect();
        let docs = self.docs.get(&space).cloned().unwrap_or_default();
        blocking(move || {
            book.commit(flush, &gone, &docs)?;
            // The text is complete without what a merge would have made of it.
            if many && let Err(error) = book.settle() {
                tracing::warn!(%space, %error, "segments of a text index were not merged");
            }
            Ok(())
        })
        .await
    }
}

/// Cuts all new chunks into words, where blocking is allowed.
pub async fn tokenize(
    delta: Arc<Pending>,
) -> Result<BTreeMap<(Space, VersionId), BTreeMap<UnitName, Tokens>>, Error> {
    blocking(move || Ok(tokens_of(&delta))).await
}

fn tokens_of(delta: &Pending) -> BTreeMap<(Space, VersionId), BTreeMap<UnitName, Tokens>> {
    let mut tokens: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for (space, versions) in &delta.spaces {
        for (version, changes) in versions {
            for (unit, write) in &changes.units {
                let words = write.chunks.iter();
                let words = words.map(|c| words_of(&c.chunk, c.language.as_deref()));
                let of_version = tokens.entry((*space, *version)).or_default();
                of_version.insert(unit.clone(), words.collect());
            }
        }
    }
    tokens
}
