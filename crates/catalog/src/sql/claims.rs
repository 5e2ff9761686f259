//! Who wants a version: the job that brought it, and those that found it there already.
//!
//! A job waits for its own runs and for the live runs of others whose versions it claims: what
//! it found under way is not there yet. Both are counted where they change, and both must end
//! before the job does. Copies made for a generation being built are nobody's to wait for.

use chrono::{DateTime, Utc};
use model::{JobId, JobStatus, RunStatus, TenantId, VersionId};
use sqlx::{AssertSqlSafe, query};

use super::cells::Cells;
use super::dialect::Dialect;
use super::end::{End, complete_if_done};
use super::{Tx, jobs, witness};
use crate::{Admitted, Error, Job, Outcome, SkipReason};

/// A live run `r` of another that a claim `jv` waits for; `v` is the version.
pub const AWAITED: &str = "FROM job_versions jv
    JOIN document_versions v ON v.id = jv.version_id
    JOIN ingestion_runs r ON r.id = v.run_id AND r.status IN ('queued', 'running')
      AND r.run_type <> 'reindex' AND r.job_id IS DISTINCT FROM jv.job_id";

/// The job has met what was admitted.
pub async fn make<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: JobId,
    admitted: &Admitted,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let outcome = match admitted.outcome {
        Outcome::New => "new",
        Outcome::NewVersion => "new_version",
        Outcome::Skipped { .. } => "skipped",
    };
    let skipped = i64::from(outcome == "skipped");
    let counted = query(
        "UPDATE jobs SET docs_seen = docs_seen + 1, docs_skipped = docs_skipped + $3,
             runs_open = runs_open + 1 - $3, updated_at = $4
         WHERE id = $1 AND tenant_id = $2 RETURNING id",
    )
    .bind(job.as_uuid())
    .bind(tenant.as_uuid())
    .bind(skipped)
    .bind(now)
    .fetch_optional(&mut *c)
    .await?;
    counted.ok_or_else(|| Error::not_found("job", job))?;
    let made = query(
        "INSERT INTO job_versions (job_id, version_id, outcome) VALUES ($1, $2, $3)
         ON CONFLICT DO NOTHING RETURNING job_id",
    )
    .bind(job.as_uuid())
    .bind(admitted.version.as_uuid())
    .bind(outcome)
    .fetch_optional(&mut *c)
    .await?;
    let under_way = Outcome::Skipped {
        reason: SkipReason::LiveRun,
    };
    if made.is_some() {
        witness::turn_claim::<DB>(c, admitted.version, job, outcome).await?;
    }
    // What was claimed before is waited for already.
    if made.is_some() && admitted.outcome == under_way {
        begin_to_wait::<DB>(c, job, admitted.version).await?;
    }
    Ok(())
}

/// Unless the run is the job's own.
async fn begin_to_wait<DB: Dialect>(
    c: &mut Tx<DB>,
    job: JobId,
    version: VersionId,
) -> Result<(), Error> {
    let sql = format!(
        "UPDATE jobs SET runs_awaited = runs_awaited + 1
         WHERE id = $1 AND EXISTS (SELECT 1 {AWAITED} WHERE jv.job_id = $1 AND v.id = $2)"
    );
    query(AssertSqlSafe(sql))
        .bind(job.as_uuid())
        .bind(version.as_uuid())
        .execute(c)
        .await?;
    Ok(())
}

/// A run, and what it is to those who wait for it.
pub struct Awaited {
    pub version: VersionId,
    pub job: Option<JobId>,
    /// Copies are waited for by their generation alone.
    pub is_copy: bool,
}

impl Awaited {
    /// Its own job and all that wait for it, in the order in which jobs are locked.
    async fn by<DB: Dialect>(&self, c: &mut Tx<DB>) -> Result<Vec<JobId>, Error> {
        let mut jobs: Vec<JobId> = self.job.into_iter().collect();
        if !self.is_copy {
            let rows = query("SELECT job_id FROM job_versions WHERE version_id = $1")
                .bind(self.version.as_uuid())
                .fetch_all(c)
                .await?;
            for row in &rows {
                jobs.push(Cells::<DB>(row).id("job_id", JobId::from_uuid)?);
            }
        }
        jobs.sort_unstable();
        jobs.dedup();
        Ok(jobs)
    }

    /// Counts the end of the run in every job that waited for it; those that have nothing left
    /// are complete, and told.
    pub async fn ended<DB: Dialect>(
        &self,
        c: &mut Tx<DB>,
        end: &End,
        now: DateTime<Utc>,
    ) -> Result<Vec<JobId>, Error> {
        let mut complete = Vec::new();
        for job in self.by::<DB>(c).await? {
            let left = if self.job == Some(job) {
                count_own::<DB>(c, job, end, now).await?
            } else {
                count_anothers::<DB>(c, job, end, now).await?
            };
            if left == Some(0) && complete_if_done::<DB>(c, job, now).await? {
                complete.push(job);
            }
        }
        Ok(complete)
    }
}

