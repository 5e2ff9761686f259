//! What became of everything a job met.

use chrono::{DateTime, Utc};
use model::{DocumentId, JobId, JobStatus, RunId, RunStatus, StepKind, TenantId, VersionId};
use sqlx::{AssertSqlSafe, QueryBuilder, query};
use uuid::Uuid;

use super::Tx;
use super::cells::{Cells, text};
use super::claims::AWAITED;
use super::dialect::Dialect;
use super::paging::cut;
use super::{jobs, paging};
use crate::records::paused;
use crate::{
    Awaits, Error, FirstToGoOn, Job, JobChanges, JobDocument, JobOutcome, JobProgress, JobRemoval,
    Listed, Page, Problem,
};

/// Writes down what a batch could not take in.
pub async fn note<DB: Dialect>(
    c: &mut Tx<DB>,
    job: JobId,
    problems: &[Problem],
) -> Result<(), Error> {
    for problem in problems {
        let row = query(
            "UPDATE jobs SET docs_seen = docs_seen + 1, docs_refused = docs_refused + 1
             WHERE id = $1 RETURNING docs_refused",
        )
        .bind(job.as_uuid())
        .fetch_one(&mut *c)
        .await?;
        query(
            "INSERT INTO job_problems (job_id, position, source_uri, message)
             VALUES ($1, $2, $3, $4)",
        )
        .bind(job.as_uuid())
        .bind(Cells::<DB>(&row).get::<i64>("docs_refused")?)
        .bind(problem.source_uri.as_ref().map(ToString::to_string))
        .bind(text(&problem.message))
        .execute(&mut *c)
        .await?;
    }
    Ok(())
}

/// Two questions, each in the words of its index: how far a job is, is asked again and again.
const LIVE: &str = "SELECT coalesce(stage, '') AS stage, count(*) AS runs FROM ingestion_runs
    WHERE job_id = $1 AND status IN ('queued', 'running') GROUP BY 1";

/// Since the job last began: what failed before was counted then.
const FAILED: &str = "SELECT coalesce(stage, '') AS stage, count(*) AS runs FROM ingestion_runs
    WHERE job_id = $1 AND status = 'failed'
      AND counted_in = (SELECT beginnings FROM jobs WHERE id = $1) GROUP BY 1";

/// Counted by the stage each run is in that the job waits for.
pub async fn progress<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: JobId,
) -> Result<JobProgress, Error> {
    let known = jobs::one::<DB>(c, tenant, job).await?.counters;
    let live = by_stage::<DB>(c, LIVE, job).await?;
    let failed = by_stage::<DB>(c, FAILED, job).await?;
    let held = query(
        "SELECT count(w.id) AS under_way, max(r.heartbeat_at) AS heard,
             max(w.lease_until) AS leased_until
         FROM ingestion_runs r LEFT JOIN work w ON w.run_id = r.id AND w.lease_until IS NOT NULL
         WHERE r.job_id = $1 AND r.status IN ('queued', 'running')",
    )
    .bind(job.as_uuid())
    .fetch_one(&mut *c)
    .await?;
    let held = Cells::<DB>(&held);
    let under_way = held.count("under_way")?;
    let mut progress = JobProgress {
        under_way,
        leased_until: held.maybe_at("leased_until")?,
        first: match under_way {
            0 => first_to_go_on::<DB>(c, job).await?,
            _ => None,
        },
        awaits: None,
        heartbeat_at: held.maybe_at("heard")?,
        taken_in: known.docs_seen,
        parsed: known.docs_seen.saturating_sub(known.docs_refused),
        embedded: known.docs_seen.saturating_sub(known.docs_refused),
        ended: known.docs_seen,
    };
    for (stage, runs) in live.iter().chain(&failed) {
        not_past(&mut progress, stage, *runs);
    }
    let open: u64 = live.iter().map(|(_, runs)| runs).sum();
    progress.ended -= open.min(progress.ended);
    if known.runs_awaited > 0 {
        awaited::<DB>(c, job, &mut progress).await?;
    }
    Ok(progress)
}

async fn by_stage<DB: Dialect>(
    c: &mut Tx<DB>,
    sql: &'static str,
    job: JobId,
) -> Result<Vec<(String, u64)>, Error> {
    let rows = query(sql).bind(job.as_uuid()).fetch_all(c).await?;
    let read = |row| {
        let row = Cells::<DB>(row);
        Ok((row.text("stage")?, row.count("runs")?))
    };
    rows.iter().map(read).collect()
}

/// Runs that are at a stage, or failed there, have passed only those before it.
fn not_past(progress: &mut JobProgress, stage: &str, runs: u64) {
    if stage != StepKind::Finalize.as_str() {
        progress.embedded -= runs.min(progress.embedded);
        if stage != StepKind::Extract.as_str() {
            progress.parsed -= runs.min(progress.parsed);
        }
    }
}

