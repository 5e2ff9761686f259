//! Counters that decide whether a job has ended, held against the rows they count.

use chrono::{DateTime, Utc};
use model::{JobId, TenantId};
use sqlx::{AssertSqlSafe, query};

use super::Tx;
use super::cells::Cells;
use super::claims::AWAITED;
use super::dialect::Dialect;
use super::end::complete_if_done;
use super::events::{News, tell};
use super::nameless::named;
use crate::{Error, JobCount, MiscountedJob, Recounted};

/// Live runs of a job `j`.
const OPEN: &str = "(SELECT count(*) FROM ingestion_runs r
    WHERE r.job_id = j.id AND r.status IN ('queued', 'running'))";

/// Live runs of others that `j` waits for.
fn awaited() -> String {
    format!("(SELECT count(*) {AWAITED} WHERE jv.job_id = j.id)")
}

/// Of a job `j`. What it awaits is counted only where that alone keeps it from its end. One
/// that is being canceled is counted anew when that ends.
fn disagrees() -> String {
    format!(
        "j.status <> 'canceled'
         AND (j.runs_open <> {OPEN}
           OR j.status = 'running' AND j.exhausted AND j.runs_open = 0
             AND (j.runs_awaited = 0 OR j.runs_awaited <> {}))",
        awaited()
    )
}

/// Those of a tenant, left as they are.
pub async fn miscounted<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
) -> Result<Vec<MiscountedJob>, Error> {
    let sql = format!(
        "SELECT j.id, j.runs_open + j.runs_awaited AS told, {OPEN} + {} AS counted
         FROM jobs j WHERE j.tenant_id = $1 AND {} {} ORDER BY j.id",
        awaited(),
        disagrees(),
        named::<DB>("j.id")
    );
    let rows = query(AssertSqlSafe(sql))
        .bind(tenant.as_uuid())
        .fetch_all(c)
        .await?;
    let read = |row: &DB::Row| {
        let row = Cells::<DB>(row);
        Ok(MiscountedJob {
            job: row.id("id", JobId::from_uuid)?,
            of: JobCount::Runs,
            told: row.get("told")?,
            counted: row.get("counted")?,
        })
    };
    rows.iter().map(read).collect()
}

pub async fn recount<DB: Dialect>(
    c: &mut Tx<DB>,
    now: DateTime<Utc>,
) -> Result<Vec<Recounted>, Error> {
    let sql = format!(
        "SELECT j.tenant_id, j.id FROM jobs j WHERE {} ORDER BY j.id",
        disagrees()
    );
    let rows = query(AssertSqlSafe(sql)).fetch_all(&mut *c).await?;
    let mut recounted = Vec::new();
    for row in &rows {
        let row = Cells::<DB>(row);
        let ids = (
            row.id("tenant_id", TenantId::from_uuid),
            row.id("id", JobId::from_uuid),
        );
        let (Ok(tenant), Ok(job)) = ids else {
            continue;
        };
        recounted.extend(put_right::<DB>(c, tenant, job, now).await?);
    }
    Ok(recounted)
}

/// Whoever begins or ends a run changes the counter in the same transaction, so that under
/// the job's lock both agree, or never will.
async fn put_right<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: JobId,
    now: DateTime<Utc>,
) -> Result<Option<Recounted>, Error> {
    let lock = format!("SELECT id FROM jobs WHERE id = $1 {}", DB::FOR_UPDATE);
    query(AssertSqlSafe(lock))
        .bind(job.as_uuid())
        .fetch_optional(&mut *c)
        .await?;
    let sql = format!(
        "SELECT j.runs_open, j.runs_awaited, {OPEN} AS live, {} AS awaited
         FROM jobs j WHERE j.id = $1 AND {}",
        awaited(),
        disagrees()
    );
    let row = query(AssertSqlSafe(sql))
        .bind(job.as_uuid())
        .fetch_optional(&mut *c)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let row = Cells::<DB>(&row);
    let counted = row.get::<i64>("runs_open")? + row.get::<i64>("runs_awaited")?;
    let (live, awaited) = (row.count("live")?, row.count("awaited")?);
    query("UPDATE jobs SET runs_open = $2, runs_awaited = $3, updated_at = $4 WHERE id = $1")
        .bind(job.as_uuid())
        .bind(live.cast_signed())
        .bind(awaited.cast_signed())
        .bind(now)
        .execute(&mut *c)
        .await?;
    let completed = complete_if_done::<DB>(c, job, now).await?;
    if completed {
        tell::<DB>(c, news(tenant, job), now).await?;
    }
    Ok(Some(Recounted {
        tenant,
        job,
        counted,
        live: live + awaited,
        completed,
    }))
}

fn news(tenant: TenantId, job: JobId) -> News {
    News {
        tenant,
        kind: "job.completed",
        run: None,
        document: None,
        job: Some(job),
        data: serde_json::json!({}),
    }
}
