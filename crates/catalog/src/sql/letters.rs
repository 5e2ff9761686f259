//! Dead letters and other second chances.

use chrono::{DateTime, Utc};
use model::{DocumentId, JobId, RunId, RunStatus, Step, TenantId, VersionId};
use sqlx::{AssertSqlSafe, QueryBuilder, query};
use uuid::Uuid;

use super::activate::lock_document;
use super::cells::Cells;
use super::claims::{Awaited, Counted};
use super::dialect::Dialect;
use super::events::{News, tell};
use super::paging::{cut, page_by_id};
use super::{Tx, noted_runs, versions, witness, work};
use crate::{
    DeadLetter, Error, GenerationState, Listed, Page, Replayed, RunError, RunType, VersionState,
};

const LETTERS: &str = "SELECT l.*, v.title, v.filename
    FROM dead_letters l LEFT JOIN document_versions v ON v.id = l.version_id
    WHERE l.tenant_id = ";

pub async fn list<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    page: &Page,
) -> Result<Listed<DeadLetter>, Error> {
    let mut select: QueryBuilder<DB> = QueryBuilder::new(LETTERS);
    select.push_bind(tenant.as_uuid());
    let limit = page_by_id(&mut select, "l.id", page)?;
    let rows = select.build().fetch_all(c).await?;
    let items = rows.iter().map(read::<DB>).collect::<Result<Vec<_>, _>>()?;
    Ok(cut(items, limit, |letter| letter.id))
}

pub async fn one<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    letter: Uuid,
) -> Result<DeadLetter, Error> {
    let found = find::<DB>(c, tenant, letter).await?;
    found.ok_or_else(|| Error::not_found("dead letter", letter))
}

async fn find<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    letter: Uuid,
) -> Result<Option<DeadLetter>, Error> {
    let mut select: QueryBuilder<DB> = QueryBuilder::new(LETTERS);
    select.push_bind(tenant.as_uuid());
    select.push(" AND l.id = ").push_bind(letter);
    let row = select.build().fetch_optional(c).await?;
    row.as_ref().map(read::<DB>).transpose()
}

fn read<DB: Dialect>(row: &DB::Row) -> Result<DeadLetter, Error> {
    let row = Cells::<DB>(row);
    Ok(DeadLetter {
        id: row.get("id")?,
        step: row.json("step")?,
        document: row.id("document_id", DocumentId::from_uuid)?,
        version: row.id("version_id", VersionId::from_uuid)?,
        run: row.id("run_id", RunId::from_uuid)?,
        source_uri: row.text("source_uri")?,
        title: row.maybe_text("title")?,
        filename: row.maybe_text("filename")?,
        attempts: row.small("attempts")?,
        error: RunError {
            code: row.text("error_code")?,
            message: row.text("error_message")?,
            hint: row.maybe_text("error_hint")?,
        },
        created_at: row.at("created_at")?,
    })
}

pub async fn remove<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    letter: Uuid,
) -> Result<(), Error> {
    let row = query("DELETE FROM dead_letters WHERE id = $1 AND tenant_id = $2 RETURNING id")
        .bind(letter)
        .bind(tenant.as_uuid())
        .fetch_optional(c)
        .await?;
    row.map(drop)
        .ok_or_else(|| Error::not_found("dead letter", letter))
}

pub async fn replay<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    letter: Uuid,
    now: DateTime<Utc>,
) -> Result<Replayed, Error> {
    if let Some(known) = find::<DB>(c, tenant, letter).await? {
        lock_document::<DB>(c, tenant, known.document).await?;
        // Somebody may have been faster.
        if let Some(known) = find::<DB>(c, tenant, letter).await? {
            let run = retry_run::<DB>(c, tenant, known.run, now).await?;
            return Ok(Replayed {
                run,
                at: now,
                already: false,
            });
        }
    }
    let before = replayed::<DB>(c, tenant, letter).await?;
    before.ok_or_else(|| Error::not_found("dead letter", letter))
}

async fn replayed<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    letter: Uuid,
) -> Result<Option<Replayed>, Error> {
    let row = query("SELECT run_id, at FROM replayed_letters WHERE id = $1 AND tenant_id = $2")
        .bind(letter)
        .bind(tenant.as_uuid())
        .fetch_optional(c)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let row = Cells::<DB>(&row);
    Ok(Some(Replayed {
        run: row.id("run_id", RunId::from_uuid)?,
        at: row.at("at")?,
        already: true,
    }))
}

/// The letters of a run are answered by that run, or by another that does its work.
async fn answer_letters<DB: Dialect>(
    c: &mut Tx<DB>,
    run: RunId,
    by: RunId,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    query(
        "INSERT INTO replayed_letters (id, tenant_id, version_id, run_id, at)
         SELECT id, tenant_id, version_id, $2, $3 FROM dead_letters WHERE run_id = $1",
    )
    .bind(run.as_uuid())
    .bind(by.as_uuid())
    .bind(now)
    .execute(&mut *c)
    .await?;
    query("DELETE FROM dead_letters WHERE run_id = $1")
        .bind(run.as_uuid())
        .execute(c)
        .await?;
    Ok(())
}

struct Ended {
    document: DocumentId,
    status: RunStatus,
    awaited: Awaited,
    finished_at: Option<DateTime<Utc>>,
    chunks_error: u64,
    counted_in: Option<i64>,
}

