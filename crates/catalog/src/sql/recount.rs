//! Counters that decide whether a job has ended, held against the rows they count.

use chrono::{DateTime, Utc};
use model::{JobId, TenantId};
use sqlx::{AssertSqlSafe, query};

use super::Tx;
use super::cells::Cells;
use super::dialect::Dialect;
use super::end::complete_if_done;
use super::events::{News, tell};
use crate::{Error, Recounted};

/// Of a job `j`. One that is being canceled is counted anew when that ends.
const DISAGREES: &str = "j.status <> 'canceled'
    AND (j.runs_open <> (SELECT count(*) FROM ingestion_runs r
            WHERE r.job_id = j.id AND r.status IN ('queued', 'running'))
      OR j.status = 'running' AND j.exhausted AND j.runs_open = 0)";

pub async fn recount<DB: Dialect>(
    c: &mut Tx<DB>,
    now: DateTime<Utc>,
) -> Result<Vec<Recounted>, Error> {
    let sql = format!("SELECT j.tenant_id, j.id FROM jobs j WHERE {DISAGREES} ORDER BY j.id");
    let rows = query(AssertSqlSafe(sql)).fetch_all(&mut *c).await?;
    let mut recounted = Vec::new();
    for row in &rows {
        let row = Cells::<DB>(row);
        let tenant = row.id("tenant_id", TenantId::from_uuid)?;
        let job = row.id("id", JobId::from_uuid)?;
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
        "SELECT j.runs_open, (SELECT count(*) FROM ingestion_runs r
             WHERE r.job_id = j.id AND r.status IN ('queued', 'running')) AS live
         FROM jobs j WHERE j.id = $1 AND {DISAGREES}"
    );
    let row = query(AssertSqlSafe(sql))
        .bind(job.as_uuid())
        .fetch_optional(&mut *c)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let row = Cells::<DB>(&row);
    let (counted, live) = (row.get::<i64>("runs_open")?, row.count("live")?);
    query("UPDATE jobs SET runs_open = $2, updated_at = $3 WHERE id = $1")
        .bind(job.as_uuid())
        .bind(live.cast_signed())
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
        live,
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
