//! The methods of sources and jobs, each given its transaction.

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::{ContentHash, DocumentId, JobId, SourceId, TenantId, VersionId};

use super::cells::micros;
use super::dialect::Dialect;
use super::{Sql, cancel, jobs, listing, missing, originals, outcomes, recount, removal, sources};
use crate::{
    Admitted, Batch, Error, Job, JobChanges, JobClaim, JobDocument, JobFilter, JobProgress,
    JobRemoval, Jobs, Listed, NewJob, NewSource, Page, Problem, Recounted, Removing, Source,
    SourceChange, Unseen,
};

#[async_trait]
impl<DB: Dialect> Jobs for Sql<DB> {
    async fn create_source(
        &self,
        tenant: TenantId,
        source: NewSource,
        now: DateTime<Utc>,
    ) -> Result<Source, Error> {
        self.write("catalog.create_source", move |c| {
            Box::pin(async move { sources::create::<DB>(c, tenant, source, micros(now)).await })
        })
        .await
    }

    async fn sources(&self, tenant: TenantId, page: Page) -> Result<Listed<Source>, Error> {
        self.read("catalog.sources", move |c| {
            Box::pin(async move { sources::list::<DB>(c, tenant, &page).await })
        })
        .await
    }

    async fn source(&self, tenant: TenantId, source: SourceId) -> Result<Source, Error> {
        self.read("catalog.source", move |c| {
            Box::pin(async move { sources::one::<DB>(c, tenant, source).await })
        })
        .await
    }

    async fn update_source(
        &self,
        tenant: TenantId,
        source: SourceId,
        change: SourceChange,
        now: DateTime<Utc>,
    ) -> Result<Source, Error> {
        self.write("catalog.update_source", move |c| {
            Box::pin(
                async move { sources::update::<DB>(c, tenant, source, change, micros(now)).await },
            )
        })
        .await
    }

    async fn create_job(
        &self,
        tenant: TenantId,
        job: NewJob,
        now: DateTime<Utc>,
    ) -> Result<Job, Error> {
        self.write("catalog.create_job", move |c| {
            Box::pin(async move { jobs::create::<DB>(c, tenant, job, micros(now)).await })
        })
        .await
    }

    async fn begin_job(
        &self,
        tenant: TenantId,
        job: NewJob,
        now: DateTime<Utc>,
    ) -> Result<Job, Error> {
        self.write("catalog.begin_job", move |c| {
            Box::pin(async move { jobs::begin::<DB>(c, tenant, job, micros(now)).await })
        })
        .await
    }

    async fn job(&self, tenant: TenantId, job: JobId) -> Result<Job, Error> {
        self.look_up("catalog.job", move |c| {
            Box::pin(async move { jobs::one::<DB>(c, tenant, job).await })
        })
        .await
    }

    async fn job_of_source(
        &self,
        tenant: TenantId,
        source: SourceId,
    ) -> Result<Option<Job>, Error> {
        self.read("catalog.job_of_source", move |c| {
            Box::pin(async move { jobs::of_source::<DB>(c, tenant, source).await })
        })
        .await
    }

    async fn jobs(
        &self,
        tenant: TenantId,
        filter: JobFilter,
        page: Page,
    ) -> Result<Listed<Job>, Error> {
        self.read("catalog.jobs", move |c| {
            Box::pin(async move { jobs::list::<DB>(c, tenant, filter, page).await })
        })
        .await
    }

    async fn job_documents(
        &self,
        tenant: TenantId,
        job: JobId,
        page: Page,
    ) -> Result<Listed<JobDocument>, Error> {
        self.read("catalog.job_documents", move |c| {
            Box::pin(async move { outcomes::documents::<DB>(c, tenant, job, &page).await })
        })
        .await
    }

    async fn job_progress(&self, tenant: TenantId, job: JobId) -> Result<JobProgress, Error> {
        self.read("catalog.job_progress", move |c| {
            Box::pin(async move { outcomes::progress::<DB>(c, tenant, job).await })
        })
        .await
    }

    async fn job_changes(&self, tenant: TenantId, job: JobId) -> Result<JobChanges, Error> {
        self.read("catalog.job_changes", move |c| {
            Box::pin(async move { outcomes::changes::<DB>(c, tenant, job).await })
        })
        .await
    }

