//! Rows of a version put back to what was noted of them.

use model::{JobId, VersionId};
use sqlx::query;
use uuid::Uuid;

use super::cells::{Cells, bytes, json, text};
use super::dialect::Dialect;
use super::mend::{Owner, free_number};
use super::{Tx, metadata, witness};
use crate::{ClaimSum, Error, Facts, Reached};

/// All that a note has the words of. Who said what of a version it only sums up: where that was
/// changed, what is left is said by nobody's job. Nothing where there is no note to go by.
pub async fn row<DB: Dialect>(
    c: &mut Tx<DB>,
    (_, document): Owner,
    version: VersionId,
) -> Result<(), Error> {
    let Some((facts, _)) = witness::standing::<DB>(c, version).await? else {
        return Ok(());
    };
    let row = query(
        "UPDATE document_versions SET filename = $2, title = $3, created_at = $4, warnings = $5,
             gaps = $6, claimed_directly = $7
         WHERE id = $1 RETURNING kb_id",
    )
    .bind(version.as_uuid())
    .bind(text(&facts.filename))
    .bind(facts.title.as_deref())
    .bind(facts.created_at)
    .bind(json(&facts.warnings))
    .bind(json(&facts.gaps))
    .bind(facts.claimed_directly)
    .fetch_optional(&mut *c)
    .await?
    .ok_or_else(|| Error::not_found("version", version))?;
    let kb = Cells::<DB>(&row).id("kb_id", model::KbId::from_uuid)?;
    unspoil_hashes::<DB>(c, version).await?;
    if let Some(reached) = &facts.reached {
        free_number::<DB>(c, (kb, version), reached.number.into()).await?;
        set_reached::<DB>(c, version, reached).await?;
    }
    metadata::replace::<DB>(c, (kb, version), &facts.metadata).await?;
    reasons::<DB>(c, version, &facts).await?;
    if let Some(since) = facts.document_since {
        query("UPDATE documents SET created_at = $2 WHERE id = $1")
            .bind(document.as_uuid())
            .bind(since)
            .execute(&mut *c)
            .await?;
    }
    let now = witness::one::<DB>(c, version).await?;
    match now.is_some_and(|now| now.facts.said == facts.said) {
        true => Ok(()),
        false => say_again::<DB>(c, version, &facts).await,
    }
}

/// What is no hash keeps the whole row from being read. Without it, it is known to be missing.
async fn unspoil_hashes<DB: Dialect>(c: &mut Tx<DB>, version: VersionId) -> Result<(), Error> {
    query(
        "UPDATE document_versions SET
             root_hash = CASE WHEN length(root_hash) = 32 THEN root_hash END,
             text_hash = CASE WHEN length(text_hash) = 32 THEN text_hash END,
             parsed_hash = CASE WHEN length(parsed_hash) = 32 THEN parsed_hash END
         WHERE id = $1",
    )
    .bind(version.as_uuid())
    .execute(c)
    .await?;
    Ok(())
}

async fn set_reached<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    reached: &Reached,
) -> Result<(), Error> {
    query(
        "UPDATE document_versions SET generation_id = $2, number = $3, media_type = $4,
             language = $5, pass = $6, units_total = $7, units_open = $8, needs_flush = $9,
             chunks = $10, tokens = $11, root_hash = $12, text_hash = $13, parsed_hash = $14,
             state = 'failed'
         WHERE id = $1",
    )
    .bind(version.as_uuid())
    .bind(reached.generation.as_uuid())
    .bind(i64::from(reached.number))
    .bind(reached.media_type.as_deref())
    .bind(reached.language.as_deref())
    .bind(i64::from(reached.pass))
    .bind(i64::from(reached.units_total))
    .bind(i64::from(reached.units_open))
    .bind(reached.needs_flush.map(u64::cast_signed))
    .bind(reached.chunks.cast_signed())
    .bind(reached.tokens.cast_signed())
    .bind(reached.root_hash.as_ref().map(bytes))
    .bind(reached.text_hash.as_ref().map(bytes))
    .bind(reached.parsed_hash.as_ref().map(bytes))
    .execute(c)
    .await?;
    Ok(())
}

