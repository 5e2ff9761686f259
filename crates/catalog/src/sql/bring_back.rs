//! What a cancel leaves open in a retired generation alone answers in the serving one again.
//!
//! What was replaced, or removed, before a switch was never built. Where a cancel takes back
//! what replaced or removed it, it is to answer, and is copied as a generation being built
//! copies what serves. From when that is done, and not before: until then it did not. So is what
//! came too late for what is taken back.

use chrono::{DateTime, Utc};
use model::{DocumentId, VersionId};
use sqlx::{AssertSqlSafe, query};

use super::activate::CAME_AFTER;
use super::cells::Cells;
use super::dialect::Dialect;
use super::events::News;
use super::{Tx, admit, alike, generations, versions};
use crate::{Error, Kb};

/// Begins the copy of a document that answers in no generation but retired ones; gives what is
/// to be told of it. The knowledge base is locked, and so is the document.
pub async fn begin<DB: Dialect>(
    c: &mut Tx<DB>,
    kb: &Kb,
    document: DocumentId,
    now: DateTime<Utc>,
) -> Result<Option<News>, Error> {
    let Some(version) = left_behind::<DB>(c, kb, document).await? else {
        return Ok(None);
    };
    let version = versions::one::<DB>(c, kb.tenant, version).await?;
    let admission = generations::copy(&version, &kb.serving);
    let admitted = admit::admit_quietly::<DB>(c, &admission, now).await?;
    alike::make::<DB>(c, version.id, admitted.version).await?;
    // Told of by what it waits for, not by what was ready once.
    query("UPDATE documents SET latest_version = $2, updated_at = $3 WHERE id = $1")
        .bind(document.as_uuid())
        .bind(admitted.version.as_uuid())
        .bind(now)
        .execute(c)
        .await?;
    Ok(Some(admit::news(&admission, &admitted)))
}

/// What answered last of all that is open, or was superseded by nothing that is left, if nothing
/// serves and these bytes are neither under way nor have failed: a switch may have left them behind
/// on purpose.
async fn left_behind<DB: Dialect>(
    c: &mut Tx<DB>,
    kb: &Kb,
    document: DocumentId,
) -> Result<Option<VersionId>, Error> {
    let row = query(AssertSqlSafe(format!(
        "SELECT o.id FROM (SELECT v.id, v.content_hash FROM document_versions v
                 JOIN documents d ON d.id = v.document_id
                 JOIN generations g ON g.id = v.generation_id AND g.state = 'retired'
                 LEFT JOIN activations a ON a.version_id = v.id AND a.generation_id = g.id
                     AND a.closed_at IS NULL
                 WHERE v.document_id = $1 AND (a.id IS NOT NULL
                     OR v.state = 'superseded' AND {CAME_AFTER}
                       AND NOT EXISTS (SELECT 1 FROM activations b
                           JOIN generations h ON h.id = b.generation_id AND h.state = 'retired'
                           JOIN document_versions w ON w.id = b.version_id
                           WHERE b.document_id = $1 AND b.closed_at IS NULL
                             AND (b.cause = 'rollback' OR h.number > g.number
                               OR w.source_order >= v.source_order)))
                 ORDER BY g.number DESC, v.source_order DESC, v.number DESC LIMIT 1) AS o
         WHERE NOT EXISTS (SELECT 1 FROM activations s
                 WHERE s.document_id = $1 AND s.generation_id = $2 AND s.closed_at IS NULL)
           AND NOT EXISTS (SELECT 1 FROM ingestion_runs r
                 WHERE r.document_id = $1 AND r.generation_id = $2
                   AND r.content_hash = o.content_hash
                   AND r.status IN ('queued', 'running', 'failed'))"
    )))
    .bind(document.as_uuid())
    .bind(kb.serving.id.as_uuid())
    .fetch_optional(c)
    .await?;
    row.map(|row| Cells::<DB>(&row).id("id", VersionId::from_uuid))
        .transpose()
}
