//! Listing a job's source: the lease on it, and batches that move its cursor.

use std::time::Duration;

use chrono::{DateTime, Utc};
use model::{DocumentId, JobId, JobStatus, SourceId, SourceUri};
use sqlx::{AssertSqlSafe, QueryBuilder, query};
use uuid::Uuid;

use super::cells::{Cells, json, text};
use super::dialect::Dialect;
use super::events::tell;
use super::missing::to_answer;
use super::noted_jobs::{self, Part};
use super::{Tx, admit, claims, counters, end, jobs, originals, outcomes};
use crate::{Admitted, Batch, Error, JobClaim, Unseen};

/// Whether a job waits for somebody to list its source.
pub async fn due<DB: Dialect>(c: &mut Tx<DB>, now: DateTime<Utc>) -> Result<bool, Error> {
    let row = query(
        "SELECT id FROM jobs
         WHERE status = 'running' AND NOT exhausted
           AND (lease_until IS NULL OR lease_until <= $1)
         LIMIT 1",
    )
    .bind(now)
    .fetch_optional(c)
    .await?;
    Ok(row.is_some())
}

pub async fn claim<DB: Dialect>(
    c: &mut Tx<DB>,
    worker: &str,
    lease: Duration,
    now: DateTime<Utc>,
) -> Result<Option<JobClaim>, Error> {
    if let Some(advance) = DB::ADVANCE_FENCE {
        query(advance).execute(&mut *c).await?;
    }
    // What cannot be read stays under its lease, so that the next one has its turn.
    while let Some(row) = lease_next::<DB>(c, worker, lease, now).await? {
        if let Ok(claim) = read_claim::<DB>(&row) {
            return Ok(Some(claim));
        }
        let again = noted_jobs::put_back::<DB>(c, &row).await?;
        match again.map(|row| read_claim::<DB>(&row)) {
            Some(Ok(claim)) => {
                tracing::warn!(job_id = %claim.job, "a job could not be read; it is as it was noted");
                return Ok(Some(claim));
            }
            _ => {
                let job_id = Cells::<DB>(&row).get::<Uuid>("id").ok();
                let job_id = job_id.map(|id| id.to_string());
                tracing::error!(
                    job_id,
                    "a job cannot be read and is left alone; `gristmill repair` may put it right"
                );
            }
        }
    }
    Ok(None)
}

async fn lease_next<DB: Dialect>(
    c: &mut Tx<DB>,
    worker: &str,
    lease: Duration,
    now: DateTime<Utc>,
) -> Result<Option<DB::Row>, Error> {
    let sql = format!(
        "WITH due AS MATERIALIZED (
             SELECT id AS due_id FROM jobs
             WHERE status = 'running' AND NOT exhausted
               AND (lease_until IS NULL OR lease_until <= $1)
             ORDER BY id LIMIT 1 {}
         )
         UPDATE jobs SET token = {}, worker = $2, lease_until = $3, heartbeat_at = $1,
             waiting = NULL
         FROM due WHERE jobs.id = due_id
         RETURNING id, token, tenant_id, kb_id, source_id, status, config, cursor, exhausted,
             docs_seen, docs_skipped, docs_refused, runs_open, runs_awaited, runs_failed, chunks_seen,
             chunks_processed, chunks_skipped, chunks_error, initiated_by, error, created_at, started_at,
             updated_at, finished_at, paused_ms, heartbeat_at, lease_until, waiting",
        DB::SKIP_LOCKED,
        DB::NEXT_TOKEN
    );
    let row = query(AssertSqlSafe(sql))
        .bind(now)
        .bind(worker)
        .bind(now + lease)
        .fetch_optional(c)
        .await?;
    Ok(row)
}

fn read_claim<DB: Dialect>(row: &DB::Row) -> Result<JobClaim, Error> {
    let job = jobs::read::<DB>(row)?;
    let row = Cells::<DB>(row);
    Ok(JobClaim {
        job: job.id,
        token: row.count("token")?,
        tenant: job.tenant,
        kb: job.kb,
        source: job.source,
        config: job.config,
        cursor: row.maybe_json("cursor")?,
        initiated_by: job.initiated_by,
        started_at: job.started_at.unwrap_or(job.created_at),
    })
}

