//! Jobs: made, started, paused, resumed.

use chrono::{DateTime, Utc};
use model::{JobId, JobStatus, KbId, SourceId, TenantId, UserId};
use sqlx::{AssertSqlSafe, QueryBuilder, query};
use uuid::Uuid;

use super::cells::{Cells, json};
use super::dialect::Dialect;
use super::events::{News, tell};
use super::noted_jobs::{self, Part};
use super::paging::{page_by_id, shown};
use super::{Tx, kbs, listing, outcomes, sources, unsay};
use crate::{Error, Job, JobCounters, JobFilter, Listed, NewJob, Page};

pub async fn create<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: NewJob,
    now: DateTime<Utc>,
) -> Result<Job, Error> {
    kbs::one::<DB>(c, tenant, job.kb).await?;
    if let Some(source) = job.source {
        sources::one::<DB>(c, tenant, source).await?;
    }
    let row = query(
        "INSERT INTO jobs (id, tenant_id, kb_id, source_id, status, config, initiated_by,
             created_at, updated_at)
         VALUES ($1, $2, $3, $4, 'not_started', $5, $6, $7, $7) RETURNING *",
    )
    .bind(Uuid::now_v7())
    .bind(tenant.as_uuid())
    .bind(job.kb.as_uuid())
    .bind(job.source.map(SourceId::as_uuid))
    .bind(json(&job.config))
    .bind(job.initiated_by.map(UserId::as_uuid))
    .bind(now)
    .fetch_one(&mut *c)
    .await?;
    noted_jobs::write::<DB>(c, &row).await?;
    read::<DB>(&row)
}

/// In one transaction, so that a start that is refused leaves no job behind.
pub async fn begin<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: NewJob,
    now: DateTime<Utc>,
) -> Result<Job, Error> {
    let job = create::<DB>(c, tenant, job, now).await?;
    start::<DB>(c, tenant, job.id, now).await
}

pub async fn one<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId, job: JobId) -> Result<Job, Error> {
    find::<DB>(c, tenant, job, "").await
}

pub async fn lock<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId, job: JobId) -> Result<Job, Error> {
    find::<DB>(c, tenant, job, DB::FOR_UPDATE).await
}

async fn find<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: JobId,
    lock: &'static str,
) -> Result<Job, Error> {
    let sql = format!("SELECT * FROM jobs WHERE id = $1 AND tenant_id = $2 {lock}");
    let row = query(AssertSqlSafe(sql))
        .bind(job.as_uuid())
        .bind(tenant.as_uuid())
        .fetch_optional(c)
        .await?;
    read::<DB>(&row.ok_or_else(|| Error::not_found("job", job))?)
}

pub async fn list<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    filter: JobFilter,
    page: Page,
) -> Result<Listed<Job>, Error> {
    let mut select: QueryBuilder<DB> = QueryBuilder::new("SELECT * FROM jobs WHERE tenant_id = ");
    select.push_bind(tenant.as_uuid());
    if let Some(kb) = filter.kb {
        select.push(" AND kb_id = ").push_bind(kb.as_uuid());
    }
    if let Some(source) = filter.source {
        select.push(" AND source_id = ").push_bind(source.as_uuid());
    }
    if let Some(status) = filter.status {
        select.push(" AND status = ").push_bind(status.as_str());
    }
    let limit = page_by_id(&mut select, "id", &page)?;
    let rows = select.build().fetch_all(c).await?;
    shown::<DB, _>(&rows, limit, "job", read::<DB>)
}

/// One that was made and never started is not what the source is at.
pub async fn of_source<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    source: SourceId,
) -> Result<Option<Job>, Error> {
    for which in [UNDER_WAY, "started_at IS NOT NULL"] {
        let sql = format!(
            "SELECT * FROM jobs WHERE tenant_id = $1 AND source_id = $2 AND {which}
             ORDER BY id DESC LIMIT 1"
        );
        let rows = query(AssertSqlSafe(sql))
            .bind(tenant.as_uuid())
            .bind(source.as_uuid())
            .fetch_all(&mut *c)
            .await?;
        let found = shown::<DB, _>(&rows, 1, "job", read::<DB>)?;
        if let Some(job) = found.items.into_iter().next() {
            return Ok(Some(job));
        }
    }
    Ok(None)
}

