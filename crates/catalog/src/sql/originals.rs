//! Which originals somebody refers to, and which may be nobody's.

use model::{ContentHash, DocumentId, SourceUri, TenantId, VersionId};
use sqlx::{QueryBuilder, query};

use super::cells::{Cells, bytes};
use super::dialect::Dialect;
use super::{Tx, ledger, noted_runs};
use crate::Error;

/// Hashes named in one statement.
const IN_ONE: usize = 1000;

pub async fn freed<DB: Dialect>(
    c: &mut Tx<DB>,
    limit: u32,
) -> Result<Vec<(TenantId, ContentHash)>, Error> {
    let rows = query("SELECT tenant_id, content_hash FROM freed_originals LIMIT $1")
        .bind(i64::from(limit))
        .fetch_all(c)
        .await?;
    let freed = |row: &DB::Row| {
        let row = Cells::<DB>(row);
        let tenant = row.id("tenant_id", TenantId::from_uuid)?;
        Ok((tenant, row.hash("content_hash")?))
    };
    rows.iter().map(freed).collect()
}

/// Bytes that may be nobody's: their last version was forgotten, or their first is on its way.
pub async fn note<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    hashes: &[ContentHash],
) -> Result<(), Error> {
    for hashes in hashes.chunks(IN_ONE) {
        let mut insert: QueryBuilder<DB> =
            QueryBuilder::new("INSERT INTO freed_originals (tenant_id, content_hash) ");
        insert.push_values(hashes, |mut row, hash| {
            row.push_bind(tenant.as_uuid()).push_bind(bytes(hash));
        });
        insert.push(" ON CONFLICT DO NOTHING");
        insert.build().execute(&mut *c).await?;
    }
    Ok(())
}

pub async fn gone<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    hashes: &[ContentHash],
) -> Result<(), Error> {
    for hashes in hashes.chunks(IN_ONE) {
        let mut delete: QueryBuilder<DB> =
            QueryBuilder::new("DELETE FROM freed_originals WHERE tenant_id = ");
        delete.push_bind(tenant.as_uuid());
        delete.push(" AND content_hash IN (");
        let mut list = delete.separated(", ");
        for hash in hashes {
            list.push_bind(bytes(hash));
        }
        delete.push(")");
        delete.build().execute(&mut *c).await?;
    }
    Ok(())
}

/// Those nobody refers to: neither a version, nor a ledger or a run whose version was lost.
pub async fn unreferenced<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    hashes: Vec<ContentHash>,
) -> Result<Vec<ContentHash>, Error> {
    let mut free = Vec::new();
    for hash in hashes {
        let row = query(
            "SELECT id FROM document_versions WHERE tenant_id = $1 AND content_hash = $2 LIMIT 1",
        )
        .bind(tenant.as_uuid())
        .bind(bytes(&hash))
        .fetch_optional(&mut *c)
        .await?;
        if row.is_none()
            && !ledger::tells_of_bytes::<DB>(c, tenant, &hash).await?
            && !runs_tell_of::<DB>(c, tenant, &hash).await?
        {
            free.push(hash);
        }
    }
    Ok(free)
}

/// Of those, the ones no note of a run tells of either. Every note is read through for one that is
/// left: asked before something is swept away, not while a purge holds its rows.
pub async fn untold<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    hashes: Vec<ContentHash>,
) -> Result<Vec<ContentHash>, Error> {
    let mut free = Vec::new();
    for hash in unreferenced::<DB>(c, tenant, hashes).await? {
        if !noted_runs::tell_of_bytes::<DB>(c, tenant, &hash).await? {
            free.push(hash);
        }
    }
    Ok(free)
}

/// Whether a run brought these bytes that may yet be tried, or came too late to answer: the ledger
/// tells of neither.
async fn runs_tell_of<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    hash: &ContentHash,
) -> Result<bool, Error> {
    let rows = query(
        "SELECT document_id, version_id, created_at FROM ingestion_runs
         WHERE tenant_id = $1 AND content_hash = $2 AND source_uri <> $3
           AND (status IN ('queued', 'running', 'failed') OR superseded)",
    )
    .bind(tenant.as_uuid())
    .bind(bytes(hash))
    .bind(SourceUri::purged().as_str())
    .fetch_all(&mut *c)
    .await?;
    for row in &rows {
        let row = Cells::<DB>(row);
        let document = row.id("document_id", DocumentId::from_uuid)?;
        let version = row.id("version_id", VersionId::from_uuid)?;
        let since = row.at("created_at")?;
        if !ledger::let_go::<DB>(c, (document, version), since).await? {
            return Ok(true);
        }
    }
    Ok(false)
}
