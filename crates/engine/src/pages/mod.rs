//! Pages as pictures: from the cache, or drawn now and kept there.
//!
//! A PDF is drawn as it is. A DOCX has no pages until somebody prints it, which LibreOffice
//! does where it is installed; the PDF stands in the cache beside the pictures, and a chunk's
//! words are looked up on it to outline them. Nothing here is part of a run: what is lost is
//! drawn again.

mod ahead;
mod artist;
mod counts;
mod refusals;

use std::collections::BTreeSet;

use bytes::Bytes;
use catalog::Version;
use index::StoredChunk;
use model::{PageSize, Parsed, TenantId, VersionId};
use pipeline::printed::Printed;
use serde::Deserialize;

use crate::{Engine, Error};

pub(crate) use ahead::Ahead;
pub(crate) use artist::Artist;

/// What can be tuned.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How many pages after the one looked at are drawn before they are asked for.
    pub ahead: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { ahead: 4 }
    }
}

/// How sharply a page is drawn. Few values, so that an image is made once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drawn {
    #[default]
    ToRead,
    Thumbnail,
}

impl Drawn {
    const fn dpi(self) -> u32 {
        match self {
            Self::ToRead => 110,
            Self::Thumbnail => 22,
        }
    }
}

impl Engine {
    /// A page as PNG, counted from 1; `None` where there is no such page. Those after it are
    /// drawn ahead.
    pub async fn page_image(
        &self,
        tenant: TenantId,
        version: VersionId,
        page: u32,
        drawn: Drawn,
    ) -> Result<Option<Bytes>, Error> {
        // The catalog is asked first: a page of another tenant's version is as unknown as any.
        let version = self.parts.catalog.version(tenant, version).await?;
        let image = self.artist.image(&version, page, drawn).await?;
        if image.is_some() && drawn == Drawn::ToRead {
            self.ahead.draw_after(&version, page);
        }
        Ok(image)
    }

    /// The pages a document without any is printed on, which may take a while, and its chunks
    /// with their places on them. One that is not found there has none.
    pub async fn printed(
        &self,
        version: &Version,
    ) -> Result<(Vec<PageSize>, Vec<StoredChunk>), Error> {
        let print = self.artist.read_print(version).await?;
        let text = self.text(version.tenant, version.id).await?;
        let mut chunks = self.chunks(version.tenant, version.id).await?;
        let placing = tokio::task::spawn_blocking(move || {
            place(&mut chunks, &text, &print);
            (print.pages, chunks)
        });
        placing.await.map_err(|_| Error::StageStopped)
    }

    /// Whether it gets pages by being printed, here.
    pub fn prints(&self, version: &Version) -> bool {
        artist::needs_print(version) && self.parts.sandbox.prints()
    }

    /// Somebody has opened it and may want its pages.
    pub fn draw_ahead(&self, version: &Version) {
        self.ahead.draw_after(version, 0);
    }

    /// How often which came of drawing since the start, by name.
    pub fn drawings(&self) -> Vec<(&'static str, u64)> {
        self.artist.counts.named()
    }
}

fn place(chunks: &mut [StoredChunk], text: &str, print: &Parsed) {
    let printed = Printed::new(text, print);
    for StoredChunk { chunk, .. } in chunks {
        chunk.boxes = printed.boxes(&chunk.span);
        let pages: BTreeSet<u32> = chunk.boxes.iter().map(|place| place.page).collect();
        chunk.pages = pages.into_iter().collect();
    }
}
