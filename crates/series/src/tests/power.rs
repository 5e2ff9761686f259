//! A disk that is full, or has no power: from a given write on, nothing reaches it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

#[derive(Debug)]
pub struct PowerCut {
    pub inner: Arc<dyn ObjectStore>,
    pub writes_left: AtomicUsize,
}

impl std::fmt::Display for PowerCut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "power cut to come on {}", self.inner)
    }
}

impl PowerCut {
    fn spend(&self) -> Result<()> {
        let spend = |left: usize| left.checked_sub(1);
        match self
            .writes_left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, spend)
        {
            Ok(_) => Ok(()),
            // Of a kind that SlateDB does not try again: no test waits for the disk to be emptied.
            Err(_) => Err(Error::NotSupported {
                source: std::io::Error::from(std::io::ErrorKind::StorageFull).into(),
            }),
        }
    }
}

#[async_trait]
impl ObjectStore for PowerCut {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        self.spend()?;
        self.inner.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.spend()?;
        self.inner.put_multipart_opts(location, opts).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.spend()?;
        self.inner.copy_opts(from, to, options).await
    }
}
