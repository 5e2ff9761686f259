//! Notes of jobs, beside their rows.
//!
//! Written where a job is made; from then on whoever changes what is noted changes that part of the
//! note. What a job counts is not noted: other rows tell of it.

use std::collections::BTreeMap;

use model::{JobId, KbId, SourceId, TenantId, UserId};
use sqlx::{AssertSqlSafe, query};
use uuid::Uuid;

use super::cells::{Cells, bytes, json};
use super::dialect::Dialect;
use super::renamed::give_back;
use super::{Tx, columns};
use crate::{
    Error, JobConfigured, JobCount, JobFacts, JobStanding, MiscountedJob, Note, Now, Told,
};

/// What is noted anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Configured,
    Standing,
}

type Of = (TenantId, JobId);

fn ids((tenant, job): Of) -> (Uuid, Uuid) {
    (tenant.as_uuid(), job.as_uuid())
}

/// Notes a job as its row has it.
pub async fn write<DB: Dialect>(c: &mut Tx<DB>, row: &DB::Row) -> Result<(), Error> {
    put::<DB>(c, of::<DB>(row)?, &read::<DB>(row)?).await
}

/// Notes a part of a job anew, as its row has it.
pub async fn restate<DB: Dialect>(c: &mut Tx<DB>, row: &DB::Row, part: Part) -> Result<(), Error> {
    let of = of::<DB>(row)?;
    let Some(mut facts) = standing::<DB>(c, of).await? else {
        return Ok(());
    };
    let now = read::<DB>(row)?;
    match part {
        Part::Configured => facts.configured = now.configured,
        Part::Standing => facts.standing = now.standing,
    }
    put::<DB>(c, of, &facts).await
}

/// Notes every job, when notes are new to a catalog.
pub async fn write_all<DB: Dialect>(c: &mut Tx<DB>) -> Result<(), Error> {
    let rows = query("SELECT * FROM jobs").fetch_all(&mut *c).await?;
    for row in &rows {
        // One that cannot be read is named for that.
        if let (Ok(of), Ok(facts)) = (of::<DB>(row), read::<DB>(row)) {
            put::<DB>(c, of, &facts).await?;
        }
    }
    Ok(())
}

/// Those of a tenant that are not as they were noted, or not noted.
pub async fn otherwise<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
) -> Result<Vec<MiscountedJob>, Error> {
    let found = gather::<DB>(c, tenant).await?;
    let renamed = pairs(&found);
    let strange = |job: &JobId| renamed.iter().any(|(is, _)| is == job);
    let found = found.into_iter().filter(|(job, _)| !strange(job));
    let wrong = found.filter_map(|(job, (now, noted))| {
        let (rows, notes) = match (&now, &noted) {
            (Now::Is(now), Some(Told::Was(noted))) if now == noted => return None,
            (Now::Gone, _) => (0, 1),
            (Now::Is(_) | Now::Unreadable, Some(Told::Was(_))) => (1, 1),
            (Now::Is(_) | Now::Unreadable, None | Some(Told::Changed)) => (1, 0),
        };
        Some(MiscountedJob {
            job,
            of: JobCount::Row,
            told: rows,
            counted: notes,
        })
    });
    Ok(wrong.collect())
}

/// Those of a tenant that go by another id than they were given, each with its own.
pub async fn renamed<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
) -> Result<Vec<(JobId, JobId)>, Error> {
    Ok(pairs(&gather::<DB>(c, tenant).await?))
}

/// Nothing was noted of such a row, and it says all that was noted of one that is gone.
fn pairs(found: &Found) -> Vec<(JobId, JobId)> {
    let mut pairs: Vec<(JobId, JobId)> = Vec::new();
    for (was, row) in found {
        let (Now::Gone, Some(Told::Was(told))) = row else {
            continue;
        };
        let alike = |(is, (now, noted)): &(&JobId, &(Now<JobFacts>, Option<Told<JobFacts>>))| {
            noted.is_none()
                && matches!(now, Now::Is(now) if now == told)
                && !pairs.iter().any(|(known, _)| known == *is)
        };
        let is = found.iter().find(alike).map(|(is, _)| *is);
        pairs.extend(is.map(|is| (is, *was)));
    }
    pairs
}