async fn reasons<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    facts: &Facts,
) -> Result<(), Error> {
    query("UPDATE document_units SET reason = NULL WHERE version_id = $1 AND reason IS NOT NULL")
        .bind(version.as_uuid())
        .execute(&mut *c)
        .await?;
    for (unit, reason) in &facts.reasons {
        query("UPDATE document_units SET reason = $3 WHERE version_id = $1 AND unit = $2")
            .bind(version.as_uuid())
            .bind(unit.as_str())
            .bind(reason.as_str())
            .execute(&mut *c)
            .await?;
    }
    Ok(())
}

async fn say_again<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    facts: &Facts,
) -> Result<(), Error> {
    query("DELETE FROM metadata_given WHERE version_id = $1")
        .bind(version.as_uuid())
        .execute(&mut *c)
        .await?;
    if !facts.metadata.is_empty() {
        query(
            "INSERT INTO metadata_given (version_id, position, job_id, metadata)
             VALUES ($1, 0, NULL, $2)",
        )
        .bind(version.as_uuid())
        .bind(json(&facts.metadata))
        .execute(&mut *c)
        .await?;
    }
    witness::restate::<DB>(c, version, witness::Part::Said).await
}

/// The claim by which the rows differ from what was noted, if one alone explains it: then it is
/// made again, taken back, or told as it was.
pub async fn claims<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, _): Owner,
    version: VersionId,
) -> Result<(), Error> {
    if both::<DB>(c, version)
        .await?
        .is_none_or(|(noted, now)| noted == now)
    {
        return Ok(());
    }
    // Jobs that were lost are back by now: whoever is not among them claims nothing.
    query(
        "DELETE FROM job_versions WHERE version_id = $1
           AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = job_versions.job_id)",
    )
    .bind(version.as_uuid())
    .execute(&mut *c)
    .await?;
    let Some((noted, now)) = both::<DB>(c, version).await? else {
        return Ok(());
    };
    if now == noted {
        return Ok(());
    }
    let rows = query(
        "SELECT j.id, jv.outcome FROM jobs j
         LEFT JOIN job_versions jv ON jv.job_id = j.id AND jv.version_id = $2
         WHERE j.tenant_id = $1 ORDER BY j.id",
    )
    .bind(tenant.as_uuid())
    .bind(version.as_uuid())
    .fetch_all(&mut *c)
    .await?;
    for row in &rows {
        let row = Cells::<DB>(row);
        let job = row.id("id", JobId::from_uuid)?;
        let is = row.maybe_text("outcome")?;
        let without = match &is {
            Some(outcome) => now.turned(version, job, outcome),
            None => now,
        };
        if let Some(was) = explains(without, noted, version, job) {
            return set::<DB>(c, version, job.as_uuid(), was).await;
        }
    }
    Ok(())
}

/// The claims as they were noted, and as they are.
async fn both<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
) -> Result<Option<(ClaimSum, ClaimSum)>, Error> {
    let noted = witness::standing::<DB>(c, version).await?;
    let now = witness::one::<DB>(c, version).await?;
    Ok(noted.zip(now).map(|((_, noted), now)| (noted, now.claims)))
}

const OUTCOMES: [&str; 3] = ["new", "new_version", "skipped"];

/// What a job's claim must have been, if with it all are as noted: perhaps none.
fn explains(
    others: ClaimSum,
    noted: ClaimSum,
    version: VersionId,
    job: JobId,
) -> Option<Option<&'static str>> {
    if others == noted {
        return Some(None);
    }
    let fits = |outcome: &&&str| others.turned(version, job, outcome) == noted;
    OUTCOMES.iter().find(fits).map(|outcome| Some(*outcome))
}

async fn set<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    job: Uuid,
    outcome: Option<&str>,
) -> Result<(), Error> {
    query("DELETE FROM job_versions WHERE job_id = $1 AND version_id = $2")
        .bind(job)
        .bind(version.as_uuid())
        .execute(&mut *c)
        .await?;
    let Some(outcome) = outcome else {
        return Ok(());
    };
    query("INSERT INTO job_versions (job_id, version_id, outcome) VALUES ($1, $2, $3)")
        .bind(job)
        .bind(version.as_uuid())
        .bind(outcome)
        .execute(c)
        .await?;
    Ok(())
}
