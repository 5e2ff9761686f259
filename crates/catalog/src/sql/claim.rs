//! Leases: taking them, prolonging them, showing that one is held.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use chrono::{DateTime, Utc};
use model::{RunId, StepKind};
use sqlx::{AssertSqlSafe, QueryBuilder, query};

use super::cells::Cells;
use super::dialect::Dialect;
use super::events::{News, tell};
use super::{Limits, Tx, end, recreate, work};
use crate::{Claim, Error, RunError};

pub async fn claim<DB: Dialect>(
    c: &mut Tx<DB>,
    wanted: Wanted,
    limits: Limits,
    now: DateTime<Utc>,
) -> Result<Vec<Claim>, Error> {
    let rows = lease::<DB>(c, &wanted, now).await?;
    let mut claims = Vec::with_capacity(rows.len());
    for row in &rows {
        let claim = work::read_claim::<DB>(row);
        let deliveries = Cells::<DB>(row).small("deliveries");
        match claim {
            Ok(claim) if deliveries.is_ok_and(|n| n <= limits.deliveries) => claims.push(claim),
            claim => put_aside::<DB>(c, row, claim.ok(), limits, now).await?,
        }
    }
    claims.sort_by_key(|claim| claim.work);
    started::<DB>(c, &claims, now).await?;
    Ok(claims)
}

/// Takes out what nobody will answer. Where that cannot be done, for what its run or its version
/// says, it stays under its lease, and the others are handed out.
async fn put_aside<DB: Dialect>(
    c: &mut Tx<DB>,
    row: &DB::Row,
    claim: Option<Claim>,
    limits: Limits,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    query("SAVEPOINT put_aside").execute(&mut *c).await?;
    let done = match &claim {
        Some(claim) => end::bury::<DB>(c, claim, never_answered(limits), now).await,
        None => recreate::replace_unreadable::<DB>(c, row, limits, now).await,
    };
    match done {
        Err(error) if !error.is_retryable() => {
            let run_id = claim.map(|claim| claim.run.to_string());
            tracing::error!(run_id, %error, "a step nobody answers cannot be put aside");
            query("ROLLBACK TO put_aside").execute(&mut *c).await?;
        }
        done => done?,
    }
    query("RELEASE put_aside").execute(&mut *c).await?;
    Ok(())
}

