//! Steps given back: to wait, to be tried again, or for good.

use std::time::Duration;

use chrono::{DateTime, Utc};
use model::{JobStatus, RunStatus};
use sqlx::{AssertSqlSafe, query};

use super::cells::{Cells, text};
use super::claim::must_hold;
use super::dialect::Dialect;
use super::removal::called_off;
use super::{Limits, Tx, end};
use crate::records::ATTEMPT;
use crate::{Claim, Error, Retried, RunError, Wait};

pub async fn release<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
    wait: &Wait,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    must_hold::<DB>(c, claim).await?;
    let given = Given::back::<DB>(c, claim, wait, now).await?;
    query(
        "UPDATE work SET lease_until = NULL, worker = NULL, not_before = $2, paused = $3,
             deliveries = deliveries - 1
         WHERE id = $1",
    )
    .bind(claim.work)
    .bind(given.not_before)
    .bind(given.paused)
    .execute(&mut *c)
    .await?;
    show_wait::<DB>(c, claim, given.told.as_ref(), now).await
}

/// A step of a paused job falls due when that is resumed: until then nobody need look.
const UNTIL_RESUMED: Duration = Duration::from_secs(10 * 60);

/// Steps put off at once.
const AT_ONCE: i64 = 1000;

/// Puts off the next steps of paused jobs that are due while nobody holds them; how many. Jobs are
/// locked with them: whoever resumes one finds its steps, or they are found no more.
pub async fn put_off_paused<DB: Dialect>(c: &mut Tx<DB>, now: DateTime<Utc>) -> Result<u64, Error> {
    let rows = query(AssertSqlSafe(put_off::<DB>()))
        .bind(now)
        .bind(now + UNTIL_RESUMED)
        .bind(AT_ONCE)
        .fetch_all(c)
        .await?;
    Ok(rows.len() as u64)
}

/// As they fell due: found by their jobs, all that a job still has would be read and sorted for each
/// thousand. `CROSS JOIN` keeps SQLite from that.
pub fn put_off<DB: Dialect>() -> String {
    format!(
        "UPDATE work SET lease_until = NULL, worker = NULL, not_before = $2, paused = TRUE
         WHERE id IN (
             SELECT w.id FROM work w CROSS JOIN ingestion_runs r CROSS JOIN jobs j
             WHERE coalesce(w.lease_until, w.not_before) <= $1
               AND r.id = w.run_id AND j.id = r.job_id AND j.status = 'paused'
             ORDER BY coalesce(w.lease_until, w.not_before), w.id LIMIT $3 {})
         RETURNING id",
        DB::SKIP_LOCKED
    )
}

/// When a step that is given back falls due, and what its run says meanwhile.
struct Given {
    not_before: DateTime<Utc>,
    /// It falls due earlier when its job is resumed. What waits for anything else does not:
    /// a provider that asked for time gets it.
    paused: bool,
    told: Option<Wait>,
}

impl Given {
    async fn back<DB: Dialect>(
        c: &mut Tx<DB>,
        claim: &Claim,
        wait: &Wait,
        now: DateTime<Utc>,
    ) -> Result<Self, Error> {
        if wait.why != model::PAUSED {
            return Ok(Self {
                not_before: wait.not_before,
                paused: false,
                told: Some(wait.clone()),
            });
        }
        // Under the job's lock: whoever resumes it finds this step, or is found here.
        let paused = lock_job::<DB>(c, claim).await? == Some(JobStatus::Paused);
        let not_before = match paused {
            true => wait.not_before.max(now + UNTIL_RESUMED),
            false => now,
        };
        let why = wait.why.clone();
        Ok(Self {
            not_before,
            paused,
            told: paused.then_some(Wait { not_before, why }),
        })
    }
}

/// How the run's job stands, and stands until the end of the transaction.
async fn lock_job<DB: Dialect>(c: &mut Tx<DB>, claim: &Claim) -> Result<Option<JobStatus>, Error> {
    let sql = format!(
        "SELECT j.status FROM ingestion_runs r JOIN jobs j ON j.id = r.job_id WHERE r.id = $1 {}",
        DB::FOR_UPDATE
    );
    let row = query(AssertSqlSafe(sql))
        .bind(claim.run.as_uuid())
        .fetch_optional(c)
        .await?;
    row.map(|row| Cells::<DB>(&row).word("status")).transpose()
}

