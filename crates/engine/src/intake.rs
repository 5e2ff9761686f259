//! Bytes come in: hashed while they are stored, then admitted in one transaction.
//!
//! In: a stream and what is known of it. Out: where the document stands, or a
//! skip with its reason. The original is durable before the catalog knows of it;
//! a body that breaks off leaves nothing behind.

use bytes::{Bytes, BytesMut};
use catalog::{Admission, Admitted, Kb, RunType};
use futures::{Stream, StreamExt, stream};
use model::{ContentHash, DocumentId, JobId, SourceId, SourceOrder, SourceUri, TenantId, UserId};
use parse::{Format, Hints};
use sha2::{Digest, Sha256};

use crate::objects::{self, Key, PutStreamError};
use crate::{Engine, Error};

/// A body up to here is held in memory and written once, under its final name.
const HELD_IN_MEMORY: usize = 1 << 20;

/// Bytes that have arrived, with their hash. Neither admitted nor discarded, the janitor
/// takes them.
#[derive(Debug)]
pub struct Staged {
    pub hash: ContentHash,
    pub size: u64,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Held(Bytes),
    /// Under this key, with its beginning kept at hand.
    Stored(Key, Bytes),
}

impl Staged {
    /// The format of the bytes, or why we read none like it. `None` for a large archive,
    /// which keeps its table at the end: what is in it shows when it is read.
    pub fn format(&self, hints: &Hints) -> Result<Option<Format>, parse::Error> {
        match &self.body {
            Body::Held(bytes) => Format::detect(bytes, hints).map(Some),
            Body::Stored(_, head) => Format::detect_head(head, hints),
        }
    }

    /// Whether it is a text that had better be read in [slices](Engine::slices).
    pub fn is_large_text(&self, hints: &Hints) -> bool {
        self.stored().is_some()
            && matches!(self.format(hints), Ok(Some(format)) if format.streams())
    }

    /// Where it is stored; `None` where it is held in memory.
    pub(crate) fn stored(&self) -> Option<&Key> {
        match &self.body {
            Body::Held(_) => None,
            Body::Stored(key, _) => Some(key),
        }
    }

    /// Its first bytes, enough to tell what it is; all of them where it is held in memory.
    pub(crate) fn beginning(&self) -> &Bytes {
        match &self.body {
            Body::Held(bytes) | Body::Stored(_, bytes) => bytes,
        }
    }

    /// How much memory it takes until it is admitted.
    pub fn held(&self) -> usize {
        match &self.body {
            Body::Held(bytes) => bytes.len(),
            Body::Stored(_, head) => head.len(),
        }
    }
}

/// What makes a document the same document next time.
#[derive(Debug, Clone)]
pub enum Identity {
    /// Its bytes: `upload://sha256:…`.
    Content,
    /// Its path or address: changed bytes are a new version.
    Uri(SourceUri),
}

