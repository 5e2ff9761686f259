//! Counts that stay fast as the house grows: every one is read from an index.

use chrono::{DateTime, Utc};
use model::TenantId;
use sqlx::query;

use super::Tx;
use super::cells::Cells;
use super::dialect::Dialect;
use crate::{Error, QueueDepth, Status};

pub async fn status<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    now: DateTime<Utc>,
) -> Result<Status, Error> {
    let mut status = Status {
        queue: depth::<DB>(c, Some(tenant), now).await?,
        ..Status::default()
    };
    let row = query(
        "SELECT (SELECT count(*) FROM documents WHERE tenant_id = $1) AS documents,
             (SELECT count(*) FROM jobs
              WHERE tenant_id = $1 AND status IN ('running', 'paused', 'canceled')) AS jobs,
             (SELECT count(*) FROM dead_letters WHERE tenant_id = $1) AS letters,
             (SELECT count(*) FROM ingestion_runs WHERE tenant_id = $1
              AND status IN ('queued', 'running') AND waiting IS NOT NULL) AS waiting",
    )
    .bind(tenant.as_uuid())
    .fetch_one(&mut *c)
    .await?;
    let row = Cells::<DB>(&row);
    status.documents = row.count("documents")?;
    status.jobs_live = row.count("jobs")?;
    status.dead_letters = row.count("letters")?;
    status.runs_waiting = row.count("waiting")?;
    count_active::<DB>(c, tenant, &mut status).await?;
    count_runs::<DB>(c, tenant, &mut status).await?;
    Ok(status)
}

async fn count_active<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    status: &mut Status,
) -> Result<(), Error> {
    let row = query(
        "SELECT count(*) AS documents, CAST(coalesce(sum(a.chunks), 0) AS BIGINT) AS chunks
         FROM knowledge_bases k
         JOIN generations g ON g.kb_id = k.id AND g.state = 'serving'
         JOIN activations a ON a.generation_id = g.id AND a.closed_at IS NULL
         WHERE k.tenant_id = $1",
    )
    .bind(tenant.as_uuid())
    .fetch_one(c)
    .await?;
    let row = Cells::<DB>(&row);
    status.documents_active = row.count("documents")?;
    status.chunks_active = row.count("chunks")?;
    Ok(())
}

async fn count_runs<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    status: &mut Status,
) -> Result<(), Error> {
    let rows = query(
        "SELECT status, count(*) AS runs FROM ingestion_runs WHERE tenant_id = $1 GROUP BY status",
    )
    .bind(tenant.as_uuid())
    .fetch_all(c)
    .await?;
    for row in &rows {
        let row = Cells::<DB>(row);
        let runs = row.count("runs")?;
        match row.word("status")? {
            model::RunStatus::Queued => status.runs_queued = runs,
            model::RunStatus::Running => status.runs_running = runs,
            model::RunStatus::Succeeded => status.runs_succeeded = runs,
            model::RunStatus::Failed => status.runs_failed = runs,
            model::RunStatus::Canceled => status.runs_canceled = runs,
        }
    }
    Ok(())
}

/// Of one tenant, or of all.
pub async fn depth<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: Option<TenantId>,
    now: DateTime<Utc>,
) -> Result<QueueDepth, Error> {
    let row = query(
        "SELECT
             count(CASE WHEN coalesce(lease_until, not_before) <= $1 THEN 1 END) AS ready,
             count(CASE WHEN lease_until > $1 THEN 1 END) AS leased,
             count(CASE WHEN lease_until <= $1 THEN 1 END) AS stalled,
             count(CASE WHEN lease_until IS NULL AND not_before > $1 THEN 1 END) AS waiting,
             min(coalesce(lease_until, not_before)) AS oldest
         FROM work WHERE CASE WHEN $3 THEN tenant_id = $2 ELSE TRUE END",
    )
    .bind(now)
    .bind(tenant.map(TenantId::as_uuid))
    .bind(tenant.is_some())
    .fetch_one(c)
    .await?;
    let row = Cells::<DB>(&row);
    Ok(QueueDepth {
        ready: row.count("ready")?,
        leased: row.count("leased")?,
        waiting: row.count("waiting")?,
        stalled: row.count("stalled")?,
        oldest_due: row.maybe_at("oldest")?,
    })
}
