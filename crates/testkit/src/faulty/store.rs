//! An object store that fails and is slow.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};

use super::{Dice, Lot};

#[derive(Debug)]
pub struct FaultyStore {
    inner: Arc<dyn ObjectStore>,
    dice: Arc<Dice>,
}

impl FaultyStore {
    pub fn new(inner: Arc<dyn ObjectStore>, dice: Arc<Dice>) -> Self {
        Self { inner, dice }
    }
}

impl fmt::Display for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "faulty {}", self.inner)
    }
}

fn lost() -> object_store::Error {
    let broken = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    object_store::Error::Generic {
        store: "faulty",
        source: Box::new(broken),
    }
}

async fn around<T>(dice: &Dice, work: impl Future<Output = Result<T>>) -> Result<T> {
    match dice.throw().await {
        Lot::Well => work.await,
        Lot::LostBefore => Err(lost()),
        Lot::LostAfter => {
            work.await?;
            Err(lost())
        }
    }
}

#[async_trait]
impl ObjectStore for FaultyStore {
    async fn put_opts(&self, at: &Path, bytes: PutPayload, o: PutOptions) -> Result<PutResult> {
        around(&self.dice, self.inner.put_opts(at, bytes, o)).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let inner = around(&self.dice, self.inner.put_multipart_opts(at, options)).await?;
        let dice = Arc::clone(&self.dice);
        Ok(Box::new(FaultyUpload { inner, dice }))
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        around(&self.dice, self.inner.get_opts(at, options)).await
    }

    fn delete_stream(
        &self,
        at: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let dice = Arc::clone(&self.dice);
        self.inner
            .delete_stream(at)
            .then(move |deleted| {
                let dice = Arc::clone(&dice);
                // The answer is lost, not the effect: what is gone cannot be asked to stay.
                async move { around(&dice, async { deleted }).await }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let dice = Arc::clone(&self.dice);
        let first = async move { around(&dice, async { Ok(()) }).await };
        let listed = self.inner.list(prefix);
        // It fails as a whole or not at all: a listing is one request.
        futures::stream::once(first)
            .flat_map(|asked| match asked {
                Ok(()) => futures::stream::empty().boxed(),
                Err(error) => futures::stream::iter([Err(error)]).boxed(),
            })
            .chain(listed)
            .boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        around(&self.dice, self.inner.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        around(&self.dice, self.inner.copy_opts(from, to, options)).await
    }
}

#[derive(Debug)]
struct FaultyUpload {
    inner: Box<dyn MultipartUpload>,
    dice: Arc<Dice>,
}

#[async_trait]
impl MultipartUpload for FaultyUpload {
    fn put_part(&mut self, bytes: PutPayload) -> UploadPart {
        let part = self.inner.put_part(bytes);
        let dice = Arc::clone(&self.dice);
        Box::pin(async move { around(&dice, part).await })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        around(&self.dice, self.inner.complete()).await
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}