/// `None` where it waits for nothing but a worker.
async fn show_wait<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
    wait: Option<&Wait>,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    query(
        "UPDATE ingestion_runs SET waiting = $2, waiting_until = $3, updated_at = $4
         WHERE id = $1 AND status IN ('queued', 'running')",
    )
    .bind(claim.run.as_uuid())
    .bind(wait.map(|wait| text(&wait.why)))
    .bind(wait.map(|wait| wait.not_before))
    .bind(now)
    .execute(c)
    .await?;
    Ok(())
}

pub async fn retry_later<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
    error: RunError,
    not_before: DateTime<Utc>,
    limits: Limits,
    now: DateTime<Utc>,
) -> Result<Retried, Error> {
    must_hold::<DB>(c, claim).await?;
    if claim.attempt >= limits.attempts {
        end::bury::<DB>(c, claim, error, now).await?;
        return Ok(Retried::DeadLettered);
    }
    query(
        "UPDATE work SET lease_until = NULL, worker = NULL, not_before = $2, last_error = $3,
             attempts = attempts + 1, deliveries = attempts + 1
         WHERE id = $1",
    )
    .bind(claim.work)
    .bind(not_before)
    .bind(text(&error.message))
    .execute(&mut *c)
    .await?;
    let why = format!("{ATTEMPT}{} failed: {}", claim.attempt, error.message);
    show_wait::<DB>(c, claim, Some(&Wait { not_before, why }), now).await?;
    Ok(Retried::Scheduled)
}

pub async fn set_aside<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
    error: RunError,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    must_hold::<DB>(c, claim).await?;
    end::bury::<DB>(c, claim, error, now).await
}

pub async fn fail_run<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
    error: RunError,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    must_hold::<DB>(c, claim).await?;
    end::end_badly::<DB>(c, claim, RunStatus::Failed, error, now).await
}

pub async fn stop_run<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
    why: &str,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    must_hold::<DB>(c, claim).await?;
    if gate_of::<DB>(c, claim).await?.shared {
        // Somebody else has come to want it since the gate was asked.
        let wait = Wait {
            not_before: now,
            why: "taken over by another job".into(),
        };
        return release::<DB>(c, claim, &wait, now).await;
    }
    end::end_badly::<DB>(c, claim, RunStatus::Canceled, called_off(why), now).await
}

pub async fn job_gate<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
) -> Result<Option<JobStatus>, Error> {
    let gate = gate_of::<DB>(c, claim).await?;
    let stopped = matches!(gate.job, Some(JobStatus::Canceled | JobStatus::NotStarted));
    Ok(gate.job.filter(|_| !(stopped && gate.shared)))
}

struct JobGate {
    job: Option<JobStatus>,
    /// Whether anybody but this job wants the version.
    shared: bool,
}

/// Of the run's own job: another may have taken the run over since it was claimed.
async fn gate_of<DB: Dialect>(c: &mut Tx<DB>, claim: &Claim) -> Result<JobGate, Error> {
    let row = query(
        "SELECT j.status, v.claimed_directly OR EXISTS (
                 SELECT 1 FROM job_versions o JOIN jobs oj ON oj.id = o.job_id
                 WHERE o.version_id = v.id AND o.job_id <> j.id
                   AND oj.status NOT IN ('canceled', 'not_started')) AS shared
         FROM ingestion_runs r JOIN jobs j ON j.id = r.job_id
         JOIN document_versions v ON v.id = r.version_id
         WHERE r.id = $1",
    )
    .bind(claim.run.as_uuid())
    .fetch_optional(c)
    .await?;
    let Some(row) = row else {
        return Ok(JobGate {
            job: None,
            shared: false,
        });
    };
    let row = Cells::<DB>(&row);
    Ok(JobGate {
        job: Some(row.word("status")?),
        shared: row.get("shared")?,
    })
}
