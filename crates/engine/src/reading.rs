//! What Prep made of a version, read back: text and structure.

use bytes::Bytes;
use index::{Snapshot, Space, StoredChunk};
use model::{Atom, Gap, PageSize, Section, TenantId, Unit, UnitName, VersionId, Warning};
use serde::{Deserialize, Serialize};

use crate::objects::Key;
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
}
