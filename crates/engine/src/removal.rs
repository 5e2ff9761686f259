//! What is no longer wanted goes: from the index, from the objects, from the catalog.
//!
//! In that order, so that what is left of an interrupted removal can be found again through
//! the rows that still name it; originals go last, through the note their rows leave. A purge
//! waits, at each of the stores that only write down what is gone, until it has left the files.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use catalog::{Dossier, Former, Removing, VersionFile};
use index::{Gone, Space};
use model::{ContentHash, DocumentId, JobId, TenantId, UserId, VersionId};

use crate::objects::Key;
use crate::{Engine, Error};

/// How often whoever cancels says so, and how long that is believed.
const BEAT: Duration = Duration::from_secs(5);
const BELIEVED: Duration = Duration::from_secs(15);

/// What a purge took away, and what a scan of every store finds of it afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purged {
    pub versions: u64,
    /// Files of the index that were read in the end, record by record, all of them.
    pub files_read: u64,
    pub residue: Residue,
    /// Jobs of its knowledge base that met what was purged, and keep the metadata they put on
    /// it: they have not ended, or other documents came by them.
    pub jobs_keeping_metadata: u64,
}

/// Counted by scanning; all zero when everything is gone. The ledger and the runs stay: they
/// tell that it was there, neither what it said nor what it was called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Residue {
    pub rows: u64,
    pub chunks: u64,
    pub vectors: u64,
    pub text_entries: u64,
    pub objects: u64,
}

/// What the stores that know no rows may hold of a version that goes.
#[derive(Clone, Copy)]
struct Going {
    gone: Gone,
    content_hash: ContentHash,
}

fn going(tenant: TenantId, version: &Removing) -> Going {
    let as_former = Former {
        kb: version.kb,
        generation: version.generation,
        version: version.version,
        content_hash: version.content_hash,
    };
    let mut going = going_without_row(tenant, &as_former);
    going.gone.number = Some(version.number);
    going
}

/// Its number went with its row.
fn going_without_row(tenant: TenantId, version: &Former) -> Going {
    let space = Space {
        tenant,
        kb: version.kb,
        generation: version.generation,
    };
    Going {
        gone: Gone {
            space,
            version: version.version,
            number: None,
        },
        content_hash: version.content_hash,
    }
}

/// Those that hang on the document itself. What came under its id since it was purged is new, and
/// so is its row then.
fn rows_of(dossier: &Dossier, purged: &[VersionId]) -> u64 {
    let is_new = |version: &VersionFile| !purged.contains(&version.id);
    let came_again = dossier.versions.iter().any(is_new);
    let answered = dossier.activations.iter();
    let answered = answered.filter(|row| purged.contains(&row.version) || !came_again);
    answered.count() as u64 + u64::from(dossier.head.is_some() && !came_again)
}

impl Engine {
    /// Removes what only this job brought. May be interrupted and called again.
    pub async fn cancel_job(&self, tenant: TenantId, job: JobId) -> Result<catalog::Job, Error> {
        let now = self.parts.clock.now();
        self.parts.catalog.begin_cancel(tenant, job, now).await?;
        self.finish_cancel(tenant, job).await
    }

    /// The rest of a cancel that was begun; somebody else may be at it too. Says from time to
    /// time that it is at it, and at once when it is not any more.
    pub(crate) async fn finish_cancel(
        &self,
        tenant: TenantId,
        job: JobId,
    ) -> Result<catalog::Job, Error> {
        let finished = tokio::select! {
            finished = self.remove_the_rest(tenant, job) => finished,
            never = self.beat_for_cancel(tenant, job) => match never {},
        };
        if finished.is_err() {
            self.heard_of_cancel(tenant, job, Duration::ZERO).await;
        }
        finished
    }

    /// Until it is dropped.
    async fn beat_for_cancel(&self, tenant: TenantId, job: JobId) -> Infallible {
        loop {
            self.heard_of_cancel(tenant, job, BELIEVED).await;
            tokio::time::sleep(BEAT).await;
        }
    }

