//! Cancel: what only this job brought goes, in parts that may each be repeated.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use model::{DocumentId, JobId, JobStatus, TenantId};
use sqlx::{AssertSqlSafe, query};
use uuid::Uuid;

use super::cells::Cells;
use super::dialect::Dialect;
use super::events::tell;
use super::ledger::{self, Fact};
use super::noted_jobs::{self, Part};
use super::removal::{REMOVING, called_off, end_runs, lock_runs, read, withdraw};
use super::{Tx, activate, bring_back, end, jobs, kbs, metadata, outcomes, stand_in, witness};
use crate::{Error, Job, Kb, LedgerKind, Removing};

const BY_USER: &str = "Canceled by user";

pub async fn begin<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: JobId,
    now: DateTime<Utc>,
) -> Result<Job, Error> {
    let known = jobs::lock::<DB>(c, tenant, job).await?;
    match known.status {
        JobStatus::Canceled => return Ok(known),
        // Whoever asked may not have heard that it is done.
        JobStatus::NotStarted if known.error.is_some() => return Ok(known),
        JobStatus::NotStarted => return Err(Error::conflict("job", "it has not started")),
        _ => {}
    }
    let row = query(
        "UPDATE jobs SET status = 'canceled', updated_at = $2, lease_until = NULL, token = 0
         WHERE id = $1 RETURNING *",
    )
    .bind(job.as_uuid())
    .bind(now)
    .fetch_one(&mut *c)
    .await?;
    noted_jobs::restate::<DB>(c, &row, Part::Standing).await?;
    tell::<DB>(c, jobs::news(&known, "job.canceling"), now).await?;
    jobs::read::<DB>(&row)
}

pub async fn heartbeat<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: JobId,
    until: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    query(
        "UPDATE jobs SET heartbeat_at = $3, lease_until = $4
         WHERE id = $1 AND tenant_id = $2 AND status = 'canceled'",
    )
    .bind(job.as_uuid())
    .bind(tenant.as_uuid())
    .bind(now)
    .bind(until)
    .execute(c)
    .await?;
    Ok(())
}

pub async fn some<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: JobId,
    limit: u32,
    now: DateTime<Utc>,
) -> Result<Vec<Removing>, Error> {
    let known = jobs::one::<DB>(c, tenant, job).await?;
    match known.status {
        JobStatus::Canceled => {}
        // Another call of the same cancel has finished it.
        JobStatus::NotStarted => return Ok(Vec::new()),
        _ => return Err(Error::conflict("job", "it is not being canceled")),
    }
    // Before any document, as admissions do: what answers again may have to be admitted.
    let kb = kbs::lock::<DB>(c, tenant, known.kb).await?;
    // Claims of others may turn a whole batch into nothing to remove: look on.
    loop {
        let claimed = claimed::<DB>(c, job, limit).await?;
        let removing = only_ours::<DB>(c, job, &claimed).await?;
        if !removing.is_empty() || claimed.is_empty() {
            remove::<DB>(c, &kb, &removing, now).await?;
            return Ok(removing);
        }
    }
}

async fn only_ours<DB: Dialect>(
    c: &mut Tx<DB>,
    job: JobId,
    claimed: &[Removing],
) -> Result<Vec<Removing>, Error> {
    let mut ours = Vec::with_capacity(claimed.len());
    for version in claimed {
        if !hand_over::<DB>(c, job, version).await? {
            ours.push(*version);
        }
    }
    Ok(ours)
}

async fn remove<DB: Dialect>(
    c: &mut Tx<DB>,
    kb: &Kb,
    versions: &[Removing],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    for version in versions {
        if !gone::<DB>(c, version).await? {
            withdraw::<DB>(c, version).await?;
            ledger::append::<DB>(c, removed(version), now).await?;
        }
    }
    let mut told = Vec::new();
    for document in documents(versions) {
        stand_in::serve::<DB>(c, kb.tenant, document, now).await?;
        told.extend(bring_back::begin::<DB>(c, kb, document, now).await?);
    }
    for version in versions {
        end_runs::<DB>(c, version, BY_USER, now).await?;
        let of = (version.document, version.version);
        end::cancel_ended::<DB>(c, of, &called_off(BY_USER), now).await?;
    }
    for news in told {
        tell::<DB>(c, news, now).await?;
    }
    Ok(())
}

