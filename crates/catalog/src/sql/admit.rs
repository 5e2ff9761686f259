//! Admission: bytes that have arrived become a version with a run, or are skipped.
//!
//! The document's row is locked before it is looked at, so that admissions of one document
//! stand in a line and "is it new" has one answer.

use chrono::{DateTime, TimeDelta, Utc};
use model::{
    DocumentId, JobId, KbId, RunId, SourceId, SourceOrder, SourceUri, Step, UserId, VersionId,
};
use serde_json::Value;
use sqlx::{AssertSqlSafe, query};
use uuid::Uuid;

use super::cells::{Cells, bytes, json, text};
use super::dialect::Dialect;
use super::events::{News, tell};
use super::{Tx, claims, counters, metadata, noted_documents, witness, work};
use crate::{
    ActivationCause, Admission, Admitted, Error, GenerationState, Outcome, RunType, SkipReason,
};

pub async fn admit<DB: Dialect>(
    c: &mut Tx<DB>,
    admission: &Admission,
    now: DateTime<Utc>,
) -> Result<Admitted, Error> {
    let admitted = admit_quietly::<DB>(c, admission, now).await?;
    if let Some(job) = admission.job {
        claims::make::<DB>(c, admission.tenant, job, &admitted, now).await?;
        counters::note::<DB>(c, job, std::slice::from_ref(&admitted)).await?;
    }
    tell::<DB>(c, news(admission, &admitted), now).await?;
    Ok(admitted)
}

/// Admits without telling the job or anybody else: those rows are locked last.
pub async fn admit_quietly<DB: Dialect>(
    c: &mut Tx<DB>,
    admission: &Admission,
    now: DateTime<Utc>,
) -> Result<Admitted, Error> {
    if !admission.source_uri.fits() {
        let why = format!("it is longer than {} bytes", SourceUri::MAX_BYTES);
        return Err(Error::conflict("address", why));
    }
    lock_place::<DB>(c, admission).await?;
    let locked = lock_document::<DB>(c, admission, now).await?;
    let known = if locked.fresh {
        None
    } else {
        same_bytes::<DB>(c, locked.document, admission).await?
    };
    match known {
        Some(known) => {
            if let SkipReason::LiveRun = known.reason {
                come_again::<DB>(c, &locked, known.version, now).await?;
            }
            skip::<DB>(c, locked.document, known, admission).await
        }
        None => begin::<DB>(c, &locked, admission, now).await,
    }
}

pub fn news(admission: &Admission, admitted: &Admitted) -> News {
    let (kind, data) = match admitted.outcome {
        Outcome::Skipped { reason } => (
            "document.skipped",
            serde_json::json!({ "reason": reason.as_str() }),
        ),
        Outcome::New | Outcome::NewVersion => ("run.queued", serde_json::json!({})),
    };
    News {
        tenant: admission.tenant,
        kind,
        run: admitted.run,
        document: Some(admitted.document),
        job: admission.job,
        data,
    }
}

/// Locks the knowledge base, whose next number is about to be taken; then its generations
/// stay as they are.
async fn lock_place<DB: Dialect>(c: &mut Tx<DB>, admission: &Admission) -> Result<(), Error> {
    let sql = format!(
        "SELECT id FROM knowledge_bases WHERE id = $1 AND tenant_id = $2 {}",
        DB::FOR_UPDATE
    );
    let found = query(AssertSqlSafe(sql))
        .bind(admission.kb.as_uuid())
        .bind(admission.tenant.as_uuid())
        .fetch_optional(&mut *c)
        .await?;
    found.ok_or_else(|| Error::not_found("knowledge base", admission.kb))?;
    let row = query("SELECT state FROM generations WHERE id = $1 AND kb_id = $2")
        .bind(admission.generation.as_uuid())
        .bind(admission.kb.as_uuid())
        .fetch_optional(c)
        .await?
        .ok_or_else(|| Error::not_found("generation", admission.generation))?;
    match Cells::<DB>(&row).word("state")? {
        GenerationState::Serving | GenerationState::Building => Ok(()),
        GenerationState::Retired => Err(Error::Retired {
            generation: admission.generation,
        }),
    }
}

struct Locked {
    document: DocumentId,
    /// This admission made it.
    fresh: bool,
    removed_at: Option<DateTime<Utc>>,
}

impl Locked {
    /// When a version is admitted now: after the document was removed, whatever the clock says.
    fn admitted_at(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        let after = |at| at + TimeDelta::microseconds(1);
        self.removed_at.map_or(now, |at| now.max(after(at)))
    }
}