/// Runs of others the job waits for, and whose they are: told is a paused job first.
async fn awaited<DB: Dialect>(
    c: &mut Tx<DB>,
    job: JobId,
    progress: &mut JobProgress,
) -> Result<(), Error> {
    let sql = format!(
        "SELECT coalesce(r.stage, '') AS stage, r.job_id, j.status, count(*) AS runs
         {AWAITED} LEFT JOIN jobs j ON j.id = r.job_id
         WHERE jv.job_id = $1 GROUP BY 1, 2, 3 ORDER BY 2, 1"
    );
    let rows = query(AssertSqlSafe(sql))
        .bind(job.as_uuid())
        .fetch_all(c)
        .await?;
    for row in &rows {
        let row = Cells::<DB>(row);
        let runs = row.count("runs")?;
        not_past(progress, &row.text("stage")?, runs);
        progress.ended -= runs.min(progress.ended);
        let of = Awaits {
            job: row.maybe_id("job_id", JobId::from_uuid)?,
            paused: row.maybe_word("status")? == Some(JobStatus::Paused),
            runs,
        };
        match &mut progress.awaits {
            Some(told) if told.job == of.job => told.runs += of.runs,
            Some(told) if told.paused || !of.paused => {}
            told => *told = Some(of),
        }
    }
    Ok(())
}

/// `None` as well where that run waits for nothing but a worker.
async fn first_to_go_on<DB: Dialect>(
    c: &mut Tx<DB>,
    job: JobId,
) -> Result<Option<FirstToGoOn>, Error> {
    let row = query(
        "SELECT waiting, waiting_until FROM ingestion_runs
         WHERE job_id = $1 AND status IN ('queued', 'running')
         ORDER BY coalesce(waiting_until, created_at), id LIMIT 1",
    )
    .bind(job.as_uuid())
    .fetch_optional(c)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let row = Cells::<DB>(&row);
    let told = row
        .maybe_text("waiting")?
        .zip(row.maybe_at("waiting_until")?);
    Ok(told.map(|(why, until)| FirstToGoOn { why, until }))
}

/// A claim `jv` of a version `v` that only came by copying what the job met, as a generation that
/// was being built copied all that served: a job that met the copy itself has met nothing else.
const COPIED: &str = "r.run_type = 'reindex' AND EXISTS (SELECT 1 FROM document_versions w
        WHERE w.document_id = v.document_id AND w.content_hash = v.content_hash
          AND w.number < v.number
          AND EXISTS (SELECT 1 FROM job_versions o
              WHERE o.job_id = jv.job_id AND o.version_id = w.id))";

/// Counted from what the job claims.
pub async fn changes<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: JobId,
) -> Result<JobChanges, Error> {
    let known = jobs::one::<DB>(c, tenant, job).await?;
    let rows = query(AssertSqlSafe(format!(
        "SELECT jv.outcome, count(*) AS met FROM job_versions jv
         JOIN document_versions v ON v.id = jv.version_id
         JOIN ingestion_runs r ON r.id = v.run_id
         WHERE jv.job_id = $1 AND NOT ({COPIED}) GROUP BY 1"
    )))
    .bind(job.as_uuid())
    .fetch_all(&mut *c)
    .await?;
    let mut changes = JobChanges::default();
    for row in &rows {
        let row = Cells::<DB>(row);
        let met = row.count("met")?;
        match row.word("outcome")? {
            JobOutcome::New => changes.new = met,
            JobOutcome::NewVersion => changes.changed = met,
            JobOutcome::Skipped => changes.unchanged = met,
        }
    }
    changes.removed = removed::<DB>(c, &known).await?;
    Ok(changes)
}

/// A removal made before a job started is another's it has a part in.
fn since(job: &Job) -> DateTime<Utc> {
    job.started_at.unwrap_or(job.created_at)
}

pub async fn removals<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: JobId,
    page: &Page,
) -> Result<Listed<JobRemoval>, Error> {
    let known = jobs::one::<DB>(c, tenant, job).await?;
    let mut select: QueryBuilder<DB> = QueryBuilder::new(
        "SELECT d.id, d.source_uri, m.at FROM job_removals m
         JOIN documents d ON d.id = m.document_id WHERE m.job_id = ",
    );
    select.push_bind(job.as_uuid());
    select.push(" AND m.at >= ").push_bind(since(&known));
    if let Some(document) = paging::after::<Uuid>(page)? {
        select.push(" AND d.id > ").push_bind(document);
    }
    select.push(" ORDER BY d.id");
    let limit = paging::limit(&mut select, page);
    let rows = select.build().fetch_all(c).await?;
    let read = |row| {
        let row = Cells::<DB>(row);
        Ok(JobRemoval {
            document: row.id("id", DocumentId::from_uuid)?,
            source_uri: row.uri("source_uri")?,
            at: row.at("at")?,
        })
    };
    let items = rows.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
    Ok(cut(items, limit, |one| one.document))
}

