//! A whole source becomes documents, a batch at a time.
//!
//! Each batch is read and its originals made durable; then one transaction admits
//! it and moves the cursor past it. Killed anywhere, the listing goes on at the
//! cursor: a batch is admitted whole or not at all. The gate is asked before each.

use std::io::Read as _;
use std::path::PathBuf;

use bytes::Bytes;
use catalog::{Batch, JobClaim, Kb, Problem, RunType, Unseen};
use futures::future::{join_all, try_join_all};
use futures::{StreamExt, stream};
use model::{Gate, gate};
use serde::{Deserialize, Serialize};
use sources::folder::{self, Cursor, Folder, Found, Walk};
use tokio_util::io::ReaderStream;

use crate::intake::{Identity, Intake, StageError, Staged, check_address, is_retired};
use crate::{Engine, Error};

/// What a folder source keeps in its configuration.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderSource {
    #[serde(with = "folder::roots")]
    pub roots: Vec<PathBuf>,
    /// Put on every document of the source.
    #[serde(default)]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// Whether a document whose file is gone stops answering.
    #[serde(default)]
    pub remove_missing: bool,
}

/// How a turn at a job's listing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// A batch was admitted and more may follow.
    More,
    /// Everything was listed.
    Exhausted,
    /// Not now: the gate says why.
    Wait(&'static str),
    /// The job was called off.
    Stopped,
}

/// Files admitted in one transaction.
const BATCH: usize = 64;
/// Files read and synced at the same time; the disk settles several for the price of one.
const READS: usize = 32;
/// Documents looked at in one go when those that are gone are removed.
const REMOVALS: u32 = 500;
const PIECE: usize = 256 * 1024;

/// A listing under way; a new one is made from the claim after a restart.
pub struct Listing {
    claim: JobClaim,
    source: FolderSource,
    kb: Kb,
    folder: Folder,
    walk: Option<Walk>,
}

impl Engine {
    /// Opens the listing a claim stands for, at its cursor.
    pub async fn listing(&self, claim: JobClaim) -> Result<Listing, Error> {
        let bad = |why: serde_json::Error| Error::BadRequest {
            what: "the source's configuration cannot be read",
            why: why.to_string(),
        };
        let kb = self.parts.catalog.kb(claim.tenant, claim.kb).await?;
        let source: FolderSource = serde_json::from_value(claim.config.clone()).map_err(bad)?;
        let cursor: Cursor = match claim.cursor.clone() {
            Some(cursor) => serde_json::from_value(cursor).map_err(bad)?,
            None => Cursor::default(),
        };
        let roots = source.roots.clone();
        let folder = blocking(move || Folder::new(&roots)).await??;
        let walk = folder.walk(cursor);
        Ok(Listing {
            claim,
            source,
            kb,
            folder,
            walk: Some(walk),
        })
    }

    /// One batch of the listing: read, kept, then admitted with the cursor.
    pub async fn list_batch(&self, listing: &mut Listing) -> Result<Turn, Error> {
        let claim = &listing.claim;
        // The gate is asked behind the door: whoever shuts it once a job is called off has seen
        // the last of its files.
        let open = self.door.read().await;
        let job = self.parts.catalog.job(claim.tenant, claim.job).await?;
        match gate(Some(job.status)) {
            Gate::Go => {}
            Gate::Wait(why) => return Ok(Turn::Wait(why)),
            Gate::Stop(_) => return Ok(Turn::Stopped),
        }
        let mut walk = listing.walk.take().expect("a turn gives the walk back");
        let (walk, found) = blocking(move || {
            let found = walk.next_batch(BATCH);
            (walk, found)
        })
        .await?;
        listing.walk = Some(walk);
        let exhausted = found.exhausted;
        let mut batch = self.read_batch(listing, found).await?;
        if exhausted && listing.source.remove_missing {
            // Before the batch that ends the listing: killed here, it is listed again.
            self.remove_unseen(listing, &batch).await?;
        }
        #[cfg(debug_assertions)]
        if self.settings.plant == Some(crate::Plant::MovesCursorTooEarly) {
            self.move_cursor(&listing.claim, &batch).await?;
        }
        loop {
            let now = self.parts.clock.now();
            let catalog = &self.parts.catalog;
            let admitted = catalog.admit_batch(&listing.claim, batch.clone(), now);
            let admitted = admitted.await;
            if !is_retired(&admitted) {
                if let Err(refused) = admitted {
                    drop(open);
                    self.take_back(&listing.claim).await?;
                    return Err(refused.into());
                }
                break;
            }
            self.follow(&listing.kb, &mut batch.admissions).await?;
        }
        self.work_added();
        Ok(if exhausted {
            Turn::Exhausted
        } else {
            Turn::More
        })
    }

    /// Past a batch that is not admitted yet.
    #[cfg(debug_assertions)]
    async fn move_cursor(&self, claim: &JobClaim, batch: &Batch) -> Result<(), Error> {
        let moved = Batch {
            admissions: Vec::new(),
            seen: Vec::new(),
            problems: Vec::new(),
            cursor: batch.cursor.clone(),
            exhausted: false,
        };
        let now = self.parts.clock.now();
        self.parts.catalog.admit_batch(claim, moved, now).await?;
        Ok(())
    }

    /// Originals kept for a batch of a job that was canceled meanwhile, but for those others
    /// refer to. Of any other job they are read again, here or by who has its listing now.
    async fn take_back(&self, claim: &JobClaim) -> Result<(), Error> {
        let job = self.parts.catalog.job(claim.tenant, claim.job).await?;
        if !matches!(gate(Some(job.status)), Gate::Stop(_)) {
            return Ok(());
        }
        let mut taken = 0;
        self.delete_freed(&mut taken).await
    }

