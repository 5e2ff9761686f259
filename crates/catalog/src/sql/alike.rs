//! A version and its copy in another generation: who claims the one claims the other, and what is
//! said of the one is said of the other. A cancel takes both, or neither.

use model::{GenerationId, JobId, VersionId};
use sqlx::{AssertSqlSafe, query};

use super::cells::Cells;
use super::dialect::Dialect;
use super::{Tx, metadata, witness};
use crate::Error;

pub async fn make<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    copy: VersionId,
) -> Result<(), Error> {
    query(
        "UPDATE document_versions SET claimed_directly =
             (SELECT o.claimed_directly FROM document_versions o WHERE o.id = $1)
         WHERE id = $2",
    )
    .bind(version.as_uuid())
    .bind(copy.as_uuid())
    .execute(&mut *c)
    .await?;
    let claims = query(
        "INSERT INTO job_versions (job_id, version_id, outcome)
         SELECT o.job_id, $2, o.outcome FROM job_versions o WHERE o.version_id = $1
         ON CONFLICT DO NOTHING RETURNING job_id, outcome",
    )
    .bind(version.as_uuid())
    .bind(copy.as_uuid())
    .fetch_all(&mut *c)
    .await?;
    for row in &claims {
        let row = Cells::<DB>(row);
        let job = row.id("job_id", JobId::from_uuid)?;
        witness::turn_claim::<DB>(c, copy, job, &row.text("outcome")?).await?;
    }
    metadata::repeat::<DB>(c, version, copy).await?;
    witness::restate::<DB>(c, copy, witness::Part::Said).await
}

/// Those who found a version after it was copied have claimed the one of the serving generation
/// alone: what answers, or what a rollback turns away.
pub async fn catch_up<DB: Dialect>(
    c: &mut Tx<DB>,
    serving: GenerationId,
    building: GenerationId,
) -> Result<(), Error> {
    let rows = query(AssertSqlSafe(format!(
        "SELECT v.id AS version, n.id AS copy
         FROM activations a
         JOIN document_versions v ON v.document_id = a.document_id
           AND (v.id = a.version_id OR a.cause = 'rollback' AND v.id = ({SHOWN_LAST}))
         JOIN document_versions n ON n.document_id = v.document_id
           AND n.generation_id = $2 AND n.content_hash = v.content_hash
         WHERE a.generation_id = $1 AND a.closed_at IS NULL
           AND (n.metadata <> v.metadata OR n.claimed_directly <> v.claimed_directly
             OR EXISTS (SELECT 1 FROM job_versions o WHERE o.version_id = v.id
                 AND NOT EXISTS (SELECT 1 FROM job_versions k
                     WHERE k.version_id = n.id AND k.job_id = o.job_id)))
         ORDER BY v.document_id"
    )))
    .bind(serving.as_uuid())
    .bind(building.as_uuid())
    .fetch_all(&mut *c)
    .await?;
    for row in &rows {
        let row = Cells::<DB>(row);
        let version = row.id("version", VersionId::from_uuid)?;
        make::<DB>(c, version, row.id("copy", VersionId::from_uuid)?).await?;
    }
    Ok(())
}

/// Of the versions of a document that have served in the serving generation, the one its source
/// showed last.
const SHOWN_LAST: &str = "SELECT t.id FROM document_versions t
    WHERE t.document_id = a.document_id AND t.generation_id = $1
      AND EXISTS (SELECT 1 FROM activations s WHERE s.version_id = t.id)
    ORDER BY t.source_order DESC, t.number DESC LIMIT 1";