/// Of the jobs of one source one at most.
const UNDER_WAY: &str = "status IN ('running', 'paused', 'canceled')";

pub async fn start<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: JobId,
    now: DateTime<Utc>,
) -> Result<Job, Error> {
    let known = lock::<DB>(c, tenant, job).await?;
    let busy = matches!(
        known.status,
        JobStatus::Running | JobStatus::Paused | JobStatus::Canceled
    );
    if busy || known.counters.runs_open > 0 && known.status != JobStatus::Failed {
        let why = format!("{job} is {}", known.status);
        return Err(Error::conflict("job", why));
    }
    if unsay::is_forgotten(&known.config) {
        let why = "what it brought was purged, and with it what it was to do: make a new one";
        return Err(Error::conflict("job", why));
    }
    refuse_second::<DB>(c, &known).await?;
    // Whoever listed it before holds it no more: its cursor is not this start's.
    let sql = match known.status {
        JobStatus::Failed => {
            "UPDATE jobs SET status = 'running', error = NULL, finished_at = NULL, token = 0,
                 started_at = coalesce(started_at, $2), updated_at = $2, paused_ms = paused_ms + $3
             WHERE id = $1 RETURNING *"
        }
        _ => {
            "UPDATE jobs SET status = 'running', error = NULL, finished_at = NULL, token = 0,
                 started_at = $2, updated_at = $2, paused_ms = $3, cursor = NULL, exhausted = FALSE,
                 beginnings = beginnings + 1, docs_seen = 0, docs_skipped = 0, docs_refused = 0, runs_failed = 0, chunks_seen = 0,
                 chunks_processed = 0, chunks_skipped = 0, chunks_error = 0
             WHERE id = $1 RETURNING *"
        }
    };
    let idle = match known.status {
        JobStatus::Failed => idle_ms(&known, now),
        _ => 0,
    };
    let row = query(sql)
        .bind(job.as_uuid())
        .bind(now)
        .bind(idle)
        .fetch_one(&mut *c)
        .await?;
    if known.status != JobStatus::Failed {
        outcomes::clear::<DB>(c, job).await?;
    }
    noted_jobs::restate::<DB>(c, &row, Part::Standing).await?;
    tell::<DB>(c, news(&known, "job.started"), now).await?;
    read::<DB>(&row)
}

/// Since it last got on with anything.
fn idle_ms(job: &Job, now: DateTime<Utc>) -> i64 {
    (now - job.updated_at).num_milliseconds().max(0)
}

async fn refuse_second<DB: Dialect>(c: &mut Tx<DB>, job: &Job) -> Result<(), Error> {
    let other = query(AssertSqlSafe(format!(
        "SELECT id FROM jobs WHERE source_id = $1 AND id <> $2 AND {UNDER_WAY}"
    )))
    .bind(job.source.map(SourceId::as_uuid))
    .bind(job.id.as_uuid())
    .fetch_optional(c)
    .await?;
    match other {
        Some(_) => Err(Error::conflict(
            "job",
            "another job of this source is under way",
        )),
        None => Ok(()),
    }
}

pub fn news(job: &Job, kind: &'static str) -> News {
    News {
        tenant: job.tenant,
        kind,
        run: None,
        document: None,
        job: Some(job.id),
        data: serde_json::json!({}),
    }
}

pub async fn pause<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: JobId,
    now: DateTime<Utc>,
) -> Result<Job, Error> {
    turn::<DB>(
        c,
        (tenant, job),
        (JobStatus::Running, JobStatus::Paused),
        "job.paused",
        now,
    )
    .await
}

pub async fn resume<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: JobId,
    now: DateTime<Utc>,
) -> Result<Job, Error> {
    let turned = (JobStatus::Paused, JobStatus::Running);
    turn::<DB>(c, (tenant, job), turned, "job.resumed", now).await?;
    // Whoever listed it went away while it was paused: nobody was waited for.
    query("UPDATE jobs SET lease_until = NULL WHERE id = $1 AND lease_until <= $2")
        .bind(job.as_uuid())
        .bind(now)
        .execute(&mut *c)
        .await?;
    unpause_work::<DB>(c, job, now).await?;
    listing::finish_if_done::<DB>(c, tenant, job, now).await?;
    one::<DB>(c, tenant, job).await
}