    async fn job_removals(
        &self,
        tenant: TenantId,
        job: JobId,
        page: Page,
    ) -> Result<Listed<JobRemoval>, Error> {
        self.read("catalog.job_removals", move |c| {
            Box::pin(async move { outcomes::removals::<DB>(c, tenant, job, &page).await })
        })
        .await
    }

    async fn job_problems(
        &self,
        tenant: TenantId,
        job: JobId,
        page: Page,
    ) -> Result<Listed<Problem>, Error> {
        self.read("catalog.job_problems", move |c| {
            Box::pin(async move { outcomes::problems::<DB>(c, tenant, job, &page).await })
        })
        .await
    }

    async fn start_job(
        &self,
        tenant: TenantId,
        job: JobId,
        now: DateTime<Utc>,
    ) -> Result<Job, Error> {
        self.write("catalog.start_job", move |c| {
            Box::pin(async move { jobs::start::<DB>(c, tenant, job, micros(now)).await })
        })
        .await
    }

    async fn pause_job(
        &self,
        tenant: TenantId,
        job: JobId,
        now: DateTime<Utc>,
    ) -> Result<Job, Error> {
        self.write("catalog.pause_job", move |c| {
            Box::pin(async move { jobs::pause::<DB>(c, tenant, job, micros(now)).await })
        })
        .await
    }

    async fn resume_job(
        &self,
        tenant: TenantId,
        job: JobId,
        now: DateTime<Utc>,
    ) -> Result<Job, Error> {
        self.write("catalog.resume_job", move |c| {
            Box::pin(async move { jobs::resume::<DB>(c, tenant, job, micros(now)).await })
        })
        .await
    }

    async fn claim_job(
        &self,
        worker: &str,
        lease: Duration,
        now: DateTime<Utc>,
    ) -> Result<Option<JobClaim>, Error> {
        let due = self.look_up("catalog.claim_job", move |c| {
            Box::pin(listing::due::<DB>(c, micros(now)))
        });
        if !due.await? {
            return Ok(None);
        }
        let worker = worker.to_owned();
        self.write("catalog.claim_job", move |c| {
            Box::pin(async move { listing::claim::<DB>(c, &worker, lease, micros(now)).await })
        })
        .await
    }

    async fn heartbeat_job(
        &self,
        claim: &JobClaim,
        lease: Duration,
        now: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let (claim, until) = (claim.clone(), micros(now) + lease);
        self.write("catalog.heartbeat_job", move |c| {
            Box::pin(
                async move { listing::heartbeat::<DB>(c, &claim, Some(until), micros(now)).await },
            )
        })
        .await
    }

    async fn release_job(&self, claim: &JobClaim) -> Result<(), Error> {
        let claim = claim.clone();
        self.write("catalog.release_job", move |c| {
            Box::pin(async move { listing::release::<DB>(c, &claim).await })
        })
        .await
    }

    async fn put_off_job(&self, claim: &JobClaim, why: &str) -> Result<(), Error> {
        let (claim, why) = (claim.clone(), why.to_owned());
        self.write("catalog.put_off_job", move |c| {
            Box::pin(async move { listing::put_off::<DB>(c, &claim, &why).await })
        })
        .await
    }

    async fn admit_batch(
        &self,
        claim: &JobClaim,
        batch: Batch,
        now: DateTime<Utc>,
    ) -> Result<Vec<Admitted>, Error> {
        let claim = claim.clone();
        self.write("catalog.admit_batch", move |c| {
            Box::pin(
                async move { listing::admit_batch::<DB>(c, &claim, &batch, micros(now)).await },
            )
        })
        .await
    }

    async fn unseen(
        &self,
        claim: &JobClaim,
        after: Option<DocumentId>,
        limit: u32,
    ) -> Result<Vec<Unseen>, Error> {
        let claim = claim.clone();
        self.read("catalog.unseen", move |c| {
            Box::pin(async move { listing::unseen::<DB>(c, &claim, after, limit).await })
        })
        .await
    }

    async fn remove_missing(
        &self,
        claim: &JobClaim,
        missing: Vec<Unseen>,
        now: DateTime<Utc>,
    ) -> Result<u64, Error> {
        let claim = claim.clone();
        self.write("catalog.remove_missing", move |c| {
            Box::pin(async move { missing::remove::<DB>(c, &claim, missing, micros(now)).await })
        })
        .await
    }

