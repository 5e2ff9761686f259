//! Where bytes live: originals by their hash, what Prep made of them by version.
//!
//! ```text
//! staging/<upload>                              bytes on their way in
//! staging/<job>.<file>                          the same, of a file a job lists
//! originals/<tenant>/<hash>                     kept while a version refers to them
//! versions/<tenant>/<version>/<pass>.text       normalised text
//! versions/<tenant>/<version>/<pass>.parsed     atoms and structure, as JSON
//! versions/<tenant>/<version>/<pass>.unit.<u>   one artifact per unit, as JSON
//! versions/<tenant>/<version>/<pass>.progress   how far Prep of a large text is, until Finalize
//! cache/<tenant>/<version>/pages/<n>@<dpi>.png  page images, made again when gone
//! cache/<tenant>/<version>/printed.pdf          what a document without pages is printed on
//! cache/<tenant>/<version>/printed.parsed       where its words stand on that, as JSON
//! ```
//!
//! Every write is durable before it returns; on a local folder the store syncs
//! the file and its parent, and every folder it makes: so a version has but one.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt};
use model::{ContentHash, JobId, TenantId, UnitName, VersionId};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, PutPayload};
use serde::Serialize;
use serde::de::DeserializeOwned;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("object `{key}` is not there")]
    Missing { key: Key },
    #[error("cannot {operation} object `{key}`")]
    Store {
        operation: &'static str,
        key: Key,
        #[source]
        source: object_store::Error,
    },
    #[error("object `{key}` is not what was stored: bring the file again, which puts it right")]
    Changed { key: Key },
    #[error("object `{key}` does not hold what it should")]
    Unreadable {
        key: Key,
        #[source]
        source: serde_json::Error,
    },
}

/// The name of an object; only this module makes one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key(Path);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Key {
    pub fn staging(upload: uuid::Uuid) -> Self {
        Self(Path::from(format!("staging/{upload}")))
    }

    /// As [`Key::staging`], for a file a job lists.
    pub fn staging_for(job: JobId, upload: uuid::Uuid) -> Self {
        Self(Path::from(format!("staging/{job}.{upload}")))
    }

    /// Whether it was staged for the job.
    pub fn is_staged_for(&self, job: JobId) -> bool {
        let name = self.0.filename().unwrap_or_default();
        name.starts_with(&format!("{job}."))
    }

    /// Everything on its way in.
    pub fn all_staged() -> Self {
        Self(Path::from("staging"))
    }

    /// Every original of a tenant.
    pub fn originals(tenant: TenantId) -> Self {
        Self(Path::from(format!("originals/{tenant}")))
    }

    /// What an original must hash to, by its name.
    pub fn original_hash(&self) -> Option<ContentHash> {
        self.0.filename()?.parse().ok()
    }

    pub fn original(tenant: TenantId, hash: &ContentHash) -> Self {
        Self(Path::from(format!("originals/{tenant}/{hash}")))
    }

    /// Everything made of a tenant's versions.
    pub fn versions(tenant: TenantId) -> Self {
        Self(Path::from(format!("versions/{tenant}")))
    }

    /// Which version an object was made of, by its name.
    pub fn owner(&self) -> Option<VersionId> {
        self.0.parts().nth(2)?.as_ref().parse().ok()
    }

    pub fn version(tenant: TenantId, version: VersionId) -> Self {
        Self(Path::from(format!("versions/{tenant}/{version}")))
    }

    pub fn text(tenant: TenantId, version: VersionId, pass: u32) -> Self {
        Self(Path::from(format!(
            "versions/{tenant}/{version}/{pass}.text"
        )))
    }

    pub fn parsed(tenant: TenantId, version: VersionId, pass: u32) -> Self {
        Self(Path::from(format!(
            "versions/{tenant}/{version}/{pass}.parsed"
        )))
    }

    pub fn unit(tenant: TenantId, version: VersionId, pass: u32, unit: &UnitName) -> Self {
        Self(Path::from(format!(
            "versions/{tenant}/{version}/{pass}.unit.{unit}"
        )))
    }

    /// Which pass of its version an artifact was written under, by its name.
    pub fn pass(&self) -> Option<u32> {
        self.0.filename()?.split_once('.')?.0.parse().ok()
    }

    pub fn progress(tenant: TenantId, version: VersionId, pass: u32) -> Self {
        Self(Path::from(format!(
            "versions/{tenant}/{version}/{pass}.progress"
        )))
    }

    /// Whether it may go at any time without being missed.
    pub fn is_progress(&self) -> bool {
        let name = self.0.filename().unwrap_or_default();
        name.ends_with(".progress") && !name.contains(".unit.")
    }

    /// Everything cached of a tenant's versions.
    pub fn all_cached(tenant: TenantId) -> Self {
        Self(Path::from(format!("cache/{tenant}")))
    }

    pub fn cached(tenant: TenantId, version: VersionId) -> Self {
        Self(Path::from(format!("cache/{tenant}/{version}")))
    }

    pub fn printed(tenant: TenantId, version: VersionId) -> Self {
        Self(Path::from(format!("cache/{tenant}/{version}/printed.pdf")))
    }

    pub fn printed_words(tenant: TenantId, version: VersionId) -> Self {
        Self(Path::from(format!(
            "cache/{tenant}/{version}/printed.parsed"
        )))
    }

    pub fn page_image(tenant: TenantId, version: VersionId, page: u32, dpi: u32) -> Self {
        Self(Path::from(format!(
            "cache/{tenant}/{version}/pages/{page}@{dpi}.png"
        )))
    }
}

