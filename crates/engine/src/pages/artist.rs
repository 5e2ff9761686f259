//! Who draws: on demand and ahead of it, by two hands.

use std::sync::Arc;

use bytes::Bytes;
use catalog::{Catalog, Version};
use model::{ContentHash, Gap, PageSize, Parsed};
use parse::Format;
use parse::pdf::is_picture;
use sandbox::{Fault, Sandbox};
use tokio::sync::Mutex;

use super::Drawn;
use super::counts::{Counts, Outcome};
use super::refusals::{Refusals, Subject};
use crate::clock::Clock;
use crate::objects::{self, Key};
use crate::{Error, Objects, Parts};

pub(crate) struct Artist {
    catalog: Arc<dyn Catalog>,
    objects: Objects,
    clock: Arc<dyn Clock>,
    sandbox: Arc<Sandbox>,
    /// Children of its own: whoever reads documents does not wait for who draws, nor the
    /// other way round.
    easel: Sandbox,
    /// One child that stands back for every other process.
    behind: Sandbox,
    /// One page at a time of those that hurt whoever read them.
    gloves: Mutex<()>,
    /// One print at a time: it takes seconds of a core and hundreds of megabytes.
    press: Mutex<()>,
    refusals: Refusals,
    pub(super) counts: Counts,
}

/// Whether somebody waits for the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hand {
    Asked,
    Ahead,
}

/// Whether it has no pages before it is printed.
pub(super) fn needs_print(version: &Version) -> bool {
    version.media_type.as_deref() == Some(Format::Docx.media_type())
}

/// Whether reading it failed, so that drawing may take long and fail too. A picture was not
/// read either, but harms nobody.
fn hurts(version: &Version, page: u32) -> bool {
    let holds = |gap: &Gap| {
        let pages = gap.pages.filter(|_| !is_picture(gap));
        pages.is_some_and(|(first, last)| (first..=last).contains(&page))
    };
    version.gaps.iter().any(holds)
}

impl Artist {
    pub(crate) fn new(parts: &Parts) -> Self {
        Self {
            catalog: parts.catalog.clone(),
            objects: parts.objects.clone(),
            clock: parts.clock.clone(),
            sandbox: parts.sandbox.clone(),
            easel: parts.sandbox.beside(),
            behind: parts.sandbox.behind(),
            gloves: Mutex::default(),
            press: Mutex::default(),
            refusals: Refusals::default(),
            counts: Counts::default(),
        }
    }

    pub(super) async fn image(
        self: &Arc<Self>,
        version: &Version,
        page: u32,
        drawn: Drawn,
    ) -> Result<Option<Bytes>, Error> {
        let key = image_key(version, page, drawn);
        if let Some(image) = self.cached(&key).await? {
            self.counts.add(Outcome::Kept);
            return Ok(Some(image));
        }
        self.draw(version, page, drawn, Hand::Asked).await
    }

    /// Draws a page that is not kept yet; `false` where there is no such page.
    pub(super) async fn draw_ahead(
        self: &Arc<Self>,
        version: &Version,
        page: u32,
    ) -> Result<bool, Error> {
        let key = image_key(version, page, Drawn::ToRead);
        if hurts(version, page) || self.objects.exists(&key).await? {
            return Ok(true);
        }
        let image = self.draw(version, page, Drawn::ToRead, Hand::Ahead).await?;
        Ok(image.is_some())
    }

    async fn draw(
        self: &Arc<Self>,
        version: &Version,
        page: u32,
        drawn: Drawn,
        hand: Hand,
    ) -> Result<Option<Bytes>, Error> {
        let sizes = self.sizes(version).await?;
        if !(1..=sizes.len()).contains(&(page as usize)) {
            return Ok(None);
        }
        let turn = match hurts(version, page) {
            true => Some(self.gloves.lock().await),
            false => None,
        };
        let key = image_key(version, page, drawn);
        // Whoever was before may have wanted the same.
        if turn.is_some()
            && let Some(image) = self.cached(&key).await?
        {
            return Ok(Some(image));
        }
        if let Some(why) = self
            .refusals
            .why((version.id, Some(page)), self.clock.now())
        {
            return Err(Error::NotDrawn { page, why });
        }
        let paper = match needs_print(version) {
            true => self.printed(version).await?,
            false => self.original(version).await?,
        };
        let sandbox = match hand {
            Hand::Asked if turn.is_none() => &self.easel,
            Hand::Asked | Hand::Ahead => &self.behind,
        };
        let scale = drawn.dpi() as f32 / 72.0;
        let image = sandbox.render(paper, page, scale).await;
        let image = image.map_err(|error| self.not_drawn(version, page, error))?;
        self.keep(version, &key, &image).await?;
        self.counts.add(match hand {
            Hand::Asked => Outcome::Asked,
            Hand::Ahead => Outcome::Ahead,
        });
        Ok(Some(image))
    }

