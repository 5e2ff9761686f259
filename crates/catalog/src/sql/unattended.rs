//! Runs that could go on if anybody took them. Those of a paused job could not.

use std::time::Duration;

use chrono::{DateTime, Utc};
use model::{RunId, TenantId};
use sqlx::{AssertSqlSafe, query};

use super::cells::{Cells, text};
use super::claim::{self, Wanted};
use super::dialect::Dialect;
use super::{Limits, Tx, end, recreate, work};
use crate::{Error, RunError, Unattended, Wait};

/// Ends with the transaction that takes it.
const LEASE: Duration = Duration::from_secs(60);

/// Found step by step as they fell due, so that a long queue is not read to its end; and whether
/// steps of a paused job were met, which are to be put off rather than read again and again.
pub async fn list<DB: Dialect>(
    c: &mut Tx<DB>,
    limit: u32,
    now: DateTime<Utc>,
) -> Result<(Vec<Unattended>, bool), Error> {
    let rows = query(
        "SELECT w.tenant_id, w.run_id, r.heartbeat_at,
             coalesce(j.status, '') = 'paused' AS paused,
             CASE WHEN j.paused_ms > 0 THEN j.updated_at END AS resumed_at,
             (SELECT max(coalesce(o.lease_until, o.not_before)) FROM work o
              WHERE o.run_id = w.run_id) AS due
         FROM work w JOIN ingestion_runs r ON r.id = w.run_id
         LEFT JOIN jobs j ON j.id = r.job_id
         WHERE coalesce(w.lease_until, w.not_before) <= $1
           AND NOT EXISTS (SELECT 1 FROM work h WHERE h.run_id = w.run_id AND h.lease_until > $1)
         ORDER BY coalesce(w.lease_until, w.not_before), w.id LIMIT $2",
    )
    .bind(now)
    .bind(i64::from(limit))
    .fetch_all(c)
    .await?;
    let mut runs: Vec<Unattended> = Vec::with_capacity(rows.len());
    let mut paused = false;
    for row in &rows {
        let row = Cells::<DB>(row);
        if row.get("paused")? {
            paused = true;
            continue;
        }
        let run = row.id("run_id", RunId::from_uuid)?;
        if runs.iter().any(|known| known.run == run) {
            continue;
        }
        // While its job was paused nobody was to take it: that is held against no worker.
        let times = [
            Some(row.at("due")?),
            row.maybe_at("heartbeat_at")?,
            row.maybe_at("resumed_at")?,
        ];
        runs.push(Unattended {
            tenant: row.id("tenant_id", TenantId::from_uuid)?,
            run,
            since: times
                .into_iter()
                .flatten()
                .max()
                .expect("a time it was due"),
        });
    }
    Ok((runs, paused))
}

/// A run another transaction holds is left alone: somebody is at it after all.
pub async fn show<DB: Dialect>(
    c: &mut Tx<DB>,
    wait: &Wait,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let sql = format!(
        "UPDATE ingestion_runs SET waiting = $1, waiting_until = $2, updated_at = $3
         WHERE id IN (
             SELECT r.id FROM ingestion_runs r
             WHERE r.status IN ('queued', 'running')
               AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = r.job_id AND j.status = 'paused')
               AND EXISTS (SELECT 1 FROM work w WHERE w.run_id = r.id
                   AND coalesce(w.lease_until, w.not_before) <= $3)
               AND NOT EXISTS (SELECT 1 FROM work h WHERE h.run_id = r.id AND h.lease_until > $3)
             ORDER BY r.id {}
         )",
        DB::SKIP_LOCKED
    );
    query(AssertSqlSafe(sql))
        .bind(text(&wait.why))
        .bind(wait.not_before)
        .bind(now)
        .execute(c)
        .await?;
    Ok(())
}

/// Under a lease of its own, so that no worker takes it meanwhile.
pub async fn bury<DB: Dialect>(
    c: &mut Tx<DB>,
    run: RunId,
    error: RunError,
    limits: Limits,
    now: DateTime<Utc>,
) -> Result<bool, Error> {
    let kept = query(
        "SELECT r.id FROM ingestion_runs r WHERE r.id = $1
           AND (EXISTS (SELECT 1 FROM work w WHERE w.run_id = r.id AND w.lease_until > $2)
               OR EXISTS (SELECT 1 FROM jobs j WHERE j.id = r.job_id AND j.status = 'paused'))",
    )
    .bind(run.as_uuid())
    .bind(now)
    .fetch_optional(&mut *c)
    .await?;
    if kept.is_some() {
        return Ok(false);
    }
    let wanted = Wanted::of_run(run, "nobody", 1, LEASE);
    let rows = claim::lease::<DB>(c, &wanted, now).await?;
    let Some(row) = rows.first() else {
        return Ok(false);
    };
    let Ok(mut claim) = work::read_claim::<DB>(row) else {
        recreate::replace_unreadable::<DB>(c, row, limits, now).await?;
        return Ok(false);
    };
    // Taken to be buried is not tried.
    claim.attempt = claim.attempt.saturating_sub(1);
    end::bury::<DB>(c, &claim, error, now).await?;
    Ok(true)
}
