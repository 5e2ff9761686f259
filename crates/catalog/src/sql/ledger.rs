//! The ledger: a chain of hashes per document, grown under the document's lock.

use chrono::{DateTime, Utc};
use model::{ContentHash, DocumentId, GenerationId, TenantId, UserId, VersionId};
use sqlx::{AssertSqlSafe, QueryBuilder, query};
use uuid::Uuid;

use super::cells::{Cells, bytes};
use super::dialect::Dialect;
use super::{Tx, paging};
use crate::records::{end_stands, sum_of_end};
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
    let last = last::<DB>(c, fact.document).await?;
    let seq = last.map_or(1, |(seq, _)| seq + 1);
    // What follows on a lost end must not make the chain whole: the loss would not show any more.
    let known = known_end::<DB>(c, fact.document).await?;
    let prev = known.told().or(last.map(|(_, hash)| hash));
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
    know_end::<DB>(c, entry.document, &entry.hash).await
}

/// The last entry that is there: its place, and its hash.
async fn last<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
) -> Result<Option<(u64, ContentHash)>, Error> {
    let row =
        query("SELECT seq, hash FROM ledger WHERE document_id = $1 ORDER BY seq DESC LIMIT 1")
            .bind(document.as_uuid())
            .fetch_optional(c)
            .await?;
    let read = |row| {
        let row = Cells::<DB>(&row);
        Ok((row.count("seq")?, row.hash("hash")?))
    };
    row.map(read).transpose()
}

/// The end of a ledger, as its document's row knows it.
#[derive(Default)]
struct KnownEnd {
    head: Option<ContentHash>,
    /// Whether that is what was written down; `None` where nobody can tell.
    stands: Option<bool>,
}

impl KnownEnd {
    fn told(&self) -> Option<ContentHash> {
        self.head.filter(|_| self.stands != Some(false))
    }
}

async fn known_end<DB: Dialect>(c: &mut Tx<DB>, document: DocumentId) -> Result<KnownEnd, Error> {
    let row = query("SELECT ledger_head, ledger_sum FROM documents WHERE id = $1")
        .bind(document.as_uuid())
        .fetch_optional(c)
        .await?;
    let Some(row) = row else {
        return Ok(KnownEnd::default());
    };
    let row = Cells::<DB>(&row);
    // What is no hash is not what was written down.
    let Ok(head) = row.maybe_hash("ledger_head") else {
        return Ok(KnownEnd::default());
    };
    let stands = match row.maybe_hash("ledger_sum") {
        Ok(sum) => end_stands(document, head, sum),
        Err(_) => None,
    };
    Ok(KnownEnd { head, stands })
}

async fn know_end<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    hash: &ContentHash,
) -> Result<(), Error> {
    query("UPDATE documents SET ledger_head = $2, ledger_sum = $3 WHERE id = $1")
        .bind(document.as_uuid())
        .bind(bytes(hash))
        .bind(bytes(&sum_of_end(document, hash)))
        .execute(c)
        .await?;
    Ok(())
}

/// Lets a document's row know the end of its ledger again. One that it knows and that is not there
/// is lost: that stays known.
pub async fn restate_end<DB: Dialect>(c: &mut Tx<DB>, document: DocumentId) -> Result<(), Error> {
    let last = last::<DB>(c, document).await?.map(|(_, hash)| hash);
    let known = known_end::<DB>(c, document).await?.told();
    match last {
        Some(hash) if known.is_none_or(|known| known == hash) => {
            know_end::<DB>(c, document, &hash).await
        }
        Some(_) => Ok(()),
        None if known.is_some() => Ok(()),
        None => forget_end::<DB>(c, document).await,
    }
}

async fn forget_end<DB: Dialect>(c: &mut Tx<DB>, document: DocumentId) -> Result<(), Error> {
    query("UPDATE documents SET ledger_head = NULL, ledger_sum = NULL WHERE id = $1")
        .bind(document.as_uuid())
        .execute(c)
        .await?;
    Ok(())
}

/// All of a document's ledger is its tenant's.
pub async fn give_back<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, document): (TenantId, DocumentId),
) -> Result<(), Error> {
    query("UPDATE ledger SET tenant_id = $2 WHERE document_id = $1 AND tenant_id <> $2")
        .bind(document.as_uuid())
        .bind(tenant.as_uuid())
        .execute(c)
        .await?;
    Ok(())
}

/// Sums up the ends there are, when sums of them are new to a catalog. One that a ledger has lost
/// by then is left without.
pub async fn sum_all<DB: Dialect>(c: &mut Tx<DB>) -> Result<(), Error> {
    const AT_ONCE: usize = 200;
    let mut after = Uuid::nil();
    loop {
        let rows = query("SELECT id FROM documents WHERE id > $1 ORDER BY id LIMIT $2")
            .bind(after)
            .bind(AT_ONCE as i64)
            .fetch_all(&mut *c)
            .await?;
        for row in &rows {
            let Ok(id) = Cells::<DB>(row).get("id") else {
                continue;
            };
            after = id;
            sum_up::<DB>(c, DocumentId::from_uuid(id)).await?;
        }
        if rows.len() < AT_ONCE {
            return Ok(());
        }
    }
}

async fn sum_up<DB: Dialect>(c: &mut Tx<DB>, document: DocumentId) -> Result<(), Error> {
    // An entry nobody can read is named for that.
    let Ok(Some((_, last))) = last::<DB>(c, document).await else {
        return Ok(());
    };
    match known_end::<DB>(c, document).await?.head {
        Some(known) if known == last => know_end::<DB>(c, document, &last).await,
        _ => Ok(()),
    }
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
