//! How things stand, told as fast in a full house as in an empty one: what grows with the
//! documents is tallied as it changes, what grows with the work at hand is read from an index.

use chrono::{DateTime, Utc};
use model::{RunStatus, TenantId};
use sqlx::{AssertSqlSafe, query};

use super::Tx;
use super::cells::Cells;
use super::dialect::Dialect;
use super::tallies::{self, Tallies};
use crate::{Error, QueueDepth, Status};

/// What of the work at hand no tally tells: it must read that, and no run that has ended.
pub const AT_HAND: &str = "SELECT (SELECT count(*) FROM jobs
          WHERE tenant_id = $1 AND status IN ('running', 'paused', 'canceled')) AS jobs,
         (SELECT count(*) FROM dead_letters WHERE tenant_id = $1) AS letters,
         (SELECT count(*) FROM ingestion_runs
          WHERE tenant_id = $1 AND waiting IS NOT NULL
            AND coalesce(waiting_until, $2) >= $2) AS waiting";

pub async fn status<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    now: DateTime<Utc>,
) -> Result<Status, Error> {
    let queue = depth::<DB>(c, Some(tenant), now).await?;
    let row = query(AT_HAND)
        .bind(tenant.as_uuid())
        .bind(now)
        .fetch_one(&mut *c)
        .await?;
    let row = Cells::<DB>(&row);
    let owned = tallies::of_scope::<DB>(c, tenant.as_uuid()).await?;
    let serving = tallies::of_serving::<DB>(c, tenant.as_uuid()).await?;
    let runs = |of: RunStatus| tally(&owned, &format!("runs.{}", of.as_str()));
    Ok(Status {
        documents: tally(&owned, "documents"),
        documents_active: tally(&serving, "active.documents"),
        chunks_active: tally(&serving, "active.chunks"),
        runs_queued: runs(RunStatus::Queued),
        runs_running: runs(RunStatus::Running),
        runs_waiting: row.count("waiting")?,
        runs_succeeded: runs(RunStatus::Succeeded),
        runs_failed: runs(RunStatus::Failed),
        runs_canceled: runs(RunStatus::Canceled),
        jobs_live: row.count("jobs")?,
        dead_letters: row.count("letters")?,
        queue,
    })
}

fn tally(tallies: &Tallies, kind: &str) -> u64 {
    tallies.get(kind).copied().unwrap_or_default()
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