/// The object store, spoken to in our own keys.
#[derive(Debug, Clone)]
pub struct Objects(Arc<dyn ObjectStore>);

#[expect(
    clippy::disallowed_methods,
    reason = "this is where writes to objects become effects"
)]
impl Objects {
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self(store)
    }

    pub async fn put(&self, key: &Key, bytes: Bytes) -> Result<(), Error> {
        durable::effect("objects.put", self.0.put(&key.0, PutPayload::from(bytes)))
            .await
            .map_err(failed("write", key))?;
        Ok(())
    }

    /// As [`Objects::put`], under a name of its own among the crash points.
    pub async fn put_progress(&self, key: &Key, bytes: Bytes) -> Result<(), Error> {
        let put = self.0.put(&key.0, PutPayload::from(bytes));
        durable::effect("objects.put_progress", put)
            .await
            .map_err(failed("write", key))?;
        Ok(())
    }

    /// Answers with the hash of what it wrote.
    pub async fn put_json(&self, key: &Key, value: &impl Serialize) -> Result<ContentHash, Error> {
        let bytes = serde_json::to_vec(value).map_err(|source| Error::Unreadable {
            key: key.clone(),
            source,
        })?;
        let hash = ContentHash::of(&bytes);
        self.put(key, bytes.into()).await?;
        Ok(hash)
    }

    /// Writes a stream with constant memory; nothing is left behind when it breaks off.
    pub async fn put_stream<E>(
        &self,
        key: &Key,
        mut body: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Result<(), PutStreamError<E>> {
        const PART: usize = 5 << 20;
        const PARTS_IN_FLIGHT: usize = 1;
        let upload = self
            .0
            .put_multipart(&key.0)
            .await
            .map_err(failed("begin", key))?;
        let mut writer = object_store::WriteMultipart::new_with_chunk_size(upload, PART);
        let broken = loop {
            let bytes = match body.next().await {
                None => break None,
                Some(Ok(bytes)) => bytes,
                Some(Err(broken)) => break Some(PutStreamError::Body(broken)),
            };
            if let Err(error) = writer.wait_for_capacity(PARTS_IN_FLIGHT).await {
                break Some(failed("write", key)(error).into());
            }
            writer.put(bytes);
        };
        if let Some(broken) = broken {
            // Should even this fail, the janitor finds what is left, or the store's own rules do.
            if let Err(error) = writer.abort().await {
                tracing::warn!(%error, %key, "could not give up an upload");
            }
            return Err(broken);
        }
        durable::effect("objects.put_stream", writer.finish())
            .await
            .map_err(failed("finish", key))?;
        Ok(())
    }

    pub async fn get(&self, key: &Key) -> Result<Bytes, Error> {
        let found = self.0.get(&key.0).await.map_err(failed("read", key))?;
        found.bytes().await.map_err(failed("read", key))
    }

    pub async fn size(&self, key: &Key) -> Result<u64, Error> {
        let found = self.0.head(&key.0).await.map_err(failed("look up", key))?;
        Ok(found.size)
    }

    pub async fn range(&self, key: &Key, range: std::ops::Range<u64>) -> Result<Bytes, Error> {
        let found = self.0.get_range(&key.0, range).await;
        found.map_err(failed("read", key))
    }

    pub async fn get_json<T: DeserializeOwned>(&self, key: &Key) -> Result<T, Error> {
        let bytes = self.get(key).await?;
        serde_json::from_slice(&bytes).map_err(|source| Error::Unreadable {
            key: key.clone(),
            source,
        })
    }

    pub async fn exists(&self, key: &Key) -> Result<bool, Error> {
        match self.0.head(&key.0).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(source) => Err(failed("look up", key)(source)),
        }
    }

    pub async fn rename(&self, from: &Key, to: &Key) -> Result<(), Error> {
        durable::effect("objects.rename", self.0.rename(&from.0, &to.0))
            .await
            .map_err(failed("rename", from))
    }

    /// Gone afterwards, whether or not it was there.
    pub async fn delete(&self, key: &Key) -> Result<(), Error> {
        match durable::effect("objects.delete", self.0.delete(&key.0)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(source) => Err(failed("delete", key)(source)),
        }
    }

    /// Deletes everything below a key and says how many objects that were.
    pub async fn delete_below(&self, prefix: &Key) -> Result<u64, Error> {
        let found = self.list_below(prefix).await?;
        for (key, _) in &found {
            self.delete(key).await?;
        }
        Ok(found.len() as u64)
    }

    /// The versions something is kept of.
    pub async fn versions_of(&self, tenant: TenantId) -> Result<Vec<VersionId>, Error> {
        self.below(format!("versions/{tenant}")).await
    }

    /// The versions something is cached of.
    pub async fn cached_of(&self, tenant: TenantId) -> Result<Vec<VersionId>, Error> {
        self.below(format!("cache/{tenant}")).await
    }

    async fn below(&self, prefix: String) -> Result<Vec<VersionId>, Error> {
        let prefix = Key(Path::from(prefix));
        let listed = self.0.list_with_delimiter(Some(&prefix.0)).await;
        let listed = listed.map_err(failed("list", &prefix))?;
        let version = |path: &Path| path.filename()?.parse().ok();
        Ok(listed.common_prefixes.iter().filter_map(version).collect())
    }

    pub async fn list_below(&self, prefix: &Key) -> Result<Vec<(Key, ObjectMeta)>, Error> {
        self.0
            .list(Some(&prefix.0))
            .map_ok(|meta| (Key(meta.location.clone()), meta))
            .try_collect()
            .await
            .map_err(failed("list", prefix))
    }
}

/// Either side of a streamed write may break.
#[derive(Debug, thiserror::Error)]
pub enum PutStreamError<E> {
    #[error(transparent)]
    Store(#[from] Error),
    #[error("the bytes stopped coming")]
    Body(E),
}

fn failed(operation: &'static str, key: &Key) -> impl FnOnce(object_store::Error) -> Error {
    let key = key.clone();
    move |source| match source {
        object_store::Error::NotFound { .. } => Error::Missing { key },
        source => Error::Store {
            operation,
            key,
            source,
        },
    }
}
