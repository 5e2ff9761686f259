//! The guard's part: a live run whose work is missing gets it back.

use chrono::{DateTime, Utc};
use model::{RunId, RunStatus, Step, VersionId};
use sqlx::{AssertSqlSafe, query};

use super::cells::Cells;
use super::dialect::Dialect;
use super::{Tx, end, versions, work};
use crate::{Error, RunError, UnitState, Untouched};

/// From where it stands.
pub async fn recreate<DB: Dialect>(
    c: &mut Tx<DB>,
    untouched: Untouched,
    now: DateTime<Utc>,
) -> Result<Vec<RunId>, Error> {
    let rows = query(
        "SELECT r.id, r.version_id FROM ingestion_runs r
         WHERE r.status IN ('queued', 'running') AND r.updated_at <= $3
           AND (r.status = 'queued' AND r.updated_at <= $1
             OR r.status = 'running' AND r.updated_at <= $2
               AND coalesce(r.heartbeat_at, r.updated_at) <= $2)
           AND NOT EXISTS (SELECT 1 FROM work w WHERE w.run_id = r.id)
         ORDER BY r.id LIMIT 1000",
    )
    .bind(now - untouched.queued)
    .bind(now - untouched.running)
    // The younger of both, so that only what may have been left alone is looked at.
    .bind(now - untouched.queued.min(untouched.running))
    .fetch_all(&mut *c)
    .await?;
    let mut recreated = Vec::with_capacity(rows.len());
    for row in &rows {
        let row = Cells::<DB>(row);
        let run = row.id("id", RunId::from_uuid)?;
        let version = row.id("version_id", VersionId::from_uuid)?;
        if lock_idle::<DB>(c, run).await? {
            let Some(steps) = missing::<DB>(c, version).await? else {
                let failed = RunStatus::Failed;
                end::give_up::<DB>(c, (run, version), failed, lost(), now).await?;
                tracing::warn!(run_id = %run, version_id = %version, "a run has lost its version");
                continue;
            };
            for step in steps {
                work::enqueue::<DB>(c, &step, now).await?;
            }
            recreated.push(run);
        }
    }
    Ok(recreated)
}

/// Locks the run; whether it lives and has no work, now that nobody can change either.
async fn lock_idle<DB: Dialect>(c: &mut Tx<DB>, run: RunId) -> Result<bool, Error> {
    let sql = format!(
        "SELECT id FROM ingestion_runs WHERE id = $1 AND status IN ('queued', 'running') {}",
        DB::FOR_UPDATE
    );
    let live = query(AssertSqlSafe(sql))
        .bind(run.as_uuid())
        .fetch_optional(&mut *c)
        .await?;
    let work = query("SELECT id FROM work WHERE run_id = $1 LIMIT 1")
        .bind(run.as_uuid())
        .fetch_optional(c)
        .await?;
    Ok(live.is_some() && work.is_none())
}

/// Nothing can be done for it, and whoever waits for it need not.
fn lost() -> RunError {
    RunError {
        code: "version_lost".into(),
        message: "its version is not there any more".into(),
        hint: Some("`gristmill verify` names what was lost; ingest the file again".into()),
    }
}

/// `None` where the version is gone.
async fn missing<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
) -> Result<Option<Vec<Step>>, Error> {
    let row = query("SELECT pass FROM document_versions WHERE id = $1")
        .bind(version.as_uuid())
        .fetch_optional(&mut *c)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let pass = Cells::<DB>(&row).small("pass")?;
    if pass == 0 {
        return Ok(Some(vec![Step::Prep { version }]));
    }
    let units = versions::units::<DB>(c, version).await?;
    let open = units
        .into_iter()
        .filter(|unit| unit.state == UnitState::Open);
    let steps: Vec<_> = open
        .map(|unit| Step::Extract {
            version,
            pass,
            unit: unit.name,
        })
        .collect();
    Ok(Some(if steps.is_empty() {
        vec![Step::Finalize { version, pass }]
    } else {
        steps
    }))
}