/// All that is known of some bytes besides the bytes.
#[derive(Debug, Clone)]
pub struct Intake {
    pub tenant: TenantId,
    pub identity: Identity,
    /// The id the document gets if it is a new one.
    pub promised: Option<DocumentId>,
    pub filename: String,
    pub title: Option<String>,
    pub claimed_type: Option<String>,
    pub metadata: serde_json::Map<String, serde_json::Value>,
    pub order: SourceOrder,
    pub run_type: RunType,
    pub job: Option<JobId>,
    pub source: Option<SourceId>,
    pub initiated_by: Option<UserId>,
    pub trace: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum StageError<E> {
    #[error("the file is larger than the limit of {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("the bytes stopped coming")]
    Body(#[source] E),
    #[error(transparent)]
    Engine(#[from] Error),
}

/// Why a body that is being stored is given up.
enum Broken<E> {
    TooLarge,
    Body(E),
}

impl Engine {
    /// Takes in a body of at most `limit` bytes with constant memory.
    pub async fn stage<E>(
        &self,
        body: impl Stream<Item = Result<Bytes, E>> + Unpin,
        limit: u64,
    ) -> Result<Staged, StageError<E>> {
        self.stage_holding(body, limit, HELD_IN_MEMORY).await
    }

    /// The same for one body of many, of which `room` bytes at most may wait in memory.
    pub async fn stage_holding<E>(
        &self,
        body: impl Stream<Item = Result<Bytes, E>> + Unpin,
        limit: u64,
        room: usize,
    ) -> Result<Staged, StageError<E>> {
        let key = Key::staging(uuid::Uuid::now_v7());
        self.stage_at(key, body, limit, room).await
    }

    /// The same for a file a job lists: the end of its cancel takes what is left of it.
    pub(crate) async fn stage_for<E>(
        &self,
        job: JobId,
        body: impl Stream<Item = Result<Bytes, E>> + Unpin,
        limit: u64,
    ) -> Result<Staged, StageError<E>> {
        let key = Key::staging_for(job, uuid::Uuid::now_v7());
        self.stage_at(key, body, limit, HELD_IN_MEMORY).await
    }

    async fn stage_at<E>(
        &self,
        key: Key,
        mut body: impl Stream<Item = Result<Bytes, E>> + Unpin,
        limit: u64,
        room: usize,
    ) -> Result<Staged, StageError<E>> {
        let mut hasher = Sha256::new();
        let mut held = BytesMut::new();
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(StageError::Body)?;
            hasher.update(&piece);
            held.extend_from_slice(&piece);
            if held.len() as u64 > limit {
                return Err(StageError::TooLarge { limit });
            }
            if held.len() > room.min(HELD_IN_MEMORY) {
                let held = held.freeze();
                return self.stage_large(key, held, body, hasher, limit).await;
            }
        }
        Ok(Staged {
            hash: ContentHash::from_bytes(hasher.finalize().into()),
            size: held.len() as u64,
            body: Body::Held(held.freeze()),
        })
    }

    async fn stage_large<E>(
        &self,
        key: Key,
        begun: Bytes,
        rest: impl Stream<Item = Result<Bytes, E>> + Unpin,
        mut hasher: Sha256,
        limit: u64,
    ) -> Result<Staged, StageError<E>> {
        let mut size = begun.len() as u64;
        let head = Bytes::copy_from_slice(&begun[..begun.len().min(Format::HEAD_BYTES)]);
        let counted = rest.map(|piece| {
            let piece = piece.map_err(Broken::Body)?;
            hasher.update(&piece);
            size += piece.len() as u64;
            if size > limit {
                Err(Broken::TooLarge)
            } else {
                Ok(piece)
            }
        });
        let whole = stream::iter([Ok(begun)]).chain(counted);
        self.parts
            .objects
            .put_stream(&key, Box::pin(whole))
            .await
            .map_err(|error| match error {
                PutStreamError::Store(error) => StageError::Engine(error.into()),
                PutStreamError::Body(Broken::TooLarge) => StageError::TooLarge { limit },
                PutStreamError::Body(Broken::Body(error)) => StageError::Body(error),
            })?;
        Ok(Staged {
            hash: ContentHash::from_bytes(hasher.finalize().into()),
            size,
            body: Body::Stored(key, head),
        })
    }

    /// Gives up bytes that will not be admitted.
    pub async fn discard(&self, staged: Staged) {
        let Body::Stored(key, _) = staged.body else {
            return;
        };
        if let Err(error) = self.parts.objects.delete(&key).await {
            tracing::warn!(%error, %key, "could not give up an upload; the janitor will");
        }
    }

    /// Keeps the original, then tells the catalog: durable, then done.
    pub async fn admit(&self, kb: &Kb, intake: Intake, staged: Staged) -> Result<Admitted, Error> {
        let _open = self.door.read().await;
        let mut admission = self.keep(kb, intake, staged).await?;
        loop {
            let now = self.parts.clock.now();
            let admitted = self.parts.catalog.admit(admission.clone(), now).await;
            if !is_retired(&admitted) {
                self.work_added();
                return Ok(admitted?);
            }
            self.follow(kb, std::slice::from_mut(&mut admission))
                .await?;
        }
    }

    /// Another generation serves since the caller looked: it is the one to be admitted to.
    pub(crate) async fn follow(&self, kb: &Kb, admissions: &mut [Admission]) -> Result<(), Error> {
        let kb = self.parts.catalog.kb(kb.tenant, kb.id).await?;
        for admission in admissions {
            admission.generation = kb.serving.id;
            admission.config = self.run_config(&kb);
        }
        Ok(())
    }

    /// Makes the original durable under its hash and says what the catalog should be told.
    /// The caller holds the door open until it has told it.
    pub(crate) async fn keep(
        &self,
        kb: &Kb,
        intake: Intake,
        staged: Staged,
    ) -> Result<Admission, Error> {
        let there = self.is_kept(intake.tenant, &staged).await?;
        self.keep_unless(there, kb, intake, staged).await
    }

    /// Whether the same bytes are stored already, as when a folder is ingested again. What stands
    /// there is looked at: changed since, it is put right by whoever brings the file.
    pub(crate) async fn is_kept(&self, tenant: TenantId, staged: &Staged) -> Result<bool, Error> {
        let original = Key::original(tenant, &staged.hash);
        let Body::Held(bytes) = &staged.body else {
            return Ok(self.parts.objects.exists(&original).await?);
        };
        match self.parts.objects.get(&original).await {
            Ok(stored) => Ok(stored == *bytes),
            Err(objects::Error::Missing { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) async fn keep_unless(
        &self,
        there: bool,
        kb: &Kb,
        intake: Intake,
        staged: Staged,
    ) -> Result<Admission, Error> {
        // Refused here rather than in every step: nothing could be embedded.
        if let Err(unknown) = self.model(&kb.serving) {
            self.discard(staged).await;
            return Err(unknown);
        }
        if let Identity::Uri(uri) = &intake.identity
            && let Err(refused) = check_address(uri)
        {
            self.discard(staged).await;
            return Err(refused);
        }
        let original = Key::original(intake.tenant, &staged.hash);
        match staged.body {
            Body::Held(_) if there => {}
            Body::Held(bytes) => self.parts.objects.put(&original, bytes).await?,
            Body::Stored(key, _) => self.parts.objects.rename(&key, &original).await?,
        }
        let source_uri = match intake.identity {
            Identity::Content => SourceUri::of_upload(&staged.hash),
            Identity::Uri(uri) => uri,
        };
        Ok(Admission {
            tenant: intake.tenant,
            kb: kb.id,
            generation: kb.serving.id,
            source_uri,
            promised: intake.promised,
            content_hash: staged.hash,
            size: staged.size,
            media_type: intake.claimed_type,
            filename: intake.filename,
            title: intake.title,
            metadata: intake.metadata,
            order: intake.order,
            job: intake.job,
            source: intake.source,
            initiated_by: intake.initiated_by,
            run_type: intake.run_type,
            config: self.run_config(kb),
            trace: intake.trace,
        })
    }
}

pub(crate) fn check_address(uri: &SourceUri) -> Result<(), Error> {
    if uri.fits() {
        return Ok(());
    }
    Err(Error::BadRequest {
        what: "the address is too long",
        why: format!(
            "it has {} bytes, escapes included, and may have {}",
            uri.as_str().len(),
            SourceUri::MAX_BYTES
        ),
    })
}

pub(crate) fn is_retired<T>(admitted: &Result<T, catalog::Error>) -> bool {
    matches!(admitted, Err(catalog::Error::Retired { .. }))
}
