use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::{DocumentId, JobId, SourceId, TenantId};

use crate::{
    Admitted, Batch, Error, Job, JobChanges, JobClaim, JobDocument, JobFilter, JobProgress,
    JobRemoval, Listed, NewJob, NewSource, Page, Problem, Recounted, Removing, Source,
    SourceChange, Unseen,
};

/// Sources, and the jobs that ingest them.
#[async_trait]
pub trait Jobs {
    async fn create_source(
        &self,
        tenant: TenantId,
        source: NewSource,
        now: DateTime<Utc>,
    ) -> Result<Source, Error>;

    /// By name.
    async fn sources(&self, tenant: TenantId, page: Page) -> Result<Listed<Source>, Error>;

    async fn source(&self, tenant: TenantId, source: SourceId) -> Result<Source, Error>;

    async fn update_source(
        &self,
        tenant: TenantId,
        source: SourceId,
        change: SourceChange,
        now: DateTime<Utc>,
    ) -> Result<Source, Error>;

    async fn create_job(
        &self,
        tenant: TenantId,
        job: NewJob,
        now: DateTime<Utc>,
    ) -> Result<Job, Error>;

    /// Makes a job and starts it; where it may not start, none is made. See [`Jobs::start_job`].
    async fn begin_job(
        &self,
        tenant: TenantId,
        job: NewJob,
        now: DateTime<Utc>,
    ) -> Result<Job, Error>;

    async fn job(&self, tenant: TenantId, job: JobId) -> Result<Job, Error>;

    /// The job of a source that is under way, paused and canceled ones included; else the newest
    /// that was ever started.
    async fn job_of_source(&self, tenant: TenantId, source: SourceId)
    -> Result<Option<Job>, Error>;

    async fn jobs(
        &self,
        tenant: TenantId,
        filter: JobFilter,
        page: Page,
    ) -> Result<Listed<Job>, Error>;

    /// What the job brought or found, in the order it met them.
    async fn job_documents(
        &self,
        tenant: TenantId,
        job: JobId,
        page: Page,
    ) -> Result<Listed<JobDocument>, Error>;

    async fn job_progress(&self, tenant: TenantId, job: JobId) -> Result<JobProgress, Error>;

    async fn job_changes(&self, tenant: TenantId, job: JobId) -> Result<JobChanges, Error>;

    /// What the job could not take in, in the order it met them.
    async fn job_problems(
        &self,
        tenant: TenantId,
        job: JobId,
        page: Page,
    ) -> Result<Listed<Problem>, Error>;

    /// What the job removed, by document; not what others had removed before it started.
    async fn job_removals(
        &self,
        tenant: TenantId,
        job: JobId,
        page: Page,
    ) -> Result<Listed<JobRemoval>, Error>;

    /// A conflict while it runs, is paused, or is being canceled, and while another job of
    /// the same source is. A failed job goes on at its cursor, any other begins anew.
    async fn start_job(
        &self,
        tenant: TenantId,
        job: JobId,
        now: DateTime<Utc>,
    ) -> Result<Job, Error>;

    async fn pause_job(
        &self,
        tenant: TenantId,
        job: JobId,
        now: DateTime<Utc>,
    ) -> Result<Job, Error>;

    /// Its steps that wait fall due at once.
    async fn resume_job(
        &self,
        tenant: TenantId,
        job: JobId,
        now: DateTime<Utc>,
    ) -> Result<Job, Error>;

    /// Takes a running job whose source nobody lists.
    async fn claim_job(
        &self,
        worker: &str,
        lease: Duration,
        now: DateTime<Utc>,
    ) -> Result<Option<JobClaim>, Error>;

    /// Prolongs the lease, or says that it is lost.
    async fn heartbeat_job(
        &self,
        claim: &JobClaim,
        lease: Duration,
        now: DateTime<Utc>,
    ) -> Result<bool, Error>;

    /// Lets go of the listing, so that another may take it at once.
    async fn release_job(&self, claim: &JobClaim) -> Result<(), Error>;

    /// The listing was interrupted: nobody is at it until the lease runs out, and the job says
    /// why.
    async fn put_off_job(&self, claim: &JobClaim, why: &str) -> Result<(), Error>;

    /// Admits a batch and moves the cursor past it, both or neither.
    async fn admit_batch(
        &self,
        claim: &JobClaim,
        batch: Batch,
        now: DateTime<Utc>,
    ) -> Result<Vec<Admitted>, Error>;

