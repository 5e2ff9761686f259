//! What came too late serves after all, when what it was too late for is taken back.
//!
//! An older version that ends after a newer one is superseded by it. Where the newer goes with
//! the job that brought it, the older is the newest there is, and must answer as if the other
//! had never been.

use chrono::{DateTime, Utc};
use model::{DocumentId, TenantId, VersionId};
use sqlx::{AssertSqlSafe, query};

use super::cells::Cells;
use super::dialect::Dialect;
use super::{Tx, activate, noted_runs, versions};
use crate::Error;

/// Locks the runs that may turn out to have brought what answers; before any version is.
pub async fn lock_runs<DB: Dialect>(c: &mut Tx<DB>, document: DocumentId) -> Result<(), Error> {
    let sql = format!(
        "SELECT id FROM ingestion_runs WHERE document_id = $1 AND superseded ORDER BY id {}",
        DB::FOR_UPDATE
    );
    query(AssertSqlSafe(sql))
        .bind(document.as_uuid())
        .fetch_all(c)
        .await?;
    Ok(())
}

/// Lets the newest superseded version of a document answer, if nothing supersedes it now; whether
/// it does. The document and its superseded runs are locked.
pub async fn serve<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    document: DocumentId,
    now: DateTime<Utc>,
) -> Result<bool, Error> {
    // A rollback holds until new bytes arrive, and these are older than it.
    let row = query(
        "SELECT v.id FROM document_versions v
         JOIN generations g ON g.id = v.generation_id AND g.state = 'serving'
         WHERE v.document_id = $1 AND v.tenant_id = $2 AND v.state = 'superseded'
           AND NOT EXISTS (SELECT 1 FROM activations a WHERE a.document_id = v.document_id
               AND a.generation_id = v.generation_id AND a.closed_at IS NULL
               AND (a.cause = 'rollback' OR a.version_id = v.id))
         ORDER BY v.source_order DESC, v.number DESC LIMIT 1",
    )
    .bind(document.as_uuid())
    .bind(tenant.as_uuid())
    .fetch_optional(&mut *c)
    .await?;
    let Some(row) = row else { return Ok(false) };
    let version = Cells::<DB>(&row).id("id", VersionId::from_uuid)?;
    let version = versions::one::<DB>(c, tenant, version).await?;
    if !activate::take_up::<DB>(c, &version, now).await? {
        return Ok(false);
    }
    query("UPDATE document_versions SET state = 'ready' WHERE id = $1")
        .bind(version.id.as_uuid())
        .execute(&mut *c)
        .await?;
    let runs = query(
        "UPDATE ingestion_runs SET superseded = FALSE, updated_at = $3
         WHERE document_id = $1 AND version_id = $2 AND superseded RETURNING *",
    )
    .bind(document.as_uuid())
    .bind(version.id.as_uuid())
    .bind(now)
    .fetch_all(&mut *c)
    .await?;
    for run in &runs {
        noted_runs::restate_end::<DB>(c, run).await?;
    }
    Ok(true)
}
