//! Rows of the queue: putting steps in, and reading claims out.

use chrono::{DateTime, Utc};
use model::{DocumentId, GenerationId, JobId, KbId, RunId, Step, TenantId, UnitName, VersionId};
use sqlx::{QueryBuilder, query};

use super::Tx;
use super::cells::{Cells, json};
use super::dialect::Dialect;
use crate::{Claim, Error};

/// Puts a step in the queue unless it is there already. What else the row holds is its
/// version's and its run's.
pub async fn enqueue<DB: Dialect>(
    c: &mut Tx<DB>,
    step: &Step,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    query(
        "INSERT INTO work (step_key, kind, step, tenant_id, kb_id, generation_id, document_id,
             version_id, number, run_id, job_id, trace, not_before, created_at)
         SELECT $2, $3, $4, v.tenant_id, v.kb_id, v.generation_id, v.document_id,
             v.id, v.number, r.id, r.job_id, r.trace, $5, $5
         FROM document_versions v JOIN ingestion_runs r ON r.id = v.run_id
         WHERE v.id = $1
         ON CONFLICT (step_key) DO NOTHING",
    )
    .bind(step.version().as_uuid())
    .bind(step.key())
    .bind(step.kind().as_str())
    .bind(json(step))
    .bind(now)
    .execute(c)
    .await?;
    Ok(())
}

/// An Extract for every unit of the pass the claim's Prep has opened.
pub async fn enqueue_units<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
    pass: u32,
    units: &[(UnitName, u32)],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let version = claim.step.version();
    for units in units.chunks(500) {
        let mut insert: QueryBuilder<DB> = QueryBuilder::new(
            "INSERT INTO work (step_key, kind, step, tenant_id, kb_id, generation_id, document_id,
                 version_id, number, run_id, job_id, trace, not_before, created_at) ",
        );
        insert.push_values(units, |mut row, (unit, _)| {
            let step = Step::Extract {
                version,
                pass,
                unit: unit.clone(),
            };
            row.push_bind(step.key())
                .push_bind(step.kind().as_str())
                .push_bind(json(&step))
                .push_bind(claim.tenant.as_uuid())
                .push_bind(claim.kb.as_uuid())
                .push_bind(claim.generation.as_uuid())
                .push_bind(claim.document.as_uuid())
                .push_bind(version.as_uuid())
                .push_bind(i64::from(claim.version_number))
                .push_bind(claim.run.as_uuid())
                // Not the claim's: another job may have taken the run over since.
                .push("(SELECT job_id FROM ingestion_runs WHERE id = ")
                .push_bind_unseparated(claim.run.as_uuid())
                .push_unseparated(")")
                .push_bind(claim.trace.clone())
                .push_bind(now)
                .push_bind(now);
        });
        insert
            .push(" ON CONFLICT (step_key) DO NOTHING")
            .build()
            .execute(&mut *c)
            .await?;
    }
    Ok(())
}

/// Whether something is to be done for a version as another document's.
pub async fn is_elsewhere<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    version: VersionId,
) -> Result<bool, Error> {
    let row =
        query("SELECT 1 AS one FROM work WHERE version_id = $1 AND document_id <> $2 LIMIT 1")
            .bind(version.as_uuid())
            .bind(document.as_uuid())
            .fetch_optional(c)
            .await?;
    Ok(row.is_some())
}

pub async fn remove<DB: Dialect>(c: &mut Tx<DB>, claim: &Claim) -> Result<(), Error> {
    query("DELETE FROM work WHERE id = $1 AND token = $2")
        .bind(claim.work)
        .bind(claim.token.cast_signed())
        .execute(c)
        .await?;
    Ok(())
}

/// What is to be done, where whoever took it could read all that goes with it, and it is the step
/// the row is called by: another would be done in its place, and it never.
pub fn read_step<DB: Dialect>(row: &DB::Row) -> Result<Step, Error> {
    let row = Cells::<DB>(row);
    for count in ["attempts", "deliveries", "number"] {
        row.small(count)?;
    }
    let step: Step = row.json("step")?;
    let version = row.id("version_id", VersionId::from_uuid)?;
    match row.text("step_key")? {
        key if key == step.key() && version == step.version() => Ok(step),
        key => Err(Error::corrupt(format_args!("step {key} says otherwise"))),
    }
}

pub fn read_claim<DB: Dialect>(row: &DB::Row) -> Result<Claim, Error> {
    let step = read_step::<DB>(row)?;
    let row = Cells::<DB>(row);
    Ok(Claim {
        work: row.get("id")?,
        token: row.count("token")?,
        step,
        attempt: row.small("attempts")? + 1,
        unanswered: row
            .small("deliveries")?
            .saturating_sub(row.small("attempts")? + 1),
        tenant: row.id("tenant_id", TenantId::from_uuid)?,
        kb: row.id("kb_id", KbId::from_uuid)?,
        generation: row.id("generation_id", GenerationId::from_uuid)?,
        document: row.id("document_id", DocumentId::from_uuid)?,
        run: row.id("run_id", RunId::from_uuid)?,
        version_number: row.small("number")?,
        job: row.maybe_id("job_id", JobId::from_uuid)?,
        lease_until: row.at("lease_until")?,
        trace: row.maybe_text("trace")?,
    })
}
