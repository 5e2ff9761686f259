//! A live run whose work is missing, or cannot be read, gets it back.

use chrono::{DateTime, Utc};
use model::{RunId, RunStatus, Step, VersionId};
use sqlx::{AssertSqlSafe, query};
use uuid::Uuid;

use super::cells::Cells;
use super::dialect::Dialect;
use super::mend::Owner;
use super::{Limits, Tx, end, versions, work};
use crate::{Error, RunError, UnitRow, UnitState, Untouched, VersionState};

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

/// Takes the row of a step nobody can read out of the queue, and puts in what its run lacks
/// then. It counts as handed out as often as before: what can never be read is buried at last.
///
/// The row is held here, and runs are locked before their work: one that another transaction
/// holds is not waited for. Its step comes up again when this lease ends.
pub async fn replace_unreadable<DB: Dialect>(
    c: &mut Tx<DB>,
    row: &DB::Row,
    limits: Limits,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let row = Cells::<DB>(row);
    let work: i64 = row.get("id")?;
    let run = row.id("run_id", RunId::from_uuid);
    let version = row.id("version_id", VersionId::from_uuid);
    let (Ok(run), Ok(version)) = (run, version) else {
        tracing::warn!(work, "a step that names nobody is dropped");
        return drop_row::<DB>(c, work).await;
    };
    let sql = format!(
        "SELECT status FROM ingestion_runs WHERE id = $1 {}",
        DB::SKIP_LOCKED
    );
    let held = query(AssertSqlSafe(sql))
        .bind(run.as_uuid())
        .fetch_optional(&mut *c)
        .await?;
    let Some(held) = held else { return Ok(()) };
    drop_row::<DB>(c, work).await?;
    tracing::warn!(run_id = %run, version_id = %version, "a step could not be read");
    let status: RunStatus = Cells::<DB>(&held).word("status")?;
    if !matches!(status, RunStatus::Queued | RunStatus::Running) {
        return Ok(());
    }
    let deliveries = row.small("deliveries").unwrap_or_default();
    match missing::<DB>(c, version).await {
        Ok(None) => end::give_up::<DB>(c, (run, version), RunStatus::Failed, lost(), now).await,
        Ok(Some(steps)) if deliveries <= limits.deliveries => {
            enqueue_again::<DB>(c, &steps, deliveries, now).await
        }
        _ => {
            let step = Step::Prep { version };
            end::bury_step::<DB>(c, (run, &step), deliveries, unreadable(), now).await
        }
    }
}

/// Puts into the queue what it lacks of a version under way. Rows of it that cannot be read, or
/// say they are of something else, go.
pub async fn give_back<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, document): Owner,
    version: VersionId,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let sql = format!(
        "SELECT id FROM ingestion_runs WHERE status IN ('queued', 'running')
           AND id = (SELECT v.run_id FROM document_versions v WHERE v.id = $1) {}",
        DB::FOR_UPDATE
    );
    let run = query(AssertSqlSafe(sql))
        .bind(version.as_uuid())
        .fetch_optional(&mut *c)
        .await?;
    let Some(run) = run else { return Ok(()) };
    let run: Uuid = Cells::<DB>(&run).get("id")?;
    let rows = query("SELECT * FROM work WHERE version_id = $1")
        .bind(version.as_uuid())
        .fetch_all(&mut *c)
        .await?;
    let mut queued = Vec::with_capacity(rows.len());
    for row in &rows {
        let cells = Cells::<DB>(row);
        let says = |name, id| cells.get::<Uuid>(name).is_ok_and(|said| said == id);
        let is_its_own = says("tenant_id", tenant.as_uuid())
            && says("document_id", document.as_uuid())
            && says("run_id", run);
        match work::read_step::<DB>(row) {
            Ok(step) if is_its_own => queued.push(step),
            _ => drop_row::<DB>(c, cells.get("id")?).await?,
        }
    }
    if queued.contains(&Step::Prep { version }) {
        return Ok(());
    }
    for step in missing::<DB>(c, version).await?.into_iter().flatten() {
        work::enqueue::<DB>(c, &step, now).await?;
    }
    Ok(())
}