    /// Only shown: what is removed is removed whether or not it can be told.
    async fn heard_of_cancel(&self, tenant: TenantId, job: JobId, lease: Duration) {
        let (catalog, now) = (&self.parts.catalog, self.parts.clock.now());
        let told = catalog.heartbeat_cancel(tenant, job, lease, now).await;
        if let Err(error) = told {
            tracing::warn!(job_id = %job, %error, "heartbeat of a cancel failed");
        }
    }

    async fn remove_the_rest(&self, tenant: TenantId, job: JobId) -> Result<catalog::Job, Error> {
        const AT_ONCE: u32 = 100;
        let catalog = &self.parts.catalog;
        let now = || self.parts.clock.now();
        loop {
            let removing = catalog.cancel_some(tenant, job, AT_ONCE, now()).await?;
            if removing.is_empty() {
                break;
            }
            self.forget(tenant, &removing).await?;
        }
        while catalog.reinstate_some(tenant, job, AT_ONCE, now()).await? > 0 {}
        // What answered last in a generation that serves no more is made for the one that does.
        self.work_added();
        self.sweep_job(job).await?;
        Ok(catalog.finish_cancel(tenant, job, now()).await?)
    }

    /// A document and everything of it, for good; then looks everywhere for what is left.
    pub async fn purge(
        &self,
        tenant: TenantId,
        document: DocumentId,
        by: Option<UserId>,
    ) -> Result<Purged, Error> {
        let now = self.parts.clock.now();
        let catalog = &self.parts.catalog;
        let called = catalog.dossier(tenant, document).await?.head;
        let called = called.map(|head| (head.kb, head.source_uri));
        let removing = catalog.begin_purge(tenant, document, by, now).await?;
        // Those of rows that are lost already are not known any more once the others are gone too.
        let going = self.all_going(tenant, &removing).await?;
        let files_read = self.purge_versions(tenant, &removing).await?;
        let told = catalog.told_of(tenant, document, called).await?;
        let mut residue = self.residue(tenant, document, &going).await?;
        residue.rows += told.rows;
        Ok(Purged {
            versions: removing.len() as u64,
            files_read,
            residue,
            jobs_keeping_metadata: told.jobs,
        })
    }

    /// The rest of a purge that was begun. The rows that would have it found again are the last
    /// to go, when the index's files hold nothing any more; of the rows themselves the catalog
    /// keeps a mark until its own files do not. Says how many files of the index were read.
    pub(crate) async fn purge_versions(
        &self,
        tenant: TenantId,
        removing: &[Removing],
    ) -> Result<u64, Error> {
        let read = {
            let _moving = self.still.read().await;
            let going = self.all_going(tenant, removing).await?;
            let gone: Vec<_> = going.iter().map(|one| one.gone).collect();
            self.unindex(&gone).await?;
            self.reclaim(&gone).await?;
            let read = self.parts.index.erase(&gone).await?;
            self.drop_damaged_indexes().await?;
            self.drop_second_names().await?;
            self.delete_made(tenant, &gone).await?;
            self.unstore(tenant, removing).await?;
            read
        };
        self.parts.catalog.scrub().await?;
        Ok(read)
    }

    /// These and what else there was of their documents: what was canceled or given up did not wait
    /// for the files, as a purge does, and of what lost its row nobody has forgotten anything.
    async fn all_going(
        &self,
        tenant: TenantId,
        removing: &[Removing],
    ) -> Result<Vec<Going>, Error> {
        let mut all: Vec<_> = removing.iter().map(|one| going(tenant, one)).collect();
        let documents: BTreeSet<_> = removing.iter().map(|one| one.document).collect();
        for document in documents {
            let former = self.parts.catalog.former(tenant, document).await?;
            all.extend(former.iter().map(|one| going_without_row(tenant, one)));
        }
        Ok(all)
    }

    /// What is forgotten is only marked in the index's postings and in its text; this takes
    /// it out of both.
    async fn reclaim(&self, removed: &[Gone]) -> Result<(), Error> {
        let spaces: BTreeSet<_> = removed.iter().map(|one| one.space).collect();
        for space in spaces {
            // Of such a one nothing is left that would have to be taken out.
            if self.parts.index.has_forgotten(space).await? {
                continue;
            }
            let live = self.answering_in(space).await?.unwrap_or_default();
            self.parts.index.compact(space, &live).await?;
        }
        Ok(())
    }

