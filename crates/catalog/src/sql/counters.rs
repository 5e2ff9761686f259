//! What jobs have counted of the runs that ended in them, held against those runs.

use model::{JobId, TenantId};
use sqlx::{AssertSqlSafe, query};
use uuid::Uuid;

use super::Tx;
use super::cells::Cells;
use super::dialect::Dialect;
use crate::{Error, MiscountedJob};

/// What a job `j` should have counted since it began, of its runs `r`. One that is being canceled,
/// or was, has nothing to count.
const COUNTED: &str = "
    SELECT j.id,
        CAST(coalesce(sum(r.chunks_processed), 0) AS BIGINT) AS processed,
        CAST(coalesce(sum(r.chunks_skipped), 0) AS BIGINT) AS skipped,
        CAST(coalesce(sum(r.chunks_error), 0) AS BIGINT) AS error
    FROM jobs j
    LEFT JOIN ingestion_runs r ON r.job_id = j.id AND r.counted_in = j.beginnings
    WHERE j.tenant_id = $1 AND j.status IN ('running', 'paused', 'completed', 'failed')
    GROUP BY j.id";

fn differing(one: &str) -> String {
    format!(
        "SELECT j.id, j.chunks_seen AS told, c.processed, c.skipped, c.error
         FROM jobs j JOIN ({COUNTED}) AS c ON c.id = j.id
         WHERE (c.processed <> j.chunks_processed OR c.skipped <> j.chunks_skipped
             OR c.error <> j.chunks_error) {one}
         ORDER BY j.id"
    )
}

pub async fn miscounted<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
) -> Result<Vec<MiscountedJob>, Error> {
    let rows = query(AssertSqlSafe(differing("")))
        .bind(tenant.as_uuid())
        .fetch_all(c)
        .await?;
    rows.iter().map(read::<DB>).collect()
}

fn read<DB: Dialect>(row: &DB::Row) -> Result<MiscountedJob, Error> {
    let row = Cells::<DB>(row);
    Ok(MiscountedJob {
        job: row.id("id", JobId::from_uuid)?,
        told: row.count("told")?,
        counted: row.count("processed")? + row.count("skipped")? + row.count("error")?,
    })
}

/// Whoever ends a run counts it in the same transaction: under the job's lock both agree, or
/// never will.
pub async fn put_right<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId) -> Result<(), Error> {
    for wrong in miscounted::<DB>(c, tenant).await? {
        let job = wrong.job.as_uuid();
        let lock = format!("SELECT id FROM jobs WHERE id = $1 {}", DB::FOR_UPDATE);
        query(AssertSqlSafe(lock))
            .bind(job)
            .fetch_optional(&mut *c)
            .await?;
        recount::<DB>(c, tenant, job).await?;
    }
    Ok(())
}

async fn recount<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId, job: Uuid) -> Result<(), Error> {
    let row = query(AssertSqlSafe(differing("AND j.id = $2")))
        .bind(tenant.as_uuid())
        .bind(job)
        .fetch_optional(&mut *c)
        .await?;
    let Some(row) = row else { return Ok(()) };
    let row = Cells::<DB>(&row);
    query(
        "UPDATE jobs SET chunks_seen = $2 + $3 + $4, chunks_processed = $2, chunks_skipped = $3,
             chunks_error = $4
         WHERE id = $1",
    )
    .bind(job)
    .bind(row.get::<i64>("processed")?)
    .bind(row.get::<i64>("skipped")?)
    .bind(row.get::<i64>("error")?)
    .execute(c)
    .await?;
    Ok(())
}