    async fn fail_job(
        &self,
        claim: &JobClaim,
        error: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        let (claim, error) = (claim.clone(), error.to_owned());
        self.write("catalog.fail_job", move |c| {
            Box::pin(async move { listing::fail::<DB>(c, &claim, &error, micros(now)).await })
        })
        .await
    }

    async fn finish_job_if_done(
        &self,
        tenant: TenantId,
        job: JobId,
        now: DateTime<Utc>,
    ) -> Result<bool, Error> {
        self.write("catalog.finish_job_if_done", move |c| {
            Box::pin(
                async move { listing::finish_if_done::<DB>(c, tenant, job, micros(now)).await },
            )
        })
        .await
    }

    async fn begin_cancel(
        &self,
        tenant: TenantId,
        job: JobId,
        now: DateTime<Utc>,
    ) -> Result<Job, Error> {
        self.write("catalog.begin_cancel", move |c| {
            Box::pin(async move { cancel::begin::<DB>(c, tenant, job, micros(now)).await })
        })
        .await
    }

    async fn cancel_some(
        &self,
        tenant: TenantId,
        job: JobId,
        limit: u32,
        now: DateTime<Utc>,
    ) -> Result<Vec<Removing>, Error> {
        self.write("catalog.cancel_some", move |c| {
            Box::pin(async move { cancel::some::<DB>(c, tenant, job, limit, micros(now)).await })
        })
        .await
    }

    async fn reinstate_some(
        &self,
        tenant: TenantId,
        job: JobId,
        limit: u32,
        now: DateTime<Utc>,
    ) -> Result<u64, Error> {
        self.write("catalog.reinstate_some", move |c| {
            Box::pin(async move {
                missing::reinstate_some::<DB>(c, tenant, job, limit, micros(now)).await
            })
        })
        .await
    }

    async fn forget_versions(
        &self,
        tenant: TenantId,
        versions: &[VersionId],
    ) -> Result<Vec<ContentHash>, Error> {
        let versions = versions.to_vec();
        self.write("catalog.forget_versions", move |c| {
            Box::pin(async move { removal::forget::<DB>(c, tenant, &versions).await })
        })
        .await
    }

    async fn note_originals(&self, tenant: TenantId, hashes: &[ContentHash]) -> Result<(), Error> {
        let hashes = hashes.to_vec();
        self.write("catalog.note_originals", move |c| {
            Box::pin(async move { originals::note::<DB>(c, tenant, &hashes).await })
        })
        .await
    }

    async fn freed_originals(&self, limit: u32) -> Result<Vec<(TenantId, ContentHash)>, Error> {
        self.look_up("catalog.freed_originals", move |c| {
            Box::pin(originals::freed::<DB>(c, limit))
        })
        .await
    }

    async fn originals_gone(&self, tenant: TenantId, hashes: &[ContentHash]) -> Result<(), Error> {
        let hashes = hashes.to_vec();
        self.write("catalog.originals_gone", move |c| {
            Box::pin(async move { originals::gone::<DB>(c, tenant, &hashes).await })
        })
        .await
    }

    async fn heartbeat_cancel(
        &self,
        tenant: TenantId,
        job: JobId,
        lease: Duration,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        let now = micros(now);
        self.write("catalog.heartbeat_cancel", move |c| {
            Box::pin(async move { cancel::heartbeat::<DB>(c, tenant, job, now + lease, now).await })
        })
        .await
    }

    async fn finish_cancel(
        &self,
        tenant: TenantId,
        job: JobId,
        now: DateTime<Utc>,
    ) -> Result<Job, Error> {
        self.write("catalog.finish_cancel", move |c| {
            Box::pin(async move { cancel::finish::<DB>(c, tenant, job, micros(now)).await })
        })
        .await
    }

    async fn recount_jobs(&self, now: DateTime<Utc>) -> Result<Vec<Recounted>, Error> {
        self.write("catalog.recount_jobs", move |c| {
            Box::pin(recount::recount::<DB>(c, micros(now)))
        })
        .await
    }

    async fn canceling(&self) -> Result<Vec<(TenantId, JobId)>, Error> {
        self.read("catalog.canceling", move |c| {
            Box::pin(async move { cancel::under_way::<DB>(c).await })
        })
        .await
    }
}