/// What waits because of the pause waits no more, and does not say so any longer.
///
/// Under the job's lock, so that none is given back unseen. Runs and work stand before jobs in
/// the order of locks: what others hold is not waited for, they are about to move it.
async fn unpause_work<DB: Dialect>(
    c: &mut Tx<DB>,
    job: JobId,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let work = format!(
        "UPDATE work SET not_before = $2, paused = FALSE WHERE id IN (
             SELECT id FROM work WHERE job_id = $1 AND paused AND lease_until IS NULL
               AND not_before > $2 {})",
        DB::SKIP_LOCKED
    );
    query(AssertSqlSafe(work))
        .bind(job.as_uuid())
        .bind(now)
        .execute(&mut *c)
        .await?;
    let runs = format!(
        "UPDATE ingestion_runs SET waiting = NULL, waiting_until = NULL, updated_at = $2
         WHERE id IN (
             SELECT id FROM ingestion_runs
             WHERE job_id = $1 AND status IN ('queued', 'running') AND waiting = $3 {})",
        DB::SKIP_LOCKED
    );
    query(AssertSqlSafe(runs))
        .bind(job.as_uuid())
        .bind(now)
        .bind(model::PAUSED)
        .execute(c)
        .await?;
    Ok(())
}

async fn turn<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, job): (TenantId, JobId),
    (from, to): (JobStatus, JobStatus),
    kind: &'static str,
    now: DateTime<Utc>,
) -> Result<Job, Error> {
    let known = lock::<DB>(c, tenant, job).await?;
    if known.status == to {
        return Ok(known);
    }
    if known.status != from {
        return Err(Error::conflict(
            "job",
            format!(
                "{job} is {}, not {from}; `gristmill jobs show {job}` says how it stands",
                known.status
            ),
        ));
    }
    let idle = match from {
        JobStatus::Paused => idle_ms(&known, now),
        _ => 0,
    };
    let row = query(
        "UPDATE jobs SET status = $2, updated_at = $3, paused_ms = paused_ms + $4
         WHERE id = $1 RETURNING *",
    )
    .bind(job.as_uuid())
    .bind(to.as_str())
    .bind(now)
    .bind(idle)
    .fetch_one(&mut *c)
    .await?;
    noted_jobs::restate::<DB>(c, &row, Part::Standing).await?;
    tell::<DB>(c, news(&known, kind), now).await?;
    read::<DB>(&row)
}

pub fn read<DB: Dialect>(row: &DB::Row) -> Result<Job, Error> {
    let row = Cells::<DB>(row);
    Ok(Job {
        id: row.id("id", JobId::from_uuid)?,
        tenant: row.id("tenant_id", TenantId::from_uuid)?,
        kb: row.id("kb_id", KbId::from_uuid)?,
        source: row.maybe_id("source_id", SourceId::from_uuid)?,
        status: row.word("status")?,
        config: row.json("config")?,
        // Only whoever goes on with the listing needs it, and that asks for it by itself.
        cursor: row.maybe_json("cursor").unwrap_or_default(),
        exhausted: row.get("exhausted")?,
        counters: JobCounters {
            docs_seen: row.count("docs_seen")?,
            docs_skipped: row.count("docs_skipped")?,
            docs_refused: row.count("docs_refused")?,
            runs_open: row.count("runs_open")?,
            runs_awaited: row.count("runs_awaited")?,
            runs_failed: row.count("runs_failed")?,
            chunks_seen: row.count("chunks_seen")?,
            chunks_processed: row.count("chunks_processed")?,
            chunks_skipped: row.count("chunks_skipped")?,
            chunks_error: row.count("chunks_error")?,
        },
        initiated_by: row.maybe_id("initiated_by", UserId::from_uuid)?,
        error: row.maybe_text("error")?,
        created_at: row.at("created_at")?,
        started_at: row.maybe_at("started_at")?,
        updated_at: row.at("updated_at")?,
        finished_at: row.maybe_at("finished_at")?,
        paused_ms: row.count("paused_ms")?,
        heartbeat_at: row.maybe_at("heartbeat_at")?,
        lease_until: row.maybe_at("lease_until")?,
        waiting: row.maybe_text("waiting")?,
    })
}
