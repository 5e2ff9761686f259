//! What Prep made of a version, read back: text, structure, page images.

use bytes::Bytes;
use index::{Snapshot, Space, StoredChunk};
use model::{Atom, Gap, PageSize, Section, TenantId, Unit, UnitName, VersionId, Warning};
use serde::{Deserialize, Serialize};

use crate::objects::{self, Key};
use crate::{Engine, Error};

/// A parsed document without its text, which is an object of its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Structure {
    pub media_type: String,
    pub atoms: Vec<Atom>,
    pub pages: Vec<PageSize>,
    pub title: Option<String>,
    pub language: Option<String>,
    pub properties: std::collections::BTreeMap<String, String>,
    pub gaps: Vec<Gap>,
    pub warnings: Vec<Warning>,
    pub sections: Section,
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
    /// The normalised text that every range of the version points into.
    pub async fn text(&self, tenant: TenantId, version: VersionId) -> Result<String, Error> {
        let version = self.parts.catalog.version(tenant, version).await?;
        let key = Key::text(tenant, version.id, version.pass);
        let bytes = self.parts.objects.get(&key).await?;
        String::from_utf8(bytes.into()).map_err(|_| Error::NotText { key })
    }

    pub async fn structure(
        &self,
        tenant: TenantId,
        version: VersionId,
    ) -> Result<Structure, Error> {
        let version = self.parts.catalog.version(tenant, version).await?;
        let key = Key::parsed(tenant, version.id, version.pass);
        Ok(self.parts.objects.get_json(&key).await?)
    }

    /// One unit as it was chunked: a bounded piece of the text with its atoms, however
    /// large the version is.
    pub async fn unit(
        &self,
        tenant: TenantId,
        version: VersionId,
        unit: &UnitName,
    ) -> Result<Unit, Error> {
        let version = self.parts.catalog.version(tenant, version).await?;
        let key = Key::unit(tenant, version.id, version.pass, unit);
        Ok(self.parts.objects.get_json(&key).await?)
    }

    /// Every chunk the index holds of the version, in reading order.
    pub async fn chunks(
        &self,
        tenant: TenantId,
        version: VersionId,
    ) -> Result<Vec<StoredChunk>, Error> {
        let (snapshot, space) = self.snapshot_with(tenant, version).await?;
        let mut chunks = snapshot.chunks_of(space, version).await?;
        chunks.sort_by_key(|stored| stored.chunk.span.byte_start);
        Ok(chunks)
    }

    /// Those of one unit, in reading order.
    pub async fn chunks_of_unit(
        &self,
        tenant: TenantId,
        version: VersionId,
        unit: &UnitName,
    ) -> Result<Vec<StoredChunk>, Error> {
        let (snapshot, space) = self.snapshot_with(tenant, version).await?;
        Ok(snapshot.chunks_of_unit(space, version, unit).await?)
    }

    /// A snapshot that holds the version, and where it stands in it.
    async fn snapshot_with(
        &self,
        tenant: TenantId,
        version: VersionId,
    ) -> Result<(Snapshot, Space), Error> {
        let version = self.parts.catalog.version(tenant, version).await?;
        let snapshot = self.view(version.needs_flush.unwrap_or(0)).await?;
        let space = Space {
            tenant,
            kb: version.kb,
            generation: version.generation.id,
        };
        Ok((snapshot, space))
    }

    pub async fn original(&self, tenant: TenantId, version: VersionId) -> Result<Bytes, Error> {
        let version = self.parts.catalog.version(tenant, version).await?;
        let key = Key::original(tenant, &version.content_hash);
        Ok(self.parts.objects.get(&key).await?)
    }

    /// A page as PNG: from the cache, or drawn now and kept there.
    pub async fn page_image(
        &self,
        tenant: TenantId,
        version: VersionId,
        page: u32,
        drawn: Drawn,
    ) -> Result<Bytes, Error> {
        let cached = Key::page_image(tenant, version, page, drawn.dpi());
        match self.parts.objects.get(&cached).await {
            Ok(image) => return Ok(image),
            Err(objects::Error::Missing { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let original = self.original(tenant, version).await?;
        let scale = drawn.dpi() as f32 / 72.0;
        let image = self.parts.sandbox.render(original, page, scale).await?;
        self.parts.objects.put(&cached, image.clone()).await?;
        Ok(image)
    }
}