/// Rows as they were noted, or, where no note stands, notes as the rows have it. What a lost row has
/// counted is left to be counted anew, but for the runs that failed: its own, as they tell. A note
/// that does not stand and is of no row goes.
pub async fn put_right<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId) -> Result<(), Error> {
    for (is, was) in renamed::<DB>(c, tenant).await? {
        give_back::<DB>(c, "jobs", (is.as_uuid(), was.as_uuid())).await?;
    }
    for wrong in otherwise::<DB>(c, tenant).await? {
        let of = (tenant, wrong.job);
        if let Some(facts) = standing::<DB>(c, of).await? {
            set::<DB>(c, of, &facts).await?;
            continue;
        }
        columns::put_back::<DB>(c, "jobs", columns::OF_JOB, wrong.job.as_uuid()).await?;
        let row = query("SELECT * FROM jobs WHERE id = $1 AND tenant_id = $2")
            .bind(wrong.job.as_uuid())
            .bind(tenant.as_uuid())
            .fetch_optional(&mut *c)
            .await?;
        match row {
            // Of one that cannot be read nothing can be noted, and the others are not left for it.
            Some(row) => {
                if let Ok(facts) = read::<DB>(&row) {
                    put::<DB>(c, of, &facts).await?;
                }
            }
            None => forget::<DB>(c, of).await?,
        }
    }
    Ok(())
}

/// The row as it was noted, in place of one nobody can read; `None` where no note stands.
pub async fn put_back<DB: Dialect>(
    c: &mut Tx<DB>,
    row: &DB::Row,
) -> Result<Option<DB::Row>, Error> {
    let Ok(of) = of::<DB>(row) else {
        return Ok(None);
    };
    let Some(facts) = standing::<DB>(c, of).await? else {
        return Ok(None);
    };
    set::<DB>(c, of, &facts).await?;
    let row = query("SELECT * FROM jobs WHERE id = $1")
        .bind(of.1.as_uuid())
        .fetch_optional(c)
        .await?;
    Ok(row)
}

async fn forget<DB: Dialect>(c: &mut Tx<DB>, of: Of) -> Result<(), Error> {
    let (tenant, job) = ids(of);
    query("DELETE FROM job_witnesses WHERE tenant_id = $1 AND job_id = $2")
        .bind(tenant)
        .bind(job)
        .execute(c)
        .await?;
    Ok(())
}

async fn set<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, job): Of,
    facts: &JobFacts,
) -> Result<(), Error> {
    let JobFacts {
        configured,
        standing,
    } = facts;
    query(
        "INSERT INTO jobs (id, tenant_id, kb_id, source_id, config, initiated_by, created_at,
             purged, status, cursor, exhausted, beginnings, error, started_at, finished_at,
             updated_at, runs_failed)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
             coalesce($15, $14, $7),
             (SELECT count(*) FROM ingestion_runs r
              WHERE r.job_id = $1 AND r.counted_in = $12 AND r.status = 'failed'))
         ON CONFLICT (id) DO UPDATE SET tenant_id = $2, kb_id = $3, source_id = $4, config = $5,
             initiated_by = $6, created_at = $7, purged = $8, status = $9, cursor = $10,
             exhausted = $11, beginnings = $12, error = $13, started_at = $14, finished_at = $15",
    )
    .bind(job.as_uuid())
    .bind(tenant.as_uuid())
    .bind(configured.kb.as_uuid())
    .bind(configured.source.map(SourceId::as_uuid))
    .bind(json(&configured.config))
    .bind(configured.initiated_by.map(UserId::as_uuid))
    .bind(configured.created_at)
    .bind(configured.purged)
    .bind(standing.status.as_str())
    .bind(standing.cursor.as_ref().map(json))
    .bind(standing.exhausted)
    .bind(standing.beginnings)
    .bind(standing.error.as_deref())
    .bind(standing.started_at)
    .bind(standing.finished_at)
    .execute(&mut *c)
    .await?;
    columns::put_back::<DB>(c, "jobs", columns::OF_JOB, job.as_uuid()).await
}

async fn put<DB: Dialect>(c: &mut Tx<DB>, of: Of, facts: &JobFacts) -> Result<(), Error> {
    let note = Note::new(ids(of), facts);
    let (tenant, job) = ids(of);
    query(
        "INSERT INTO job_witnesses (tenant_id, job_id, facts, sum) VALUES ($1, $2, $3, $4)
         ON CONFLICT (tenant_id, job_id) DO UPDATE SET facts = $3, sum = $4",
    )
    .bind(tenant)
    .bind(job)
    .bind(note.facts)
    .bind(bytes(&note.sum))
    .execute(c)
    .await?;
    Ok(())
}