/// Prolongs the lease to `until`; whether it was still held.
pub async fn heartbeat<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &JobClaim,
    until: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Result<bool, Error> {
    let row = query(
        "UPDATE jobs SET lease_until = $3, heartbeat_at = $4
         WHERE id = $1 AND token = $2 AND status IN ('running', 'paused') RETURNING id",
    )
    .bind(claim.job.as_uuid())
    .bind(claim.token.cast_signed())
    .bind(until)
    .bind(now)
    .fetch_optional(c)
    .await?;
    Ok(row.is_some())
}

pub async fn release<DB: Dialect>(c: &mut Tx<DB>, claim: &JobClaim) -> Result<(), Error> {
    query("UPDATE jobs SET lease_until = NULL WHERE id = $1 AND token = $2")
        .bind(claim.job.as_uuid())
        .bind(claim.token.cast_signed())
        .execute(c)
        .await?;
    Ok(())
}

/// The lease stays: until it runs out nobody tries again.
pub async fn put_off<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &JobClaim,
    why: &str,
) -> Result<(), Error> {
    query("UPDATE jobs SET waiting = $3 WHERE id = $1 AND token = $2")
        .bind(claim.job.as_uuid())
        .bind(claim.token.cast_signed())
        .bind(text(why))
        .execute(c)
        .await?;
    Ok(())
}

pub async fn admit_batch<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &JobClaim,
    batch: &Batch,
    now: DateTime<Utc>,
) -> Result<Vec<Admitted>, Error> {
    // By document, so that two batches that share some lock them in the same order.
    let mut order: Vec<usize> = (0..batch.admissions.len()).collect();
    order.sort_by_key(|&at| &batch.admissions[at].source_uri);
    let mut admitted = vec![None; order.len()];
    for at in order {
        let admission = &batch.admissions[at];
        if admission.tenant != claim.tenant || admission.job != Some(claim.job) {
            return Err(Error::conflict(
                "batch",
                "an admission belongs to another job",
            ));
        }
        admitted[at] = Some(admit::admit_quietly::<DB>(c, admission, now).await?);
    }
    let admitted: Vec<Admitted> = admitted.into_iter().flatten().collect();
    // Somebody refers to them now.
    let hashes = batch.admissions.iter().map(|one| one.content_hash);
    let hashes: Vec<_> = hashes.collect();
    originals::gone::<DB>(c, claim.tenant, &hashes).await?;
    if let Some(source) = claim.source {
        see::<DB>(c, source, batch, now).await?;
    }
    advance::<DB>(c, claim, batch, &admitted, now).await?;
    outcomes::note::<DB>(c, claim.job, &batch.problems).await?;
    for (admission, admitted) in batch.admissions.iter().zip(&admitted) {
        tell::<DB>(c, admit::news(admission, admitted), now).await?;
    }
    let done = end::complete_if_done::<DB>(c, claim.job, now).await?;
    if done {
        let job = jobs::one::<DB>(c, claim.tenant, claim.job).await?;
        tell::<DB>(c, jobs::news(&job, "job.completed"), now).await?;
    }
    Ok(admitted)
}

/// Shows the job's fence, claims what was admitted, moves the cursor.
async fn advance<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &JobClaim,
    batch: &Batch,
    admitted: &[Admitted],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let held = query(
        "UPDATE jobs SET cursor = $3, exhausted = $4, heartbeat_at = $5, updated_at = $5,
             lease_until = CASE WHEN $4 THEN NULL ELSE lease_until END
         WHERE id = $1 AND token = $2 AND status IN ('running', 'paused') AND NOT exhausted
         RETURNING *",
    )
    .bind(claim.job.as_uuid())
    .bind(claim.token.cast_signed())
    .bind(json(&batch.cursor))
    .bind(batch.exhausted)
    .bind(now)
    .fetch_optional(&mut *c)
    .await?;
    let lost = || Error::conflict("job", "its listing is no longer held by this worker");
    noted_jobs::restate::<DB>(c, &held.ok_or_else(lost)?, Part::Standing).await?;
    for admitted in admitted {
        claims::make::<DB>(c, claim.tenant, claim.job, admitted, now).await?;
    }
    counters::note::<DB>(c, claim.job, admitted).await
}