    async fn sizes(self: &Arc<Self>, version: &Version) -> Result<Vec<PageSize>, Error> {
        match needs_print(version) {
            true => Ok(self.read_print(version).await?.pages),
            false => Ok(self.catalog.pages(version.tenant, version.id).await?),
        }
    }

    /// Whether drawing now keeps no document waiting.
    pub(super) fn is_free(&self) -> bool {
        self.sandbox.has_room()
    }

    /// The print of a document as it was read: its pages, and where its words stand on them.
    pub(super) async fn read_print(self: &Arc<Self>, version: &Version) -> Result<Parsed, Error> {
        let key = Key::printed_words(version.tenant, version.id);
        if let Some(json) = self.cached(&key).await?
            && let Ok(read) = serde_json::from_slice(&json)
        {
            return Ok(read);
        }
        let printed = self.printed(version).await?;
        let read = self.sandbox.read_print(printed).await?;
        let json = serde_json::to_vec(&read).expect("what was read is plain data");
        self.keep(version, &key, &json.into()).await?;
        Ok(read)
    }

    async fn printed(self: &Arc<Self>, version: &Version) -> Result<Bytes, Error> {
        let key = Key::printed(version.tenant, version.id);
        if let Some(printed) = self.cached(&key).await? {
            return Ok(printed);
        }
        if !self.sandbox.prints() {
            return Err(Error::NoOffice);
        }
        // It goes on when whoever asked has left: who asks again finds it done.
        let (artist, version) = (self.clone(), version.clone());
        let printing = tokio::spawn(async move { artist.print(&version, &key).await });
        printing.await.map_err(|_| Error::StageStopped)?
    }

    async fn print(&self, version: &Version, key: &Key) -> Result<Bytes, Error> {
        let _turn = self.press.lock().await;
        // Whoever was before may have wanted the same.
        if let Some(printed) = self.cached(key).await? {
            return Ok(printed);
        }
        if let Some(why) = self.refusals.why((version.id, None), self.clock.now()) {
            return Err(Error::NotPrinted { why });
        }
        let original = self.original(version).await?;
        let printed = self.sandbox.print(original).await;
        let printed = printed.map_err(|error| self.refused(version, error))?;
        self.keep(version, key, &printed).await?;
        self.counts.add(Outcome::Printed);
        Ok(printed)
    }

    fn refused(&self, version: &Version, error: sandbox::Error) -> Error {
        self.counts.add(Outcome::NotPrinted);
        match self.remembered((version.id, None), error) {
            Ok(why) => Error::NotPrinted { why },
            Err(error) => error,
        }
    }

    fn not_drawn(&self, version: &Version, page: u32, error: sandbox::Error) -> Error {
        self.counts.add(Outcome::NotDrawn);
        match self.remembered((version.id, Some(page)), error) {
            Ok(why) => Error::NotDrawn { page, why },
            Err(error) => error,
        }
    }

    /// What is the document's fault stays so, and is not tried again at once.
    fn remembered(&self, of: Subject, error: sandbox::Error) -> Result<String, Error> {
        if error.fault() == Fault::Ours {
            return Err(error.into());
        }
        let why = error.to_string();
        let (version_id, page) = of;
        tracing::warn!(%version_id, page, why, "a document could not be drawn");
        self.refusals.remember(of, why.clone(), self.clock.now());
        Ok(why)
    }

    async fn original(&self, version: &Version) -> Result<Bytes, Error> {
        let key = Key::original(version.tenant, &version.content_hash);
        Ok(self.objects.get(&key).await?)
    }

    /// What is kept, if it is what was kept: anything else is made again.
    async fn cached(&self, key: &Key) -> Result<Option<Bytes>, Error> {
        match self.objects.get(key).await {
            Ok(kept) => Ok(unsealed(&kept)),
            Err(objects::Error::Missing { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Kept, unless the version has gone meanwhile. Whoever removes one empties its cache once
    /// more after its row, so that either side sees the other.
    async fn keep(&self, version: &Version, key: &Key, bytes: &Bytes) -> Result<(), Error> {
        self.objects.put(key, sealed(bytes)).await?;
        if let Err(gone) = self.catalog.version(version.tenant, version.id).await {
            self.objects.delete(key).await?;
            return Err(gone.into());
        }
        Ok(())
    }
}

/// Bytes of a hash.
const HASH: usize = 32;

/// With their hash behind them: `verify` asks nobody for pictures, so whoever reads one does.
fn sealed(bytes: &Bytes) -> Bytes {
    let hash = ContentHash::of(bytes);
    [&bytes[..], hash.as_bytes()].concat().into()
}

fn unsealed(kept: &Bytes) -> Option<Bytes> {
    let end = kept.len().checked_sub(HASH)?;
    let bytes = kept.slice(..end);
    (ContentHash::of(&bytes).as_bytes()[..] == kept[end..]).then_some(bytes)
}

fn image_key(version: &Version, page: u32, drawn: Drawn) -> Key {
    Key::page_image(version.tenant, version.id, page, drawn.dpi())
}
