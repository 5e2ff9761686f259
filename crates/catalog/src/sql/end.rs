//! How runs end: status, job counters and event in one transaction, and no work left.

use chrono::{DateTime, Utc};
use model::{DocumentId, JobId, RunId, RunStatus, Step, TenantId, VersionId};
use sqlx::query;
use uuid::Uuid;

use super::cells::{Cells, json, text};
use super::claims::Awaited;
use super::dialect::Dialect;
use super::events::{News, tell};
use super::noted_jobs::{self, Part};
use super::{Tx, noted_runs, witness};
use crate::{Claim, Error, RunError, RunStats, RunType, VersionState};

/// How a run ended.
pub struct End {
    pub status: RunStatus,
    pub superseded: bool,
    pub stats: RunStats,
    pub error: Option<RunError>,
}

impl End {
    pub fn succeeded(superseded: bool, stats: RunStats) -> Self {
        Self {
            status: RunStatus::Succeeded,
            superseded,
            stats,
            error: None,
        }
    }

    fn without_success(status: RunStatus, stats: RunStats, error: RunError) -> Self {
        Self {
            status,
            superseded: false,
            stats,
            error: Some(error),
        }
    }
}

/// Cancels runs of a version that have ended, however they did: what they made is taken away.
/// What they have counted in their job, the end of its cancel clears.
pub async fn cancel_ended<DB: Dialect>(
    c: &mut Tx<DB>,
    (document, version): (DocumentId, VersionId),
    why: &RunError,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let rows = query(
        "UPDATE ingestion_runs SET status = 'canceled', superseded = FALSE, error_code = $3,
             error_message = $4, error_hint = $5, updated_at = $6
         WHERE document_id = $1 AND version_id = $2 AND status IN ('succeeded', 'failed')
         RETURNING *",
    )
    .bind(document.as_uuid())
    .bind(version.as_uuid())
    .bind(text(&why.code))
    .bind(text(&why.message))
    .bind(why.hint.as_deref().map(text))
    .bind(now)
    .fetch_all(&mut *c)
    .await?;
    for row in &rows {
        noted_runs::restate_end::<DB>(c, row).await?;
        let row = Cells::<DB>(row);
        let news = News {
            tenant: row.id("tenant_id", TenantId::from_uuid)?,
            kind: "run.canceled",
            run: Some(row.id("id", RunId::from_uuid)?),
            document: Some(document),
            job: row.maybe_id("job_id", JobId::from_uuid)?,
            data: serde_json::json!({ "error": why }),
        };
        tell::<DB>(c, news, now).await?;
    }
    Ok(())
}

/// Ends a live run; a run that has ended stays as it is, and nothing is counted twice.
pub async fn end_run<DB: Dialect>(
    c: &mut Tx<DB>,
    run: RunId,
    end: End,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    query("DELETE FROM work WHERE run_id = $1")
        .bind(run.as_uuid())
        .execute(&mut *c)
        .await?;
    let Some(row) = close_run::<DB>(c, run, &end, now).await? else {
        return Ok(());
    };
    noted_runs::write::<DB>(c, &row).await?;
    let row = Cells::<DB>(&row);
    let tenant = row.id("tenant_id", TenantId::from_uuid)?;
    let job = row.maybe_id("job_id", JobId::from_uuid)?;
    let document = row.id("document_id", DocumentId::from_uuid)?;
    let awaited = Awaited {
        version: row.id("version_id", VersionId::from_uuid)?,
        job,
        is_copy: row.word::<RunType>("run_type")? == RunType::Reindex,
    };
    let complete = awaited.ended::<DB>(c, &end, now).await?;
    let news = |kind, data| News {
        tenant,
        kind,
        run: Some(run),
        document: Some(document),
        job,
        data,
    };
    tell::<DB>(c, news(kind_of(&end), told(&end)), now).await?;
    for job in complete {
        let news = News {
            run: None,
            document: None,
            job: Some(job),
            ..news("job.completed", serde_json::json!({}))
        };
        tell::<DB>(c, news, now).await?;
    }
    Ok(())
}

fn kind_of(end: &End) -> &'static str {
    match end.status {
        RunStatus::Succeeded => "run.succeeded",
        RunStatus::Failed => "run.failed",
        RunStatus::Canceled => "run.canceled",
        RunStatus::Queued | RunStatus::Running => unreachable!("a run does not end as live"),
    }
}

fn told(end: &End) -> serde_json::Value {
    serde_json::json!({ "superseded": end.superseded, "stats": end.stats, "error": end.error })
}