async fn see<DB: Dialect>(
    c: &mut Tx<DB>,
    source: SourceId,
    batch: &Batch,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let admitted = batch
        .admissions
        .iter()
        .map(|admission| &admission.source_uri);
    let mut uris: Vec<&SourceUri> = admitted.chain(&batch.seen).collect();
    uris.sort();
    uris.dedup();
    for uris in uris.chunks(1000) {
        let mut insert: QueryBuilder<DB> =
            QueryBuilder::new("INSERT INTO source_objects (source_id, object_key, seen_at) ");
        insert.push_values(uris, |mut row, uri| {
            row.push_bind(source.as_uuid())
                .push_bind(uri.to_string())
                .push_bind(now);
        });
        insert
            .push(" ON CONFLICT (source_id, object_key) DO UPDATE SET seen_at = excluded.seen_at");
        insert.build().execute(&mut *c).await?;
    }
    Ok(())
}

pub async fn unseen<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &JobClaim,
    after: Option<DocumentId>,
    limit: u32,
) -> Result<Vec<Unseen>, Error> {
    // A job without a source of its own answers for every document of its knowledge base.
    let rows = query(AssertSqlSafe(format!(
        "SELECT d.id, d.source_uri FROM documents d
         LEFT JOIN source_objects o ON o.source_id = d.source_id AND o.object_key = d.source_uri
         WHERE d.tenant_id = $1 AND d.kb_id = $2 AND d.id > $3
           AND ($4 IS NULL OR d.source_id = $4)
           AND (o.seen_at IS NULL OR o.seen_at < $5)
           AND (EXISTS (SELECT 1 FROM activations a
                   WHERE a.document_id = d.id AND a.closed_at IS NULL)
               OR {}
               OR EXISTS (SELECT 1 FROM job_removals m
                   WHERE m.document_id = d.id AND m.at = d.removed_at)
                 AND NOT EXISTS (SELECT 1 FROM job_removals m
                   WHERE m.document_id = d.id AND m.at = d.removed_at AND m.job_id = $7))
         ORDER BY d.id LIMIT $6",
        to_answer()
    )))
    .bind(claim.tenant.as_uuid())
    .bind(claim.kb.as_uuid())
    .bind(after.map_or(Uuid::nil(), DocumentId::as_uuid))
    .bind(claim.source.map(SourceId::as_uuid))
    .bind(claim.started_at)
    .bind(i64::from(limit))
    .bind(claim.job.as_uuid())
    .fetch_all(c)
    .await?;
    let read = |row| {
        let row = Cells::<DB>(row);
        let document = row.id("id", DocumentId::from_uuid)?;
        Ok(Unseen {
            document,
            source_uri: row.uri("source_uri")?,
        })
    };
    rows.iter().map(read).collect()
}

pub async fn fail<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &JobClaim,
    error: &str,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let row = query(
        "UPDATE jobs SET status = $3, error = $4, finished_at = $5, updated_at = $5,
             lease_until = NULL
         WHERE id = $1 AND token = $2 AND status IN ('running', 'paused') AND NOT exhausted
         RETURNING *",
    )
    .bind(claim.job.as_uuid())
    .bind(claim.token.cast_signed())
    .bind(JobStatus::Failed.as_str())
    .bind(text(error))
    .bind(now)
    .fetch_optional(&mut *c)
    .await?;
    let lost = || Error::conflict("job", "its listing is no longer held by this worker");
    let row = row.ok_or_else(lost)?;
    noted_jobs::restate::<DB>(c, &row, Part::Standing).await?;
    let job = jobs::read::<DB>(&row)?;
    tell::<DB>(c, jobs::news(&job, "job.failed"), now).await
}

pub async fn finish_if_done<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: model::TenantId,
    job: JobId,
    now: DateTime<Utc>,
) -> Result<bool, Error> {
    let known = jobs::lock::<DB>(c, tenant, job).await?;
    let done = end::complete_if_done::<DB>(c, job, now).await?;
    if done {
        tell::<DB>(c, jobs::news(&known, "job.completed"), now).await?;
    }
    Ok(done)
}