async fn lock_document<DB: Dialect>(
    c: &mut Tx<DB>,
    admission: &Admission,
    now: DateTime<Utc>,
) -> Result<Locked, Error> {
    let proposed = admission
        .promised
        .map_or_else(Uuid::now_v7, DocumentId::as_uuid);
    let row = query(
        "INSERT INTO documents
             (id, tenant_id, kb_id, source_uri, source_id, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $6)
         ON CONFLICT (tenant_id, kb_id, source_uri) DO UPDATE
             SET source_id = coalesce(excluded.source_id, documents.source_id)
         RETURNING id, removed_at",
    )
    .bind(proposed)
    .bind(admission.tenant.as_uuid())
    .bind(admission.kb.as_uuid())
    .bind(admission.source_uri.as_str())
    .bind(admission.source.map(SourceId::as_uuid))
    .bind(now)
    .fetch_one(&mut *c)
    .await?;
    let row = Cells::<DB>(&row);
    let id: Uuid = row.get("id")?;
    let locked = Locked {
        document: DocumentId::from_uuid(id),
        fresh: id == proposed,
        removed_at: row.maybe_at("removed_at")?,
    };
    note_source::<DB>(c, &locked, admission).await?;
    Ok(locked)
}

async fn note_source<DB: Dialect>(
    c: &mut Tx<DB>,
    locked: &Locked,
    admission: &Admission,
) -> Result<(), Error> {
    match admission.source {
        _ if locked.fresh => noted_documents::write::<DB>(c, locked.document).await,
        Some(source) => noted_documents::restate_source::<DB>(c, locked.document, source).await,
        None => Ok(()),
    }
}

struct Known {
    version: VersionId,
    run: Option<RunId>,
    reason: SkipReason,
}

/// The version that already is these bytes: one under way, or the one that answers.
async fn same_bytes<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    admission: &Admission,
) -> Result<Option<Known>, Error> {
    // Locked, so that it cannot be canceled between being joined and being claimed.
    let live = query(AssertSqlSafe(format!(
        "SELECT id AS run_id, version_id AS id FROM ingestion_runs
         WHERE document_id = $1 AND generation_id = $2 AND content_hash = $3
           AND status IN ('queued', 'running') {}",
        DB::FOR_UPDATE
    )))
    .bind(document.as_uuid())
    .bind(admission.generation.as_uuid())
    .bind(bytes(&admission.content_hash))
    .fetch_optional(&mut *c)
    .await?;
    if let Some(row) = live {
        let row = Cells::<DB>(&row);
        return Ok(Some(Known {
            version: row.id("id", VersionId::from_uuid)?,
            run: Some(row.id("run_id", RunId::from_uuid)?),
            reason: SkipReason::LiveRun,
        }));
    }
    answering::<DB>(c, document, admission).await
}

/// The version that answers with these bytes; or the one a rollback has turned away, while
/// these are its bytes still.
async fn answering<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    admission: &Admission,
) -> Result<Option<Known>, Error> {
    let row = query(
        "SELECT v.id, v.content_hash, a.cause
         FROM activations a JOIN document_versions v ON v.id = a.version_id
         WHERE a.document_id = $1 AND a.generation_id = $2 AND a.closed_at IS NULL",
    )
    .bind(document.as_uuid())
    .bind(admission.generation.as_uuid())
    .fetch_optional(&mut *c)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let row = Cells::<DB>(&row);
    if row.hash("content_hash")? == admission.content_hash {
        return Ok(Some(Known {
            version: row.id("id", VersionId::from_uuid)?,
            run: None,
            reason: SkipReason::SameContent,
        }));
    }
    match row.word("cause")? {
        // A copy of what serves comes from no source.
        ActivationCause::Rollback if admission.run_type != RunType::Reindex => {
            turned_away::<DB>(c, document, admission).await
        }
        ActivationCause::Rollback | ActivationCause::Run => Ok(None),
    }
}

/// What the source showed last of all that has served, if it shows that again: nothing new has
/// come since the rollback. A generation switched to since mirrors the rollback, not what it
/// turned away: that is looked for in all of them.
async fn turned_away<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    admission: &Admission,
) -> Result<Option<Known>, Error> {
    let sql = format!(
        "SELECT v.content_hash {HAS_SERVED} ORDER BY v.source_order DESC, v.number DESC LIMIT 1"
    );
    let row = query(AssertSqlSafe(sql))
        .bind(document.as_uuid())
        .fetch_optional(&mut *c)
        .await?;
    match row {
        Some(row) if Cells::<DB>(&row).hash("content_hash")? == admission.content_hash => {
            nearest::<DB>(c, document, admission).await
        }
        _ => Ok(None),
    }
}

