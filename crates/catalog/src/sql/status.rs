//! Counts that stay fast as the house grows: every one is read from an index.

use chrono::{DateTime, Utc};
use model::{RunStatus, TenantId};
use sqlx::{AssertSqlSafe, query};

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
             (SELECT count(*) FROM ingestion_runs
              WHERE tenant_id = $1 AND waiting IS NOT NULL
                AND coalesce(waiting_until, $2) >= $2) AS waiting",
    )
    .bind(tenant.as_uuid())
    .bind(now)
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
    // One count per status: grouping reads as many rows, at twice the price for each.
    for (of, runs) in [
        (RunStatus::Queued, &mut status.runs_queued),
        (RunStatus::Running, &mut status.runs_running),
        (RunStatus::Succeeded, &mut status.runs_succeeded),
        (RunStatus::Failed, &mut status.runs_failed),
        (RunStatus::Canceled, &mut status.runs_canceled),
    ] {
        let row = query(
            "SELECT count(*) AS runs FROM ingestion_runs WHERE tenant_id = $1 AND status = $2",
        );
        let row = row.bind(tenant.as_uuid()).bind(of.as_str());
        *runs = Cells::<DB>(&row.fetch_one(&mut *c).await?).count("runs")?;
    }
    Ok(())
}

/// Of one tenant, or of all.
pub async fn depth<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: Option<TenantId>,
    now: DateTime<Utc>,
) -> Result<QueueDepth, Error> {
    let of = match tenant {
        Some(_) => "tenant_id = $2",
        None => "tenant_id IN (SELECT id FROM tenants)",
    };
    let sql = format!(
        "SELECT
             (SELECT count(*) FROM work
              WHERE {of} AND lease_until IS NULL AND not_before <= $1) AS due,
             (SELECT count(*) FROM work
              WHERE {of} AND lease_until IS NULL AND not_before > $1) AS waiting,
             (SELECT count(*) FROM work WHERE {of} AND lease_until > $1) AS leased,
             (SELECT count(*) FROM work WHERE {of} AND lease_until <= $1) AS stalled,
             (SELECT min(not_before) FROM work WHERE {of} AND lease_until IS NULL) AS oldest_due,
             (SELECT min(lease_until) FROM work WHERE {of}) AS oldest_lease"
    );
    let mut asked = query(AssertSqlSafe(sql)).bind(now);
    if let Some(tenant) = tenant {
        asked = asked.bind(tenant.as_uuid());
    }
    let row = asked.fetch_one(c).await?;
    let row = Cells::<DB>(&row);
    let stalled = row.count("stalled")?;
    let oldest = [row.maybe_at("oldest_due")?, row.maybe_at("oldest_lease")?];
    Ok(QueueDepth {
        ready: row.count("due")? + stalled,
        leased: row.count("leased")?,
        waiting: row.count("waiting")?,
        stalled,
        oldest_due: oldest.into_iter().flatten().min(),
    })
}