/// What is noted of a job, if that is still what was noted.
async fn standing<DB: Dialect>(c: &mut Tx<DB>, of: Of) -> Result<Option<JobFacts>, Error> {
    let (tenant, job) = ids(of);
    let sql = format!(
        "SELECT * FROM job_witnesses WHERE tenant_id = $1 AND job_id = $2 {}",
        DB::FOR_UPDATE
    );
    let row = query(AssertSqlSafe(sql))
        .bind(tenant)
        .bind(job)
        .fetch_optional(c)
        .await?;
    Ok(row.and_then(|row| Cells::<DB>(&row).note().ok()?.told(ids(of))))
}

type Found = BTreeMap<JobId, (Now<JobFacts>, Option<Told<JobFacts>>)>;

async fn gather<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId) -> Result<Found, Error> {
    let mut found = Found::new();
    let rows = query("SELECT * FROM jobs WHERE tenant_id = $1")
        .bind(tenant.as_uuid())
        .fetch_all(&mut *c)
        .await?;
    for row in &rows {
        let Ok((_, job)) = of::<DB>(row) else {
            continue;
        };
        let now = read::<DB>(row).ok();
        let now = now.filter(|_| columns::are_sound::<DB>(row, columns::OF_JOB));
        found.insert(job, (now.map_or(Now::Unreadable, Now::Is), None));
    }
    let rows = query("SELECT * FROM job_witnesses WHERE tenant_id = $1")
        .bind(tenant.as_uuid())
        .fetch_all(&mut *c)
        .await?;
    for row in &rows {
        let row = Cells::<DB>(row);
        let Ok(job) = row.id("job_id", JobId::from_uuid) else {
            continue;
        };
        let note = row.note().ok();
        let told = note.and_then(|note| note.told(ids((tenant, job))));
        let one = found.entry(job).or_insert((Now::Gone, None));
        one.1 = Some(told.map_or(Told::Changed, Told::Was));
    }
    leave_to_others::<DB>(c, tenant, &mut found).await?;
    Ok(found)
}

/// A row that says it is this tenant's, and was noted as another's, is missed there and put right
/// with that.
async fn leave_to_others<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    found: &mut Found,
) -> Result<(), Error> {
    let unnoted = found.iter().filter(|(_, (_, noted))| noted.is_none());
    for job in unnoted.map(|(job, _)| *job).collect::<Vec<_>>() {
        if is_anothers::<DB>(c, (tenant, job)).await? {
            found.remove(&job);
        }
    }
    Ok(())
}

async fn is_anothers<DB: Dialect>(c: &mut Tx<DB>, of: Of) -> Result<bool, Error> {
    let (tenant, job) = ids(of);
    let rows = query("SELECT * FROM job_witnesses WHERE job_id = $1 AND tenant_id <> $2")
        .bind(job)
        .bind(tenant)
        .fetch_all(c)
        .await?;
    let stands = |row: &DB::Row| {
        let row = Cells::<DB>(row);
        let owner = row.id("tenant_id", TenantId::from_uuid);
        let told = owner.and_then(|owner| Ok(row.note()?.told::<JobFacts>(ids((owner, of.1)))));
        told.is_ok_and(|told| told.is_some())
    };
    Ok(rows.iter().any(stands))
}

fn of<DB: Dialect>(row: &DB::Row) -> Result<Of, Error> {
    let row = Cells::<DB>(row);
    let tenant = row.id("tenant_id", TenantId::from_uuid)?;
    Ok((tenant, row.id("id", JobId::from_uuid)?))
}

fn read<DB: Dialect>(row: &DB::Row) -> Result<JobFacts, Error> {
    let row = Cells::<DB>(row);
    Ok(JobFacts {
        configured: JobConfigured {
            kb: row.id("kb_id", KbId::from_uuid)?,
            source: row.maybe_id("source_id", SourceId::from_uuid)?,
            config: row.json("config")?,
            initiated_by: row.maybe_id("initiated_by", UserId::from_uuid)?,
            created_at: row.at("created_at")?,
            purged: row.get("purged")?,
        },
        standing: JobStanding {
            status: row.word("status")?,
            cursor: row.maybe_json("cursor")?,
            exhausted: row.get("exhausted")?,
            beginnings: row.get("beginnings")?,
            error: row.maybe_text("error")?,
            started_at: row.maybe_at("started_at")?,
            finished_at: row.maybe_at("finished_at")?,
        },
    })
}
