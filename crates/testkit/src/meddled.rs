//! An object store with somebody between it and who uses it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// What a store is asked for, with the path it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked<'a> {
    Read(&'a Path),
    Write(&'a Path),
}

/// Who is told of reads and writes, and may hold them up or refuse them.
///
/// Listings and deletions pass by: they are streams, and no test meddles with them here.
#[async_trait]
pub trait Meddler: fmt::Debug + Send + Sync + 'static {
    /// Before the store hears of it; after an error it never does.
    async fn before(&self, _asked: Asked<'_>) -> Result<()> {
        Ok(())
    }

    /// Once the store has answered, and before whoever asked knows.
    async fn after(&self, _asked: Asked<'_>) {}
}

/// A store that hands everything on, by way of a [`Meddler`].
#[derive(Debug)]
pub struct Meddled<M> {
    inner: Arc<dyn ObjectStore>,
    pub by: M,
}

impl<M: Meddler> Meddled<M> {
    pub fn new(inner: Arc<dyn ObjectStore>, by: M) -> Arc<Self> {
        Arc::new(Self { inner, by })
    }

    async fn around<T>(
        &self,
        asked: Asked<'_>,
        work: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        self.by.before(asked).await?;
        let answer = work.await;
        self.by.after(asked).await;
        answer
    }
}

impl<M: Meddler> fmt::Display for Meddled<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "meddled with {}", self.inner)
    }
}

#[async_trait]
impl<M: Meddler> ObjectStore for Meddled<M> {
    async fn put_opts(&self, at: &Path, bytes: PutPayload, o: PutOptions) -> Result<PutResult> {
        let put = self.inner.put_opts(at, bytes, o);
        self.around(Asked::Write(at), put).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let begun = self.inner.put_multipart_opts(at, options);
        self.around(Asked::Write(at), begun).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        let read = self.inner.get_opts(at, options);
        self.around(Asked::Read(at), read).await
    }

    fn delete_stream(
        &self,
        at: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(at)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let copied = self.inner.copy_opts(from, to, options);
        self.around(Asked::Write(to), copied).await
    }
}
