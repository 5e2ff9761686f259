//! The ledger: a chain of hashes per document, grown under the document's lock.

use chrono::{DateTime, Utc};
use model::{ContentHash, DocumentId, GenerationId, TenantId, UserId, VersionId};
use sqlx::{AssertSqlSafe, QueryBuilder, query};

use super::cells::{Cells, bytes};
use super::dialect::Dialect;
use super::{Tx, paging};
use crate::{Error, LedgerEntry, LedgerKind, Listed, Page};

/// What is written down; place in the chain and hashes follow.
pub struct Fact {
    pub tenant: TenantId,
    pub document: DocumentId,
    pub kind: LedgerKind,
    pub version: Option<VersionId>,
    pub generation: Option<GenerationId>,
    pub content_hash: Option<ContentHash>,
    pub root_hash: Option<ContentHash>,
    pub by: Option<UserId>,
}

pub async fn append<DB: Dialect>(
    c: &mut Tx<DB>,
    fact: Fact,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let last =
        query("SELECT seq, hash FROM ledger WHERE document_id = $1 ORDER BY seq DESC LIMIT 1")
            .bind(fact.document.as_uuid())
            .fetch_optional(&mut *c)
            .await?;
    let (seq, prev) = match &last {
        Some(row) => (
            Cells::<DB>(row).count("seq")? + 1,
            Some(Cells::<DB>(row).hash("hash")?),
        ),
        None => (1, None),
    };
    let mut entry = LedgerEntry {
        document: fact.document,
        seq,
        kind: fact.kind,
        version: fact.version,
        generation: fact.generation,
        content_hash: fact.content_hash,
        root_hash: fact.root_hash,
        at: now,
        by: fact.by,
        prev,
        hash: ContentHash::from_bytes([0; 32]),
    };
    entry.hash = entry.computed_hash();
    insert::<DB>(c, fact.tenant, &entry).await?;
    query("UPDATE documents SET ledger_head = $2 WHERE id = $1")
        .bind(entry.document.as_uuid())
        .bind(bytes(&entry.hash))
        .execute(c)
        .await?;
    Ok(())
}

async fn insert<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    entry: &LedgerEntry,
) -> Result<(), Error> {
    query(
        "INSERT INTO ledger (document_id, seq, tenant_id, kind, version_id, generation_id,
             content_hash, root_hash, at, by_user, prev, hash)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    )
    .bind(entry.document.as_uuid())
    .bind(entry.seq.cast_signed())
    .bind(tenant.as_uuid())
    .bind(entry.kind.as_str())
    .bind(entry.version.map(VersionId::as_uuid))
    .bind(entry.generation.map(GenerationId::as_uuid))
    .bind(entry.content_hash.as_ref().map(bytes))
    .bind(entry.root_hash.as_ref().map(bytes))
    .bind(entry.at)
    .bind(entry.by.map(UserId::as_uuid))
    .bind(entry.prev.as_ref().map(bytes))
    .bind(bytes(&entry.hash))
    .execute(c)
    .await?;
    Ok(())
}

pub async fn of_document<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    document: DocumentId,
    page: &Page,
) -> Result<Listed<LedgerEntry>, Error> {
    let mut select: QueryBuilder<DB> =
        QueryBuilder::new("SELECT * FROM ledger WHERE document_id = ");
    select.push_bind(document.as_uuid());
    select.push(" AND tenant_id = ");
    select.push_bind(tenant.as_uuid());
    if let Some(seq) = paging::after::<u32>(page)? {
        select.push(" AND seq > ").push_bind(i64::from(seq));
    }
    select.push(" ORDER BY seq");
    let limit = paging::limit(&mut select, page);
    let rows = select.build().fetch_all(c).await?;
    let items = rows.iter().map(read::<DB>).collect::<Result<Vec<_>, _>>()?;
    Ok(paging::cut(items, limit, |entry| entry.seq))
}

pub fn read<DB: Dialect>(row: &DB::Row) -> Result<LedgerEntry, Error> {
    let row = Cells::<DB>(row);
    Ok(LedgerEntry {
        document: row.id("document_id", DocumentId::from_uuid)?,
        seq: row.count("seq")?,
        kind: row.word("kind")?,
        version: row.maybe_id("version_id", VersionId::from_uuid)?,
        generation: row.maybe_id("generation_id", GenerationId::from_uuid)?,
        content_hash: row.maybe_hash("content_hash")?,
        root_hash: row.maybe_hash("root_hash")?,
        at: row.at("at")?,
        by: row.maybe_id("by_user", UserId::from_uuid)?,
        prev: row.maybe_hash("prev")?,
        hash: row.hash("hash")?,
    })
}

/// An entry `l` by which a version has served that was not let go since, for good. When its
/// row is gone all the same, that was an accident, and repair may want what is left of it.
const KEPT: &str = "SELECT l.seq FROM ledger l
    WHERE l.kind IN ('activated', 'rolled_back')
      AND NOT EXISTS (SELECT 1 FROM ledger x WHERE x.document_id = l.document_id
          AND (x.kind = 'purged' OR x.kind = 'removed' AND x.version_id = l.version_id))
      AND l.tenant_id = $1";

pub async fn tells_of<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    version: VersionId,
) -> Result<bool, Error> {
    let sql = format!("{KEPT} AND l.version_id = $2 LIMIT 1");
    let row = query(AssertSqlSafe(sql))
        .bind(tenant.as_uuid())
        .bind(version.as_uuid())
        .fetch_optional(c)
        .await?;
    Ok(row.is_some())
}

/// As [`tells_of`], for any version that is these bytes.
pub async fn tells_of_bytes<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    hash: &ContentHash,
) -> Result<bool, Error> {
    let sql = format!("{KEPT} AND l.content_hash = $2 LIMIT 1");
    let row = query(AssertSqlSafe(sql))
        .bind(tenant.as_uuid())
        .bind(bytes(hash))
        .fetch_optional(c)
        .await?;
    Ok(row.is_some())
}

/// Whether a version that came at this time was let go for good: with its document, or by itself.
pub async fn let_go<DB: Dialect>(
    c: &mut Tx<DB>,
    (document, version): (DocumentId, VersionId),
    since: DateTime<Utc>,
) -> Result<bool, Error> {
    let row = query(
        "SELECT seq FROM ledger WHERE document_id = $1
           AND (kind = 'purged' AND at >= $3 OR kind = 'removed' AND version_id = $2) LIMIT 1",
    )
    .bind(document.as_uuid())
    .bind(version.as_uuid())
    .bind(since)
    .fetch_optional(c)
    .await?;
    Ok(row.is_some())
}