    /// Scans every store for anything of a document that was purged.
    async fn residue(
        &self,
        tenant: TenantId,
        document: DocumentId,
        removed: &[Going],
    ) -> Result<Residue, Error> {
        let dossier = self.parts.catalog.dossier(tenant, document).await?;
        let snapshot = self.view(0).await?;
        let versions: Vec<_> = removed.iter().map(|one| one.gone.version).collect();
        let rows = self.parts.catalog.rows_left(&versions).await?;
        let mut residue = Residue {
            rows: rows + rows_of(&dossier, &versions),
            ..Residue::default()
        };
        let held = self.parts.catalog.held(tenant).await?;
        let elsewhere = |hash: &ContentHash| held.iter().any(|h| h.content_hash == Some(*hash));
        for Going { gone, .. } in removed {
            let left = snapshot.residue(gone.space, gone.version).await?;
            residue.chunks += left.records;
            residue.vectors += left.vectors;
            residue.text_entries += left.text_entries;
            let objects = &self.parts.objects;
            for prefix in [Key::version, Key::cached] {
                let left = objects.list_below(&prefix(tenant, gone.version)).await?;
                residue.objects += left.len() as u64;
            }
        }
        let originals: BTreeSet<_> = removed.iter().map(|one| one.content_hash).collect();
        for hash in originals {
            let original = Key::original(tenant, &hash);
            // Another document may have the same bytes; then they are that one's.
            let left = !elsewhere(&hash) && self.parts.objects.exists(&original).await?;
            residue.objects += u64::from(left);
        }
        Ok(residue)
    }

    /// Takes versions out of every store.
    pub(crate) async fn forget(
        &self,
        tenant: TenantId,
        removing: &[Removing],
    ) -> Result<(), Error> {
        let _moving = self.still.read().await;
        let going = removing.iter().map(|one| going(tenant, one));
        let gone: Vec<_> = going.map(|one| one.gone).collect();
        self.unindex(&gone).await?;
        self.delete_made(tenant, &gone).await?;
        self.unstore(tenant, removing).await
    }

    /// The index forgets them, for good.
    async fn unindex(&self, gone: &[Gone]) -> Result<(), Error> {
        let mut receipts = Vec::with_capacity(gone.len());
        for one in gone {
            match self.parts.index.forget(one.space, one.version).await {
                Ok(receipt) => receipts.push(receipt),
                // Its whole generation was forgotten before.
                Err(index::Error::ForgottenSpace) => {}
                Err(error) => return Err(error.into()),
            }
        }
        for receipt in receipts {
            receipt.durable().await?;
        }
        Ok(())
    }

    /// What was made of versions the index has forgotten.
    async fn delete_made(&self, tenant: TenantId, gone: &[Gone]) -> Result<(), Error> {
        for one in gone {
            for prefix in [Key::version, Key::cached] {
                self.delete_below(&prefix(tenant, one.version)).await?;
            }
        }
        Ok(())
    }

    /// The rows that name versions of which nothing is left but those; originals no row names any
    /// more are noted until they are deleted. So what is left of an interrupted removal can always
    /// be found again.
    async fn unstore(&self, tenant: TenantId, removing: &[Removing]) -> Result<(), Error> {
        let shut = self.door.write().await;
        let versions: Vec<_> = removing.iter().map(|r| r.version).collect();
        let unreferenced = self
            .parts
            .catalog
            .forget_versions(tenant, &versions)
            .await?;
        for hash in &unreferenced {
            self.delete_original(tenant, hash).await?;
        }
        if !unreferenced.is_empty() {
            let catalog = &self.parts.catalog;
            catalog.originals_gone(tenant, &unreferenced).await?;
        }
        drop(shut);
        // Again: a page may have been drawn while the row was still there.
        for version in versions {
            self.delete_below(&Key::cached(tenant, version)).await?;
        }
        Ok(())
    }
}