/// Whether a step of one of these kinds is due.
pub async fn due<DB: Dialect>(
    c: &mut Tx<DB>,
    kinds: &[StepKind],
    now: DateTime<Utc>,
) -> Result<bool, Error> {
    for kind in kinds {
        let row = query(
            "SELECT id FROM work
             WHERE kind = $2 AND coalesce(lease_until, not_before) <= $1 LIMIT 1",
        )
        .bind(now)
        .bind(kind.as_str())
        .fetch_optional(&mut *c)
        .await?;
        if row.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The rows, under a lease; nobody is told yet.
pub async fn lease<DB: Dialect>(
    c: &mut Tx<DB>,
    wanted: &Wanted,
    now: DateTime<Utc>,
) -> Result<Vec<DB::Row>, Error> {
    if let Some(advance) = DB::ADVANCE_FENCE {
        query(advance).execute(&mut *c).await?;
    }
    let mut rows = Vec::new();
    for kind in &wanted.kinds {
        let room = wanted.max - rows.len();
        rows.extend(take::<DB>(c, *kind, room, wanted, now).await?);
    }
    Ok(rows)
}

/// What a worker asks for.
pub struct Wanted {
    /// Each is looked for in turn.
    pub kinds: Vec<StepKind>,
    /// Only steps of this one.
    pub run: Option<RunId>,
    pub worker: String,
    pub max: usize,
    pub lease: Duration,
}

impl Wanted {
    /// Steps of one run, whatever their kind.
    pub fn of_run(run: RunId, worker: &str, max: usize, lease: Duration) -> Self {
        Self {
            kinds: vec![StepKind::Prep, StepKind::Extract, StepKind::Finalize],
            run: Some(run),
            worker: worker.to_owned(),
            max,
            lease,
        }
    }
}

fn never_answered(limits: Limits) -> RunError {
    RunError {
        code: "never_answered".into(),
        message: format!(
            "{} workers took this step and none answered",
            limits.deliveries
        ),
        hint: Some("look for a crash at this document in the logs, then replay it".into()),
    }
}

/// Those of one kind that have been due longest.
async fn take<DB: Dialect>(
    c: &mut Tx<DB>,
    kind: StepKind,
    max: usize,
    wanted: &Wanted,
    now: DateTime<Utc>,
) -> Result<Vec<DB::Row>, Error> {
    let which = match wanted.run {
        None => "kind = $2",
        // Found by its run: of a kind there may be any number, and those of one run are few.
        Some(_) => "run_id = $6 AND coalesce(kind, '') = $2",
    };
    let sql = format!(
        "WITH due AS MATERIALIZED (
             SELECT id AS due_id FROM work
             WHERE {which} AND coalesce(lease_until, not_before) <= $1
             ORDER BY coalesce(lease_until, not_before), id LIMIT $3 {}
         )
         UPDATE work SET token = {}, worker = $4, lease_until = $5, paused = FALSE,
             deliveries = deliveries + 1
         FROM due WHERE work.id = due_id
         RETURNING id, token, step_key, step, attempts, deliveries, tenant_id, kb_id, generation_id,
             document_id, version_id, run_id, number, job_id, lease_until, trace",
        DB::SKIP_LOCKED,
        DB::NEXT_TOKEN
    );
    let mut taken = query::<DB>(AssertSqlSafe(sql))
        .bind(now)
        .bind(kind.as_str())
        .bind(i64::try_from(max).unwrap_or(i64::MAX))
        .bind(wanted.worker.as_str())
        .bind(now + wanted.lease);
    if let Some(run) = wanted.run {
        taken = taken.bind(run.as_uuid());
    }
    Ok(taken.fetch_all(c).await?)
}

/// Tells the runs that somebody is at them; those of a paused job will stop at the gate. A run another transaction holds is left
/// alone: this one holds its work, and would otherwise wait in the wrong order.
async fn started<DB: Dialect>(
    c: &mut Tx<DB>,
    claims: &[Claim],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let sql = format!(
        "UPDATE ingestion_runs SET status = 'running', started_at = coalesce(started_at, $2),
             heartbeat_at = $2, updated_at = $2, waiting = NULL, waiting_until = NULL, stage = $3
         WHERE id IN (
             SELECT id FROM ingestion_runs
             WHERE id = $1 AND status IN ('queued', 'running')
               AND (status = 'queued' OR waiting IS NOT NULL OR stage IS NULL OR stage <> $3)
               AND NOT EXISTS (SELECT 1 FROM jobs j
                   WHERE j.id = ingestion_runs.job_id AND j.status = 'paused') {}
         ) RETURNING started_at",
        DB::SKIP_LOCKED
    );
    let runs: BTreeMap<_, _> = claims.iter().map(|claim| (claim.run, claim)).collect();
    let mut news = Vec::new();
    for claim in runs.into_values() {
        let row = query(AssertSqlSafe(sql.clone()))
            .bind(claim.run.as_uuid())
            .bind(now)
            .bind(claim.step.kind().as_str())
            .fetch_optional(&mut *c)
            .await?;
        if let Some(row) = row
            && Cells::<DB>(&row).at("started_at").is_ok_and(|at| at == now)
        {
            news.push(running(claim));
        }
    }
    news.sort_by_key(|news| news.tenant);
    for news in news {
        tell::<DB>(c, news, now).await?;
    }
    Ok(())
}

fn running(claim: &Claim) -> News {
    News {
        tenant: claim.tenant,
        kind: "run.running",
        run: Some(claim.run),
        document: Some(claim.document),
        job: claim.job,
        data: serde_json::json!({ "stage": claim.step.kind().as_str() }),
    }
}

pub async fn heartbeat<DB: Dialect>(
    c: &mut Tx<DB>,
    claims: &[Claim],
    lease: Duration,
    now: DateTime<Utc>,
) -> Result<Vec<bool>, Error> {
    let runs: BTreeSet<RunId> = claims.iter().map(|claim| claim.run).collect();
    for runs in Vec::from_iter(runs).chunks(AT_ONCE) {
        alive::<DB>(c, runs, now).await?;
    }
    // Rows are locked in the order of ids, as by whoever prolongs the same leases.
    let mut in_order: Vec<&Claim> = claims.iter().collect();
    in_order.sort_by_key(|claim| claim.work);
    let mut held = HashSet::new();
    for claims in in_order.chunks(AT_ONCE) {
        held.extend(prolong::<DB>(c, claims, now + lease).await?);
    }
    let is_held = |claim: &Claim| held.contains(&(claim.work, claim.token));
    Ok(claims.iter().map(is_held).collect())
}

/// Rows that one statement touches.
const AT_ONCE: usize = 1000;

/// Says of runs that somebody is at them.
async fn alive<DB: Dialect>(
    c: &mut Tx<DB>,
    runs: &[RunId],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let mut update: QueryBuilder<DB> =
        QueryBuilder::new("UPDATE ingestion_runs SET heartbeat_at = ");
    update.push_bind(now);
    update.push(" WHERE id IN (SELECT id FROM ingestion_runs WHERE status = 'running' AND id IN (");
    let mut list = update.separated(", ");
    for run in runs {
        list.push_bind(run.as_uuid());
    }
    update.push(") ORDER BY id ").push(DB::FOR_UPDATE).push(")");
    update.build().persistent(false).execute(c).await?;
    Ok(())
}

/// The work and token of each claim that still holds.
async fn prolong<DB: Dialect>(
    c: &mut Tx<DB>,
    claims: &[&Claim],
    until: DateTime<Utc>,
) -> Result<Vec<(i64, u64)>, Error> {
    let mut update: QueryBuilder<DB> = QueryBuilder::new("UPDATE work SET lease_until = ");
    update.push_bind(until);
    // By their ids alone they are found, whatever else is in the queue.
    update.push(" WHERE id IN (SELECT id FROM work WHERE lease_until IS NOT NULL AND id IN (");
    let mut list = update.separated(", ");
    for claim in claims {
        list.push_bind(claim.work);
    }
    update.push(") AND (id, token) IN (");
    update.push_values(claims, |mut row, claim| {
        row.push_bind(claim.work)
            .push_bind(claim.token.cast_signed());
    });
    update.push(") ORDER BY id ").push(DB::FOR_UPDATE);
    update.push(") RETURNING id, token");
    let rows = update.build().persistent(false).fetch_all(c).await?;
    let read = |row| {
        let row = Cells::<DB>(row);
        Ok((row.get("id")?, row.count("token")?))
    };
    rows.iter().map(read).collect()
}

pub async fn expire<DB: Dialect>(c: &mut Tx<DB>, now: DateTime<Utc>) -> Result<u64, Error> {
    let mut ended = 0;
    for sql in [
        "UPDATE work SET lease_until = $1 WHERE lease_until > $1 RETURNING id",
        // Nobody lists it: it waits for a worker, and none has gone silent.
        "UPDATE jobs SET lease_until = NULL WHERE lease_until > $1 RETURNING id",
    ] {
        ended += query(sql).bind(now).fetch_all(&mut *c).await?.len() as u64;
    }
    Ok(ended)
}

/// What others hold they are about to move.
pub async fn bound<DB: Dialect>(c: &mut Tx<DB>, latest: DateTime<Utc>) -> Result<u64, Error> {
    let mut bounded = 0;
    for table in ["work", "jobs"] {
        let sql = format!(
            "UPDATE {table} SET lease_until = $1
             WHERE id IN (SELECT id FROM {table} WHERE lease_until > $1 ORDER BY id {})
             RETURNING id",
            DB::SKIP_LOCKED
        );
        let rows = query(AssertSqlSafe(sql)).bind(latest).fetch_all(&mut *c);
        bounded += rows.await?.len() as u64;
    }
    Ok(bounded)
}

/// No wait is longer than what a provider may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

pub async fn hasten<DB: Dialect>(c: &mut Tx<DB>, now: DateTime<Utc>) -> Result<u64, Error> {
    // Made later than now, it was made by a clock that was ahead. That is told once, so that
    // a wait from now on is respected. What others hold they are about to move.
    let sql = format!(
        "UPDATE work SET not_before = $1,
             created_at = CASE WHEN created_at > $1 THEN $1 ELSE created_at END
         WHERE id IN (
             SELECT id FROM work
             WHERE coalesce(lease_until, not_before) > $1 AND lease_until IS NULL
               AND (created_at > $1 OR not_before > $2) ORDER BY id {})
         RETURNING id",
        DB::SKIP_LOCKED
    );
    let hastened = query(AssertSqlSafe(sql))
        .bind(now)
        .bind(now + LONGEST_WAIT)
        .fetch_all(c)
        .await?;
    Ok(hastened.len() as u64)
}

/// Locks the claim's run and its work; whether the claim still holds it.
pub async fn holds<DB: Dialect>(c: &mut Tx<DB>, claim: &Claim) -> Result<bool, Error> {
    if DB::LOCKS_ROWS {
        let sql = format!(
            "SELECT id FROM ingestion_runs WHERE id = $1 {}",
            DB::FOR_UPDATE
        );
        query(AssertSqlSafe(sql))
            .bind(claim.run.as_uuid())
            .fetch_optional(&mut *c)
            .await?;
    }
    // A step given back keeps its token and has no lease: it is nobody's.
    let sql = format!(
        "SELECT id FROM work WHERE id = $1 AND token = $2 AND lease_until IS NOT NULL {}",
        DB::FOR_UPDATE
    );
    let row = query(AssertSqlSafe(sql))
        .bind(claim.work)
        .bind(claim.token.cast_signed())
        .fetch_optional(c)
        .await?;
    Ok(row.is_some())
}

/// As [`holds`], for writes that have no answer to repeat.
pub async fn must_hold<DB: Dialect>(c: &mut Tx<DB>, claim: &Claim) -> Result<(), Error> {
    if holds::<DB>(c, claim).await? {
        Ok(())
    } else {
        Err(Error::Fenced { work: claim.work })
    }
}

pub async fn busy<DB: Dialect>(c: &mut Tx<DB>, now: DateTime<Utc>) -> Result<bool, Error> {
    // Asked in the words of the index: it gives those held, and those due later.
    let row = query(
        "SELECT id FROM work
         WHERE coalesce(lease_until, not_before) > $1 AND lease_until IS NOT NULL LIMIT 1",
    )
    .bind(now)
    .fetch_optional(c)
    .await?;
    Ok(row.is_some())
}

pub async fn next_due<DB: Dialect>(c: &mut Tx<DB>) -> Result<Option<DateTime<Utc>>, Error> {
    let row = query(
        "SELECT coalesce(lease_until, not_before) AS due FROM work
         ORDER BY coalesce(lease_until, not_before), id LIMIT 1",
    )
    .fetch_optional(c)
    .await?;
    row.map(|row| Cells::<DB>(&row).at("due")).transpose()
}