impl Ended {
    fn counted(&self) -> Counted {
        Counted {
            failed: self.status == RunStatus::Failed,
            chunks_error: self.chunks_error,
            at: self.finished_at,
            beginning: self.counted_in,
        }
    }
}

pub async fn retry_run<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    run: RunId,
    now: DateTime<Utc>,
) -> Result<RunId, Error> {
    let document = ended::<DB>(c, tenant, run, "").await?.document;
    lock_document::<DB>(c, tenant, document)
        .await
        .map_err(taken_away)?;
    let ended = ended::<DB>(c, tenant, run, DB::FOR_UPDATE).await?;
    match ended.status {
        RunStatus::Queued | RunStatus::Running => return Ok(run),
        RunStatus::Succeeded => return Err(Error::conflict("run", "it has succeeded")),
        RunStatus::Failed | RunStatus::Canceled => {}
    }
    let live = live_twin::<DB>(c, run).await?;
    answer_letters::<DB>(c, run, live.unwrap_or(run), now).await?;
    if let Some(live) = live {
        return Ok(live);
    }
    let version = versions::one::<DB>(c, tenant, ended.awaited.version);
    let version = version.await.map_err(taken_away)?;
    if version.generation.state == GenerationState::Retired {
        let why = "its generation serves no more; ingest the file again";
        return Err(Error::conflict("run", why));
    }
    if version.state == VersionState::Canceled {
        return Err(Error::conflict("run", "its version is being removed"));
    }
    requeue::<DB>(c, tenant, run, &ended, now).await?;
    tell::<DB>(c, queued(tenant, run, &ended), now).await?;
    Ok(run)
}

/// The run is there: what it was of is not.
fn taken_away(error: Error) -> Error {
    match error {
        Error::NotFound { .. } => {
            let why = "what it had brought was canceled or purged; ingest the file again";
            Error::conflict("run", why)
        }
        other => other,
    }
}

async fn ended<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    run: RunId,
    lock: &'static str,
) -> Result<Ended, Error> {
    let sql = format!(
        "SELECT document_id, version_id, status, job_id, run_type, finished_at, chunks_error,
             counted_in
         FROM ingestion_runs
         WHERE id = $1 AND tenant_id = $2 {lock}"
    );
    let row = query(AssertSqlSafe(sql))
        .bind(run.as_uuid())
        .bind(tenant.as_uuid())
        .fetch_optional(c)
        .await?
        .ok_or_else(|| Error::not_found("run", run))?;
    let row = Cells::<DB>(&row);
    Ok(Ended {
        document: row.id("document_id", DocumentId::from_uuid)?,
        status: row.word("status")?,
        awaited: Awaited {
            version: row.id("version_id", VersionId::from_uuid)?,
            job: row.maybe_id("job_id", JobId::from_uuid)?,
            is_copy: row.word::<RunType>("run_type")? == RunType::Reindex,
        },
        finished_at: row.maybe_at("finished_at")?,
        chunks_error: row.count("chunks_error")?,
        counted_in: row.get("counted_in")?,
    })
}

/// A live run of the same bytes, started since: it does what a retry would.
async fn live_twin<DB: Dialect>(c: &mut Tx<DB>, run: RunId) -> Result<Option<RunId>, Error> {
    let row = query(
        "SELECT l.id FROM ingestion_runs r JOIN ingestion_runs l ON l.document_id = r.document_id
             AND l.generation_id = r.generation_id AND l.content_hash = r.content_hash
             AND l.status IN ('queued', 'running')
         WHERE r.id = $1",
    )
    .bind(run.as_uuid())
    .fetch_optional(c)
    .await?;
    row.map(|row| Cells::<DB>(&row).id("id", RunId::from_uuid))
        .transpose()
}

async fn requeue<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    run: RunId,
    ended: &Ended,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let adopted = ended
        .awaited
        .begins_again::<DB>(c, tenant, ended.counted())
        .await?;
    query(
        "UPDATE ingestion_runs SET status = 'queued', finished_at = NULL, updated_at = $2,
             error_code = NULL, error_message = NULL, error_hint = NULL, chunks_error = 0,
             counted_in = NULL, job_id = CASE WHEN $3 THEN job_id ELSE NULL END
         WHERE id = $1",
    )
    .bind(run.as_uuid())
    .bind(now)
    .bind(adopted)
    .execute(&mut *c)
    .await?;
    noted_runs::forget::<DB>(c, (ended.document, run)).await?;
    witness::forget::<DB>(c, ended.awaited.version).await?;
    query("UPDATE document_versions SET state = 'pending', run_id = $2 WHERE id = $1")
        .bind(ended.awaited.version.as_uuid())
        .bind(run.as_uuid())
        .execute(&mut *c)
        .await?;
    work::enqueue::<DB>(
        c,
        &Step::Prep {
            version: ended.awaited.version,
        },
        now,
    )
    .await
}

fn queued(tenant: TenantId, run: RunId, ended: &Ended) -> News {
    News {
        tenant,
        kind: "run.queued",
        run: Some(run),
        document: Some(ended.document),
        job: ended.awaited.job,
        data: serde_json::json!({ "retry": true }),
    }
}