/// Of versions of one tenant, each once.
fn documents(versions: &[Removing]) -> BTreeSet<DocumentId> {
    versions.iter().map(|version| version.document).collect()
}

/// The next versions the job claims, their documents locked.
async fn claimed<DB: Dialect>(
    c: &mut Tx<DB>,
    job: JobId,
    limit: u32,
) -> Result<Vec<Removing>, Error> {
    loop {
        let found = next::<DB>(c, job, limit).await?;
        let mut last: Option<DocumentId> = None;
        for version in &found {
            if last != Some(version.document) {
                activate::lock_if_there::<DB>(c, version.tenant, version.document).await?;
                last = Some(version.document);
            }
        }
        // A purge, or another call of the same cancel, may have been faster.
        let still = next::<DB>(c, job, limit).await?;
        let versions: Vec<_> = found
            .iter()
            .filter(|version| still.contains(version))
            .copied()
            .collect();
        if !versions.is_empty() || still.is_empty() {
            lock_runs::<DB>(c, &versions).await?;
            for document in documents(&versions) {
                stand_in::lock_runs::<DB>(c, document).await?;
            }
            return Ok(versions);
        }
    }
}

async fn next<DB: Dialect>(c: &mut Tx<DB>, job: JobId, limit: u32) -> Result<Vec<Removing>, Error> {
    let sql = format!(
        "{REMOVING} JOIN job_versions jv ON jv.version_id = v.id AND jv.job_id = $1
         ORDER BY v.document_id, v.id LIMIT $2"
    );
    let rows = query(AssertSqlSafe(sql))
        .bind(job.as_uuid())
        .bind(i64::from(limit))
        .fetch_all(&mut *c)
        .await?;
    rows.iter().map(read::<DB>).collect()
}

/// Leaves a version others claim to them, its run included; whether it did.
async fn hand_over<DB: Dialect>(
    c: &mut Tx<DB>,
    job: JobId,
    version: &Removing,
) -> Result<bool, Error> {
    let row = query(
        "SELECT v.claimed_directly, (SELECT o.job_id FROM job_versions o
                 WHERE o.version_id = v.id AND o.job_id <> $2 ORDER BY o.job_id DESC LIMIT 1) AS heir
         FROM document_versions v WHERE v.id = $1",
    )
    .bind(version.version.as_uuid())
    .bind(job.as_uuid())
    .fetch_one(&mut *c)
    .await?;
    let row = Cells::<DB>(&row);
    let heir: Option<Uuid> = row.get("heir")?;
    if heir.is_none() && !row.get::<bool>("claimed_directly")? {
        return Ok(false);
    }
    query(
        "UPDATE work SET job_id = $3, paused = FALSE,
             not_before = CASE WHEN paused THEN created_at ELSE not_before END
         WHERE version_id = $1 AND job_id = $2",
    )
    .bind(version.version.as_uuid())
    .bind(job.as_uuid())
    .bind(heir)
    .execute(&mut *c)
    .await?;
    let given = query(
        "UPDATE ingestion_runs SET job_id = $3,
             waiting_until = CASE WHEN waiting = $4 THEN NULL ELSE waiting_until END,
             waiting = CASE WHEN waiting = $4 THEN NULL ELSE waiting END
         WHERE version_id = $1 AND job_id = $2 AND status IN ('queued', 'running')
         RETURNING id",
    )
    .bind(version.version.as_uuid())
    .bind(job.as_uuid())
    .bind(heir)
    .bind(model::PAUSED)
    .fetch_all(&mut *c)
    .await?;
    adopt::<DB>(c, heir, given.len() as i64).await?;
    metadata::take_back::<DB>(c, (version.kb, version.version), job).await?;
    let claim = "DELETE FROM job_versions WHERE version_id = $1 AND job_id = $2 RETURNING outcome";
    let claim = query(claim)
        .bind(version.version.as_uuid())
        .bind(job.as_uuid())
        .fetch_optional(&mut *c)
        .await?;
    if let Some(row) = claim {
        let outcome = Cells::<DB>(&row).text("outcome")?;
        witness::turn_claim::<DB>(c, version.version, job, &outcome).await?;
    }
    witness::restate::<DB>(c, version.version, witness::Part::Said).await?;
    Ok(true)
}