async fn removed<DB: Dialect>(c: &mut Tx<DB>, job: &Job) -> Result<u64, Error> {
    let row = query("SELECT count(*) AS gone FROM job_removals WHERE job_id = $1 AND at >= $2")
        .bind(job.id.as_uuid())
        .bind(since(job))
        .fetch_one(c)
        .await?;
    Cells::<DB>(&row).count("gone")
}

/// A job that begins anew has met nothing yet.
pub async fn clear<DB: Dialect>(c: &mut Tx<DB>, job: JobId) -> Result<(), Error> {
    for sql in [
        "DELETE FROM job_problems WHERE job_id = $1",
        "DELETE FROM job_batches WHERE job_id = $1",
    ] {
        query(sql).bind(job.as_uuid()).execute(&mut *c).await?;
    }
    Ok(())
}

pub async fn problems<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: JobId,
    page: &Page,
) -> Result<Listed<Problem>, Error> {
    jobs::one::<DB>(c, tenant, job).await?;
    let mut select: QueryBuilder<DB> =
        QueryBuilder::new("SELECT position, source_uri, message FROM job_problems WHERE job_id = ");
    select.push_bind(job.as_uuid());
    if let Some(position) = paging::after::<u32>(page)? {
        select
            .push(" AND position > ")
            .push_bind(i64::from(position));
    }
    select.push(" ORDER BY position");
    let limit = paging::limit(&mut select, page);
    let rows = select.build().fetch_all(c).await?;
    let read = |row| {
        let row = Cells::<DB>(row);
        let named = row.maybe_text("source_uri")?.is_some();
        let problem = Problem {
            source_uri: named.then(|| row.uri("source_uri")).transpose()?,
            message: row.text("message")?,
        };
        Ok((row.small("position")?, problem))
    };
    let items = rows.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
    Ok(cut(items, limit, |(position, _)| *position).map(|(_, problem)| problem))
}

pub async fn documents<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: JobId,
    page: &Page,
) -> Result<Listed<JobDocument>, Error> {
    jobs::one::<DB>(c, tenant, job).await?;
    let mut select: QueryBuilder<DB> = QueryBuilder::new(format!(
        "SELECT jv.version_id, jv.outcome, v.document_id, d.source_uri, v.chunks, v.gaps,
             v.warnings, v.run_id, r.status AS run_status, r.error_message, r.waiting, r.job_id AS run_job,
             j.status AS run_job_status
         FROM job_versions jv
         JOIN document_versions v ON v.id = jv.version_id
         JOIN documents d ON d.id = v.document_id
         JOIN ingestion_runs r ON r.id = v.run_id
         LEFT JOIN jobs j ON j.id = r.job_id
         WHERE NOT ({COPIED}) AND jv.job_id = "
    ));
    select.push_bind(job.as_uuid());
    if let Some(after) = paging::after::<VersionId>(page)? {
        select
            .push(" AND jv.version_id > ")
            .push_bind(after.as_uuid());
    }
    select.push(" ORDER BY jv.version_id");
    let limit = paging::limit(&mut select, page);
    let rows = select.build().fetch_all(c).await?;
    let read = |row: &DB::Row| {
        let row = Cells::<DB>(row);
        Ok(JobDocument {
            document: row.id("document_id", DocumentId::from_uuid)?,
            version: row.id("version_id", VersionId::from_uuid)?,
            source_uri: row.uri("source_uri")?,
            outcome: row.word("outcome")?,
            chunks: row.count("chunks")?,
            gaps: row.json("gaps")?,
            warnings: row.json("warnings")?,
            run: row.id("run_id", RunId::from_uuid)?,
            run_status: row.maybe_word("run_status")?,
            error: row.maybe_text("error_message")?,
            waiting: waiting::<DB>(&row)?,
        })
    };
    let items = rows.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
    Ok(cut(items, limit, |found| found.version.as_uuid()))
}

/// What a document that is not there yet waits for; nothing, where a worker is at it.
fn waiting<DB: Dialect>(row: &Cells<'_, DB>) -> Result<Option<String>, Error> {
    let status: Option<RunStatus> = row.maybe_word("run_status")?;
    if !matches!(status, Some(RunStatus::Queued | RunStatus::Running)) {
        return Ok(None);
    }
    let job = row.maybe_id("run_job", JobId::from_uuid)?;
    match (row.maybe_word("run_job_status")?, job) {
        (Some(JobStatus::Paused), Some(job)) => Ok(Some(paused(job))),
        _ => row.maybe_text("waiting"),
    }
}