/// How a run was counted when it ended.
#[derive(Clone, Copy)]
pub struct Counted {
    pub failed: bool,
    pub chunks_error: u64,
    pub at: Option<DateTime<Utc>>,
    /// How often its job had begun anew by then.
    pub beginning: Option<i64>,
}

impl Counted {
    /// Whether it failed, as far as that stands in the counters of a job that waited for it: one
    /// that has begun anew since had not counted it. Never more than there is, whatever the clock
    /// has done.
    fn failed_in(self, job: &Job) -> i64 {
        let counted = self.failed && job.started_at <= self.at;
        u64::from(counted)
            .min(job.counters.runs_failed)
            .cast_signed()
    }
}

impl Awaited {
    /// The run is tried again: what its end had counted is taken back, it will be counted
    /// again. Whether it is its job's still: one that was canceled keeps nothing of it.
    pub async fn begins_again<DB: Dialect>(
        &self,
        c: &mut Tx<DB>,
        tenant: TenantId,
        counted: Counted,
    ) -> Result<bool, Error> {
        let mut adopted = false;
        for job in self.by::<DB>(c).await? {
            let job = jobs::lock::<DB>(c, tenant, job).await?;
            let gone = matches!(job.status, JobStatus::Canceled | JobStatus::NotStarted);
            if self.job == Some(job.id) && !gone {
                adopted = true;
                open_own::<DB>(c, job.id, counted).await?;
            } else {
                let failed = counted.failed_in(&job);
                await_anothers::<DB>(c, job.id, self.version, failed).await?;
            }
        }
        Ok(adopted)
    }
}

/// A job that has begun anew since had not counted it.
async fn open_own<DB: Dialect>(c: &mut Tx<DB>, job: JobId, counted: Counted) -> Result<(), Error> {
    query("UPDATE jobs SET runs_open = runs_open + 1 WHERE id = $1")
        .bind(job.as_uuid())
        .execute(&mut *c)
        .await?;
    query(
        "UPDATE jobs SET runs_failed = runs_failed - $3,
             chunks_seen = chunks_seen - $4, chunks_error = chunks_error - $4
         WHERE id = $1 AND beginnings = $2",
    )
    .bind(job.as_uuid())
    .bind(counted.beginning)
    .bind(i64::from(counted.failed))
    .bind(counted.chunks_error.cast_signed())
    .execute(c)
    .await?;
    Ok(())
}

/// As long as the job claims the version.
async fn await_anothers<DB: Dialect>(
    c: &mut Tx<DB>,
    job: JobId,
    version: VersionId,
    failed: i64,
) -> Result<(), Error> {
    query(
        "UPDATE jobs SET runs_awaited = runs_awaited + 1, runs_failed = runs_failed - $3
         WHERE id = $1
           AND EXISTS (SELECT 1 FROM job_versions WHERE job_id = $1 AND version_id = $2)",
    )
    .bind(job.as_uuid())
    .bind(version.as_uuid())
    .bind(failed)
    .execute(c)
    .await?;
    Ok(())
}

/// Adds the run to its job's counters; what the job has left, if it is there.
async fn count_own<DB: Dialect>(
    c: &mut Tx<DB>,
    job: JobId,
    end: &End,
    now: DateTime<Utc>,
) -> Result<Option<i64>, Error> {
    let stats = end.stats;
    let seen = stats.chunks_processed + stats.chunks_skipped + stats.chunks_error;
    let row = query(
        "UPDATE jobs SET runs_open = runs_open - 1, runs_failed = runs_failed + $2,
             chunks_seen = chunks_seen + $3, chunks_processed = chunks_processed + $4,
             chunks_skipped = chunks_skipped + $5, chunks_error = chunks_error + $6,
             updated_at = $7
         WHERE id = $1 RETURNING runs_open + runs_awaited AS left_over",
    )
    .bind(job.as_uuid())
    .bind(i64::from(end.status == RunStatus::Failed))
    .bind(seen.cast_signed())
    .bind(stats.chunks_processed.cast_signed())
    .bind(stats.chunks_skipped.cast_signed())
    .bind(stats.chunks_error.cast_signed())
    .bind(now)
    .fetch_optional(c)
    .await?;
    row.map(|row| Cells::<DB>(&row).get("left_over"))
        .transpose()
}

/// Its chunks are another's; that it failed is this job's trouble too.
async fn count_anothers<DB: Dialect>(
    c: &mut Tx<DB>,
    job: JobId,
    end: &End,
    now: DateTime<Utc>,
) -> Result<Option<i64>, Error> {
    let row = query(
        "UPDATE jobs SET runs_awaited = runs_awaited - 1, runs_failed = runs_failed + $2,
             updated_at = $3
         WHERE id = $1 RETURNING runs_open + runs_awaited AS left_over",
    )
    .bind(job.as_uuid())
    .bind(i64::from(end.status == RunStatus::Failed))
    .bind(now)
    .fetch_optional(c)
    .await?;
    row.map(|row| Cells::<DB>(&row).get("left_over"))
        .transpose()
}