/// The live runs the heir has been given are its own from now on: it waited for them before.
async fn adopt<DB: Dialect>(c: &mut Tx<DB>, heir: Option<Uuid>, given: i64) -> Result<(), Error> {
    query(
        "UPDATE jobs SET runs_open = runs_open + $2, runs_awaited = runs_awaited - $2
         WHERE id = $1",
    )
    .bind(heir)
    .bind(given)
    .execute(c)
    .await?;
    Ok(())
}

/// Whether an earlier call ended this version already.
async fn gone<DB: Dialect>(c: &mut Tx<DB>, version: &Removing) -> Result<bool, Error> {
    let row = query(
        "SELECT v.id FROM document_versions v WHERE v.id = $1 AND v.state = 'canceled'
           AND EXISTS (SELECT 1 FROM ledger l WHERE l.document_id = v.document_id
               AND l.kind = 'removed' AND l.version_id = v.id)",
    )
    .bind(version.version.as_uuid())
    .fetch_optional(c)
    .await?;
    Ok(row.is_some())
}

pub fn removed(version: &Removing) -> Fact {
    Fact {
        tenant: version.tenant,
        document: version.document,
        kind: LedgerKind::Removed,
        version: Some(version.version),
        generation: Some(version.generation),
        content_hash: Some(version.content_hash),
        root_hash: None,
        by: None,
    }
}

pub async fn finish<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: JobId,
    now: DateTime<Utc>,
) -> Result<Job, Error> {
    let known = jobs::lock::<DB>(c, tenant, job).await?;
    if known.status == JobStatus::NotStarted {
        return Ok(known);
    }
    let left = query(
        "SELECT job_id FROM job_versions WHERE job_id = $1
         UNION ALL SELECT job_id FROM job_removals WHERE job_id = $1 LIMIT 1",
    )
    .bind(job.as_uuid())
    .fetch_optional(&mut *c)
    .await?;
    if left.is_some() || known.status != JobStatus::Canceled {
        return Err(Error::conflict("job", "there is something left to remove"));
    }
    let row = query(
        "UPDATE jobs SET status = 'not_started', cursor = NULL, exhausted = FALSE,
             docs_seen = 0, docs_skipped = 0, docs_refused = 0, runs_open = 0, runs_awaited = 0,
             runs_failed = 0, chunks_seen = 0,
             chunks_processed = 0, chunks_skipped = 0, chunks_error = 0,
             lease_until = NULL, error = $3, finished_at = $2, updated_at = $2
         WHERE id = $1 RETURNING *",
    )
    .bind(job.as_uuid())
    .bind(now)
    .bind(BY_USER)
    .fetch_one(&mut *c)
    .await?;
    outcomes::clear::<DB>(c, job).await?;
    noted_jobs::restate::<DB>(c, &row, Part::Standing).await?;
    tell::<DB>(c, jobs::news(&known, "job.canceled"), now).await?;
    jobs::read::<DB>(&row)
}

pub async fn under_way<DB: Dialect>(c: &mut Tx<DB>) -> Result<Vec<(TenantId, JobId)>, Error> {
    let rows = query("SELECT tenant_id, id FROM jobs WHERE status = 'canceled' ORDER BY id")
        .fetch_all(c)
        .await?;
    let read = |row| {
        let row = Cells::<DB>(row);
        Ok((
            row.id("tenant_id", TenantId::from_uuid)?,
            row.id("id", JobId::from_uuid)?,
        ))
    };
    rows.iter().map(read).collect()
}