async fn drop_row<DB: Dialect>(c: &mut Tx<DB>, work: i64) -> Result<(), Error> {
    query("DELETE FROM work WHERE id = $1")
        .bind(work)
        .execute(c)
        .await?;
    Ok(())
}

async fn enqueue_again<DB: Dialect>(
    c: &mut Tx<DB>,
    steps: &[Step],
    deliveries: u32,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    for step in steps {
        // Those of its other units were handed out as often as their own rows say.
        if is_queued::<DB>(c, step).await? {
            continue;
        }
        work::enqueue::<DB>(c, step, now).await?;
        query("UPDATE work SET deliveries = $2 WHERE step_key = $1")
            .bind(step.key())
            .bind(i64::from(deliveries))
            .execute(&mut *c)
            .await?;
    }
    Ok(())
}

async fn is_queued<DB: Dialect>(c: &mut Tx<DB>, step: &Step) -> Result<bool, Error> {
    let row = query("SELECT id FROM work WHERE step_key = $1")
        .bind(step.key())
        .fetch_optional(c)
        .await?;
    Ok(row.is_some())
}

fn unreadable() -> RunError {
    RunError {
        code: "step_unreadable".into(),
        message: "what was to be done for it cannot be read in the catalog".into(),
        hint: Some("`gristmill verify` names what is damaged; repair it, then replay it".into()),
    }
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

/// From where it stands, or from the start where that cannot be told: with a unit lost, nobody
/// would ever be the last. Then nothing else is left to be done for it. `None` where the version
/// is gone.
async fn missing<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
) -> Result<Option<Vec<Step>>, Error> {
    let row =
        query("SELECT state, pass, units_total, units_open FROM document_versions WHERE id = $1")
            .bind(version.as_uuid())
            .fetch_optional(&mut *c)
            .await?;
    let Some(row) = row else { return Ok(None) };
    let row = Cells::<DB>(&row);
    let pass = row.small("pass")?;
    let units = versions::units::<DB>(c, version).await?;
    let total = units.len();
    let is_open = |unit: &UnitRow| unit.state == UnitState::Open;
    let open: Vec<_> = units.into_iter().filter(is_open).collect();
    let counted = (row.count("units_total")?, row.count("units_open")?);
    let begins = row.word::<VersionState>("state")? == VersionState::Pending;
    let units_fit = counted == (total as u64, open.len() as u64);
    if pass == 0 || begins || !units_fit || other_passes::<DB>(c, version).await? {
        start_over::<DB>(c, version).await?;
        return Ok(Some(vec![Step::Prep { version }]));
    }
    let steps: Vec<_> = open
        .into_iter()
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

/// Whether units of it are there of another pass than it is in.
async fn other_passes<DB: Dialect>(c: &mut Tx<DB>, version: VersionId) -> Result<bool, Error> {
    let row = query(
        "SELECT u.unit FROM document_units u JOIN document_versions v ON v.id = u.version_id
         WHERE v.id = $1 AND u.pass <> v.pass LIMIT 1",
    )
    .bind(version.as_uuid())
    .fetch_optional(c)
    .await?;
    Ok(row.is_some())
}

/// Of the pass it was in nothing goes on, lest that come to an end before the next one is opened;
/// and that is one it has not had, for what was made in it lies under its number.
async fn start_over<DB: Dialect>(c: &mut Tx<DB>, version: VersionId) -> Result<(), Error> {
    query("DELETE FROM work WHERE version_id = $1 AND kind <> 'prep'")
        .bind(version.as_uuid())
        .execute(&mut *c)
        .await?;
    query(
        "UPDATE document_versions SET pass =
             (SELECT max(u.pass) FROM document_units u WHERE u.version_id = $1)
         WHERE id = $1
           AND pass < (SELECT max(u.pass) FROM document_units u WHERE u.version_id = $1)",
    )
    .bind(version.as_uuid())
    .execute(c)
    .await?;
    Ok(())
}