/// A version `v` of a document that has served. What did before the document was removed counts
/// no more.
const HAS_SERVED: &str = "FROM document_versions v JOIN documents d ON d.id = v.document_id
    WHERE v.document_id = $1 AND (d.removed_at IS NULL OR v.created_at > d.removed_at)
      AND EXISTS (SELECT 1 FROM activations a WHERE a.version_id = v.id)";

/// Of the versions of these bytes the one the admission is for: another generation may have a copy.
async fn nearest<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    admission: &Admission,
) -> Result<Option<Known>, Error> {
    let sql = format!(
        "SELECT v.id {HAS_SERVED} AND v.content_hash = $2
         ORDER BY CASE WHEN v.generation_id = $3 THEN 0 ELSE 1 END,
             v.source_order DESC, v.number DESC LIMIT 1"
    );
    let row = query(AssertSqlSafe(sql))
        .bind(document.as_uuid())
        .bind(bytes(&admission.content_hash))
        .bind(admission.generation.as_uuid())
        .fetch_optional(c)
        .await?;
    let read = |row: DB::Row| {
        Ok(Known {
            version: Cells::<DB>(&row).id("id", VersionId::from_uuid)?,
            run: None,
            reason: SkipReason::RolledBack,
        })
    };
    row.map(read).transpose()
}

/// The source has shown these bytes again: they now stand where it shows them, so that
/// an in-between version that finishes late does not replace them.
async fn skip<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    known: Known,
    admission: &Admission,
) -> Result<Admitted, Error> {
    query(
        "UPDATE document_versions SET
             claimed_directly = CASE WHEN $2 THEN TRUE ELSE claimed_directly END
         WHERE id = $1",
    )
    .bind(known.version.as_uuid())
    .bind(admission.job.is_none())
    .execute(&mut *c)
    .await?;
    place_later::<DB>(c, known.version, &admission.order).await?;
    metadata::add::<DB>(c, known.version, admission).await?;
    if admission.job.is_none() || !admission.metadata.is_empty() {
        witness::restate::<DB>(c, known.version, witness::Part::Said).await?;
    }
    let outcome = Outcome::Skipped {
        reason: known.reason,
    };
    Ok(Admitted {
        document,
        version: known.version,
        run: known.run,
        outcome,
    })
}

/// Shown again since the document was removed, it is to answer as if it had been admitted now. Only
/// its time tells so where the removal has no place in the source's order; no second run of these
/// bytes could begin before this one ends.
async fn come_again<DB: Dialect>(
    c: &mut Tx<DB>,
    locked: &Locked,
    version: VersionId,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let Some(removed_at) = locked.removed_at else {
        return Ok(());
    };
    let at = locked.admitted_at(now);
    let moved = query(
        "UPDATE document_versions SET created_at = $2 WHERE id = $1 AND created_at <= $3
         RETURNING run_id",
    )
    .bind(version.as_uuid())
    .bind(at)
    .bind(removed_at)
    .fetch_optional(&mut *c)
    .await?;
    let Some(row) = moved else { return Ok(()) };
    // Should the version's row be lost, its run tells when it came.
    query("UPDATE ingestion_runs SET created_at = $2 WHERE id = $1")
        .bind(Cells::<DB>(&row).get::<Uuid>("run_id")?)
        .bind(at)
        .execute(c)
        .await?;
    Ok(())
}

/// The version stands where it stood in the source's order, or here if this is later.
async fn place_later<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    order: &SourceOrder,
) -> Result<(), Error> {
    let later = query(
        "UPDATE document_versions SET source_order = $2, order_sum = $3
         WHERE id = $1 AND source_order < $2 RETURNING run_id",
    )
    .bind(version.as_uuid())
    .bind(order.as_str())
    .bind(bytes(&order.sum_for(version)))
    .fetch_optional(&mut *c)
    .await?;
    let Some(row) = later else { return Ok(()) };
    query("UPDATE ingestion_runs SET source_order = $2 WHERE id = $1")
        .bind(Cells::<DB>(&row).get::<Uuid>("run_id")?)
        .bind(order.as_str())
        .execute(c)
        .await?;
    Ok(())
}