async fn close_run<DB: Dialect>(
    c: &mut Tx<DB>,
    run: RunId,
    end: &End,
    now: DateTime<Utc>,
) -> Result<Option<DB::Row>, Error> {
    let error = end.error.as_ref();
    let row = query(
        "UPDATE ingestion_runs SET status = $2, superseded = $3, chunks_created = $4,
             tokens_total = $5, chunks_processed = $6, chunks_skipped = $7, chunks_error = $8,
             error_code = $9, error_message = $10, error_hint = $11, updated_at = $12,
             finished_at = $12, started_at = coalesce(started_at, $12), waiting = NULL,
             waiting_until = NULL,
             counted_in = (SELECT j.beginnings FROM jobs j WHERE j.id = ingestion_runs.job_id)
         WHERE id = $1 AND status IN ('queued', 'running')
         RETURNING *",
    )
    .bind(run.as_uuid())
    .bind(end.status.as_str())
    .bind(end.superseded)
    .bind(end.stats.chunks_created.cast_signed())
    .bind(end.stats.tokens_total.cast_signed())
    .bind(end.stats.chunks_processed.cast_signed())
    .bind(end.stats.chunks_skipped.cast_signed())
    .bind(end.stats.chunks_error.cast_signed())
    .bind(error.map(|error| text(&error.code)))
    .bind(error.map(|error| text(&error.message)))
    .bind(error.and_then(|error| error.hint.as_deref()).map(text))
    .bind(now)
    .fetch_optional(c)
    .await?;
    Ok(row)
}

/// A running job with nothing left to list and no run to wait for is complete.
pub async fn complete_if_done<DB: Dialect>(
    c: &mut Tx<DB>,
    job: JobId,
    now: DateTime<Utc>,
) -> Result<bool, Error> {
    let done = query(
        "UPDATE jobs SET status = 'completed', finished_at = $2, updated_at = $2,
             lease_until = NULL
         WHERE id = $1 AND status = 'running' AND exhausted AND runs_open = 0
           AND runs_awaited = 0
         RETURNING *",
    )
    .bind(job.as_uuid())
    .bind(now)
    .fetch_optional(&mut *c)
    .await?;
    let Some(row) = done else { return Ok(false) };
    noted_jobs::restate::<DB>(c, &row, Part::Standing).await?;
    query("UPDATE ingestion_sources SET last_success_at = $2 WHERE id = $1")
        .bind(Cells::<DB>(&row).get::<Option<Uuid>>("source_id")?)
        .bind(now)
        .execute(c)
        .await?;
    Ok(true)
}

/// Ends the claim's run without success. Chunks its units had made are counted as errors:
/// they will never answer.
pub async fn end_badly<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
    status: RunStatus,
    error: RunError,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    give_up::<DB>(c, (claim.run, claim.step.version()), status, error, now).await
}

/// As [`end_badly`], for a run nobody need hold.
pub async fn give_up<DB: Dialect>(
    c: &mut Tx<DB>,
    (run, version): (RunId, VersionId),
    status: RunStatus,
    error: RunError,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let version = version.as_uuid();
    let row = query(
        "SELECT CAST(coalesce(sum(chunks), 0) AS BIGINT) AS chunks FROM document_units
         WHERE version_id = $1",
    )
    .bind(version)
    .fetch_one(&mut *c)
    .await?;
    let stats = RunStats {
        chunks_error: Cells::<DB>(&row).count("chunks")?,
        ..RunStats::default()
    };
    let state = match status {
        RunStatus::Canceled => VersionState::Canceled,
        _ => VersionState::Failed,
    };
    query("UPDATE document_versions SET state = $2 WHERE id = $1 AND state <> 'ready'")
        .bind(version)
        .bind(state.as_str())
        .execute(&mut *c)
        .await?;
    end_run::<DB>(c, run, End::without_success(status, stats, error), now).await?;
    match status {
        // Only now that the run has ended: until then others may come to claim what it brings.
        RunStatus::Failed => witness::write::<DB>(c, VersionId::from_uuid(version)).await,
        _ => Ok(()),
    }
}

/// Dead letter and failed run: the step is kept to be replayed.
pub async fn bury<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
    error: RunError,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    bury_step::<DB>(c, (claim.run, &claim.step), claim.attempt, error, now).await
}

/// As [`bury`], for a step nobody need hold.
pub async fn bury_step<DB: Dialect>(
    c: &mut Tx<DB>,
    (run, step): (RunId, &Step),
    attempts: u32,
    error: RunError,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    query(
        "INSERT INTO dead_letters (id, tenant_id, step_key, step, document_id, version_id, run_id,
             source_uri, attempts, error_code, error_message, error_hint, created_at)
         SELECT $1, r.tenant_id, $3, $4, r.document_id, r.version_id, r.id, r.source_uri,
             $5, $6, $7, $8, $9
         FROM ingestion_runs r WHERE r.id = $2
         ON CONFLICT (step_key) DO UPDATE SET attempts = excluded.attempts,
             run_id = excluded.run_id, error_code = excluded.error_code,
             error_message = excluded.error_message, error_hint = excluded.error_hint,
             created_at = excluded.created_at",
    )
    .bind(Uuid::now_v7())
    .bind(run.as_uuid())
    .bind(step.key())
    .bind(json(step))
    .bind(i64::from(attempts))
    .bind(text(&error.code))
    .bind(text(&error.message))
    .bind(error.hint.as_deref().map(text))
    .bind(now)
    .execute(&mut *c)
    .await?;
    give_up::<DB>(c, (run, step.version()), RunStatus::Failed, error, now).await
}