    async fn read_batch(&self, listing: &Listing, found: folder::Batch) -> Result<Batch, Error> {
        let mut batch = Batch {
            cursor: serde_json::to_value(&found.cursor).expect("a cursor is plain data"),
            exhausted: found.exhausted,
            admissions: Vec::with_capacity(found.found.len()),
            seen: Vec::new(),
            problems: Vec::new(),
        };
        batch
            .problems
            .extend(found.problems.into_iter().map(|p| Problem {
                source_uri: p.path.as_deref().map(sources::uri::of_path),
                message: p.message,
            }));
        for files in found.found.chunks(READS) {
            self.read_some(listing, files, &mut batch).await?;
        }
        Ok(batch)
    }

    async fn read_some(
        &self,
        listing: &Listing,
        files: &[Found],
        batch: &mut Batch,
    ) -> Result<(), Error> {
        let mut staged = Vec::with_capacity(files.len());
        let reads = join_all(files.iter().map(|file| self.read_file(listing, file))).await;
        for (read, file) in reads.into_iter().zip(files) {
            match read {
                Ok(read) => staged.push(read),
                Err(error) if error.is_about_the_file() => {
                    // What no document can be called is nothing to remember either.
                    if file.uri.fits() {
                        batch.seen.push(file.uri.clone());
                    }
                    batch.problems.push(Problem {
                        source_uri: Some(file.uri.clone()),
                        message: error.explain(),
                    });
                }
                Err(error) => return Err(error),
            }
        }
        let arrived = self.note_arrived(&listing.claim, staged).await?;
        let kept = arrived
            .into_iter()
            .map(|file| self.keep_unless(file.there, &listing.kb, file.intake, file.staged));
        batch.admissions.extend(try_join_all(kept).await?);
        Ok(())
    }

    async fn read_file(&self, listing: &Listing, found: &Found) -> Result<(Intake, Staged), Error> {
        check_address(&found.uri)?;
        let path = found.path.clone();
        // What one piece holds is read where the file is opened: most files are no larger, and
        // to wake a thread costs more than to read them.
        let (opened, head) = blocking(move || {
            let mut opened = folder::open(&path)?;
            let head = first_piece(&mut opened.file, opened.size);
            Ok::<_, sources::Error>((opened, head))
        })
        .await??;
        let is_whole = head.as_ref().is_ok_and(|head| head.len() < PIECE);
        let file = tokio::fs::File::from_std(opened.file);
        let rest = ReaderStream::with_capacity(file, PIECE);
        let rest = rest.take(if is_whole { 0 } else { usize::MAX });
        let body = stream::iter([head]).chain(rest);
        let limit = self.settings.file_limit;
        let staged = self.stage_for(listing.claim.job, body, limit).await;
        let staged = staged.map_err(|error| match error {
            StageError::TooLarge { limit } => Error::BadRequest {
                what: "the file is too large",
                why: format!("the limit is {limit} bytes, which upload.max_mb sets"),
            },
            StageError::Body(cause) => Error::Source(sources::Error::Unreadable {
                path: found.path.clone(),
                cause,
            }),
            StageError::Engine(error) => error,
        })?;
        let name = found.path.file_name().unwrap_or_default();
        let intake = Intake {
            tenant: listing.claim.tenant,
            identity: Identity::Uri(found.uri.clone()),
            promised: None,
            filename: name.to_string_lossy().into_owned(),
            title: None,
            claimed_type: None,
            metadata: listing.source.metadata.clone(),
            order: opened.order,
            run_type: RunType::Sync,
            job: Some(listing.claim.job),
            source: listing.claim.source,
            initiated_by: listing.claim.initiated_by,
            trace: None,
        };
        Ok((intake, staged))
    }

    /// Documents of the source that the whole listing did not meet and that are gone.
    async fn remove_unseen(&self, listing: &Listing, last: &Batch) -> Result<(), Error> {
        let in_last: std::collections::HashSet<_> = last
            .admissions
            .iter()
            .map(|admission| &admission.source_uri)
            .chain(&last.seen)
            .collect();
        let mut after = None;
        loop {
            let unseen = self
                .parts
                .catalog
                .unseen(&listing.claim, after, REMOVALS)
                .await?;
            let next = unseen.last().map(|last| last.document);
            let whole = unseen.len() == REMOVALS as usize;
            // Where it cannot be told, as below a folder that cannot be read, it stays.
            let is_gone = |one: &Unseen| {
                let there = in_last.contains(&one.source_uri)
                    || listing.folder.contains(&one.source_uri).unwrap_or(true);
                listing.folder.covers(&one.source_uri) && !there
            };
            let missing: Vec<_> = unseen.into_iter().filter(is_gone).collect();
            if !missing.is_empty() {
                let (catalog, now) = (&self.parts.catalog, self.parts.clock.now());
                catalog.remove_missing(&listing.claim, missing, now).await?;
            }
            match next {
                Some(next) if whole => after = Some(next),
                _ => return Ok(()),
            }
        }
    }
}

fn first_piece(file: &mut std::fs::File, size: u64) -> std::io::Result<Bytes> {
    let mut head = Vec::with_capacity(size.min(PIECE as u64) as usize + 1);
    file.take(PIECE as u64).read_to_end(&mut head)?;
    Ok(head.into())
}

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Error::StageStopped)
}