async fn begin<DB: Dialect>(
    c: &mut Tx<DB>,
    locked: &Locked,
    admission: &Admission,
    now: DateTime<Utc>,
) -> Result<Admitted, Error> {
    let document = locked.document;
    let version = VersionId::from_uuid(Uuid::now_v7());
    let run = RunId::from_uuid(Uuid::now_v7());
    let at = locked.admitted_at(now);
    insert_version::<DB>(c, document, version, run, admission, at).await?;
    metadata::insert::<DB>(c, admission.kb, version, &admission.metadata).await?;
    metadata::note::<DB>(c, version, admission).await?;
    insert_run::<DB>(c, document, version, run, admission, at).await?;
    // A copy for the generation being built is the document's latest once that serves.
    if admission.run_type != RunType::Reindex {
        query("UPDATE documents SET latest_version = $2, updated_at = $3 WHERE id = $1")
            .bind(document.as_uuid())
            .bind(version.as_uuid())
            .bind(now)
            .execute(&mut *c)
            .await?;
    }
    work::enqueue::<DB>(c, &Step::Prep { version }, now).await?;
    let outcome = if locked.fresh {
        Outcome::New
    } else {
        Outcome::NewVersion
    };
    Ok(Admitted {
        document,
        version,
        run: Some(run),
        outcome,
    })
}

pub async fn next_number<DB: Dialect>(c: &mut Tx<DB>, kb: KbId) -> Result<i64, Error> {
    // Should the count have been lost: no number is given twice.
    let row = query(
        "UPDATE knowledge_bases SET next_number = 1 + (
             SELECT CASE WHEN k.next_number > m.least THEN k.next_number ELSE m.least END
             FROM knowledge_bases k, (SELECT coalesce(max(v.number), -1) + 1 AS least
                 FROM document_versions v WHERE v.kb_id = $1) AS m
             WHERE k.id = $1)
         WHERE id = $1 RETURNING next_number - 1 AS number",
    )
    .bind(kb.as_uuid())
    .fetch_one(c)
    .await?;
    Cells::<DB>(&row).get("number")
}

async fn insert_version<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    version: VersionId,
    run: RunId,
    admission: &Admission,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let number = next_number::<DB>(c, admission.kb).await?;
    query(
        "INSERT INTO document_versions (id, document_id, tenant_id, kb_id, generation_id, run_id,
             number, content_hash, size, media_type, filename, title, metadata, source_order,
             claimed_directly, state, gaps, warnings, created_at, order_sum)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 'pending',
             $16, $16, $17, $18)",
    )
    .bind(version.as_uuid())
    .bind(document.as_uuid())
    .bind(admission.tenant.as_uuid())
    .bind(admission.kb.as_uuid())
    .bind(admission.generation.as_uuid())
    .bind(run.as_uuid())
    .bind(number)
    .bind(bytes(&admission.content_hash))
    .bind(admission.size.cast_signed())
    .bind(admission.media_type.as_deref())
    .bind(text(&admission.filename))
    .bind(admission.title.as_deref().map(text))
    .bind(json(&metadata::clean(&admission.metadata)))
    .bind(admission.order.as_str())
    .bind(admission.job.is_none())
    .bind(json(&Value::Array(Vec::new())))
    .bind(now)
    .bind(bytes(&admission.order.sum_for(version)))
    .execute(c)
    .await?;
    Ok(())
}

async fn insert_run<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    version: VersionId,
    run: RunId,
    admission: &Admission,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    query(
        "INSERT INTO ingestion_runs (id, tenant_id, kb_id, generation_id, document_id, version_id,
             source_uri, content_hash, job_id, source_id, status, run_type, initiated_by, config,
             trace, created_at, updated_at, source_order)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'queued', $11, $12, $13, $14, $15, $15,
             $16)",
    )
    .bind(run.as_uuid())
    .bind(admission.tenant.as_uuid())
    .bind(admission.kb.as_uuid())
    .bind(admission.generation.as_uuid())
    .bind(document.as_uuid())
    .bind(version.as_uuid())
    .bind(admission.source_uri.as_str())
    .bind(bytes(&admission.content_hash))
    .bind(admission.job.map(JobId::as_uuid))
    .bind(admission.source.map(SourceId::as_uuid))
    .bind(admission.run_type.as_str())
    .bind(admission.initiated_by.map(UserId::as_uuid))
    .bind(json(&admission.config))
    .bind(admission.trace.as_deref())
    .bind(now)
    .bind(admission.order.as_str())
    .execute(c)
    .await?;
    Ok(())
}