    /// Documents of the job's source, or of its knowledge base where it has none, that were
    /// not met since it started and answer, or will once what is under way of them is done, or
    /// were removed for another job and not for this one: those after the given one, by id.
    async fn unseen(
        &self,
        claim: &JobClaim,
        after: Option<DocumentId>,
        limit: u32,
    ) -> Result<Vec<Unseen>, Error>;

    /// Removes documents the source shows no more, and what is under way of them will not
    /// answer either; how many answered until now. The job has a part in the removal of those
    /// that were removed for another before: see [`Jobs::reinstate_some`]. A conflict when the
    /// listing is not held any more.
    async fn remove_missing(
        &self,
        claim: &JobClaim,
        missing: Vec<Unseen>,
        now: DateTime<Utc>,
    ) -> Result<u64, Error>;

    /// The source cannot be listed: the job has failed, its runs go on.
    async fn fail_job(
        &self,
        claim: &JobClaim,
        error: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Error>;

    /// Completes a running job that has nothing left; whether it did.
    async fn finish_job_if_done(
        &self,
        tenant: TenantId,
        job: JobId,
        now: DateTime<Utc>,
    ) -> Result<bool, Error>;

    /// From here on nothing of the job proceeds. Then [`Jobs::cancel_some`] and
    /// [`Jobs::forget_versions`] by turns until there is nothing to remove, then
    /// [`Jobs::reinstate_some`] until there is nothing to take back, then
    /// [`Jobs::finish_cancel`]. Every part may be repeated.
    async fn begin_cancel(
        &self,
        tenant: TenantId,
        job: JobId,
        now: DateTime<Utc>,
    ) -> Result<Job, Error>;

    /// Ends activations of the next versions only this job claims, reopens what they had
    /// replaced, and cancels their runs, those that have ended too. What is then open in a
    /// retired generation alone is begun anew in the serving one. Versions others claim too are
    /// left to them. Gives the same versions again until they are forgotten, and none when all are.
    async fn cancel_some(
        &self,
        tenant: TenantId,
        job: JobId,
        limit: u32,
        now: DateTime<Utc>,
    ) -> Result<Vec<Removing>, Error>;

    /// Takes back removals that only this job made, as if they had not been; those others have
    /// a part in are left to them. How many it looked at: none when all are done.
    async fn reinstate_some(
        &self,
        tenant: TenantId,
        job: JobId,
        limit: u32,
        now: DateTime<Utc>,
    ) -> Result<u64, Error>;

    /// Deletes what is left of versions the index has forgotten; gives the content hashes
    /// no version of the tenant refers to any more, and notes them until
    /// [`Jobs::originals_gone`].
    async fn forget_versions(
        &self,
        tenant: TenantId,
        versions: &[model::VersionId],
    ) -> Result<Vec<model::ContentHash>, Error>;

    /// These are about to be put: whoever dies before they are admitted leaves a note of them.
    /// [`Jobs::admit_batch`] takes back those of its batch.
    async fn note_originals(
        &self,
        tenant: TenantId,
        hashes: &[model::ContentHash],
    ) -> Result<(), Error>;

    /// Originals nobody referred to when they were noted, and whose bytes may be there.
    async fn freed_originals(
        &self,
        limit: u32,
    ) -> Result<Vec<(TenantId, model::ContentHash)>, Error>;

    /// The bytes of these are deleted, or somebody refers to them again.
    async fn originals_gone(
        &self,
        tenant: TenantId,
        hashes: &[model::ContentHash],
    ) -> Result<(), Error>;

    /// Says that somebody is at the cancel, and for how long that is to be believed; with no
    /// time at all, that nobody is any more. It keeps nobody else from it.
    async fn heartbeat_cancel(
        &self,
        tenant: TenantId,
        job: JobId,
        lease: Duration,
        now: DateTime<Utc>,
    ) -> Result<(), Error>;

    async fn finish_cancel(
        &self,
        tenant: TenantId,
        job: JobId,
        now: DateTime<Utc>,
    ) -> Result<Job, Error>;

    /// Jobs, of all tenants, whose count of open runs is not the number of their live runs,
    /// and jobs that have nothing left and did not end: both are put right.
    async fn recount_jobs(&self, now: DateTime<Utc>) -> Result<Vec<Recounted>, Error>;

    /// Jobs whose cancel was begun and not finished, of all tenants.
    async fn canceling(&self) -> Result<Vec<(TenantId, JobId)>, Error>;
}
