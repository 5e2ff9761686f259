//! Versions that stop answering: deactivated, purged, or removed with the job that brought them.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use model::{
    ContentHash, DocumentId, GenerationId, KbId, RunId, RunStatus, SourceOrder, TenantId, UserId,
    VersionId,
};
use sqlx::{AssertSqlSafe, query};
use uuid::Uuid;

use super::activate::{close, lock_document, lock_if_there, next_change, touch};
use super::cells::Cells;
use super::dialect::Dialect;
use super::events::{News, tell};
use super::ledger::{self, Fact};
use super::{Tx, end, noted_documents, originals, unsay};
use crate::{Deactivated, Error, Former, LedgerKind, Removal, Removing, RunError};

pub async fn deactivate<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    document: DocumentId,
    removal: &Removal,
    now: DateTime<Utc>,
) -> Result<Deactivated, Error> {
    lock_document::<DB>(c, tenant, document).await?;
    let open = open_activations::<DB>(c, document).await?;
    if let Some(order) = &removal.order
        && open.iter().any(|open| open.order.as_str() > order.as_str())
    {
        return Ok(Deactivated::Stale);
    }
    let at = removed_at::<DB>(c, document, now).await?;
    close_all::<DB>(c, (tenant, document), &open, removal, at).await?;
    if open.is_empty() {
        return Ok(Deactivated::NothingOpen);
    }
    tell::<DB>(c, news(tenant, document, "document.deactivated"), now).await?;
    Ok(Deactivated::Closed)
}

/// When a document is removed now: not before any of its versions was admitted, whatever the
/// clock says, as they are told apart by that.
pub async fn removed_at<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    now: DateTime<Utc>,
) -> Result<DateTime<Utc>, Error> {
    let row = query("SELECT max(created_at) AS last FROM document_versions WHERE document_id = $1")
        .bind(document.as_uuid())
        .fetch_one(c)
        .await?;
    let last = Cells::<DB>(&row).maybe_at("last")?;
    Ok(last.map_or(now, |last| now.max(last)))
}

/// The document is removed, and closed where it is open. Told by whoever asks for it.
pub async fn close_all<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, document): (TenantId, DocumentId),
    open: &[Open],
    removal: &Removal,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let order = removal.order.as_ref();
    query("UPDATE documents SET removed_at = $2, removed_order = $3 WHERE id = $1")
        .bind(document.as_uuid())
        .bind(now)
        .bind(order.map(|order| order.as_str().to_owned()))
        .execute(&mut *c)
        .await?;
    let order = order.map(SourceOrder::as_str);
    noted_documents::restate_removal::<DB>(c, document, Some(now), order).await?;
    if open.is_empty() {
        return Ok(());
    }
    for open in open {
        let change = next_change::<DB>(c, open.generation).await?;
        close::<DB>(c, document, open.generation, change, now).await?;
    }
    touch::<DB>(c, document, now).await?;
    let kind = LedgerKind::Deactivated;
    write_down::<DB>(c, tenant, document, kind, removal.by, now).await
}

pub struct Open {
    generation: GenerationId,
    order: String,
}

pub async fn open_activations<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
) -> Result<Vec<Open>, Error> {
    let rows = query(
        "SELECT a.generation_id, v.source_order FROM activations a
         JOIN document_versions v ON v.id = a.version_id
         WHERE a.document_id = $1 AND a.closed_at IS NULL ORDER BY a.generation_id",
    )
    .bind(document.as_uuid())
    .fetch_all(c)
    .await?;
    let read = |row| {
        let row = Cells::<DB>(row);
        let generation = row.id("generation_id", GenerationId::from_uuid)?;
        Ok(Open {
            generation,
            order: row.text("source_order")?,
        })
    };
    rows.iter().map(read).collect()
}

async fn write_down<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    document: DocumentId,
    kind: LedgerKind,
    by: Option<UserId>,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let fact = Fact {
        tenant,
        document,
        kind,
        version: None,
        generation: None,
        content_hash: None,
        root_hash: None,
        by,
    };
    ledger::append::<DB>(c, fact, now).await
}

pub fn news(tenant: TenantId, document: DocumentId, kind: &'static str) -> News {
    News {
        tenant,
        kind,
        run: None,
        document: Some(document),
        job: None,
        data: serde_json::json!({}),
    }
}

/// Ends everything of a document; its versions may then be forgotten.
pub async fn begin_purge<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    document: DocumentId,
    by: Option<UserId>,
    now: DateTime<Utc>,
) -> Result<Vec<Removing>, Error> {
    lock_document::<DB>(c, tenant, document).await?;
    let former_selves = unsay::take_over::<DB>(c, tenant, document).await?;
    let now = purged_at::<DB>(c, document, now).await?;
    let rows = query(AssertSqlSafe(format!(
        "{REMOVING} WHERE v.document_id = $1 ORDER BY v.id"
    )))
    .bind(document.as_uuid())
    .fetch_all(&mut *c)
    .await?;
    let removing = rows.iter().map(read::<DB>).collect::<Result<Vec<_>, _>>()?;
    query("UPDATE documents SET removed_at = $2, removed_order = NULL WHERE id = $1")
        .bind(document.as_uuid())
        .bind(now)
        .execute(&mut *c)
        .await?;
    noted_documents::restate_removal::<DB>(c, document, Some(now), None).await?;
    lock_runs::<DB>(c, &removing).await?;
    for version in &removing {
        withdraw::<DB>(c, version).await?;
    }
    for lost in former::<DB>(c, tenant, document).await? {
        take_back::<DB>(c, (document, lost.version), lost.generation).await?;
    }
    for version in &removing {
        end_runs::<DB>(c, version, "the document was purged", now).await?;
    }
    write_down::<DB>(c, tenant, document, LedgerKind::Purged, by, now).await?;
    for former in former_selves {
        former.unsay_in_passing::<DB>(c).await?;
    }
    tell::<DB>(c, news(tenant, document, "document.purged"), now).await?;
    Ok(removing)
}

/// When a document is purged now: as [`removed_at`], and not before any run of it began, for what
/// came since is not purged.
async fn purged_at<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    now: DateTime<Utc>,
) -> Result<DateTime<Utc>, Error> {
    let now = removed_at::<DB>(c, document, now).await?;
    let row = query("SELECT max(created_at) AS last FROM ingestion_runs WHERE document_id = $1")
        .bind(document.as_uuid())
        .fetch_one(c)
        .await?;
    let last = Cells::<DB>(&row).maybe_at("last")?;
    Ok(last.map_or(now, |last| now.max(last)))
}

/// Withdrawn and not forgotten, of documents whose ledger tells of their purge since they came.
pub async fn purging<DB: Dialect>(c: &mut Tx<DB>, limit: u32) -> Result<Vec<Removing>, Error> {
    let rows = query(AssertSqlSafe(format!(
        "{REMOVING} WHERE {WITHDRAWN} AND EXISTS (SELECT 1 FROM ledger l
             WHERE l.document_id = v.document_id AND l.kind = 'purged'
               AND l.at >= v.created_at)
         ORDER BY v.id LIMIT $1"
    )))
    .bind(i64::from(limit))
    .fetch_all(c)
    .await?;
    rows.iter().map(read::<DB>).collect()
}

const WITHDRAWN: &str = "v.state = 'canceled'
    AND NOT EXISTS (SELECT 1 FROM activations a WHERE a.version_id = v.id)";

pub const REMOVING: &str = "SELECT v.id, v.tenant_id, v.kb_id, v.generation_id, v.document_id,
        v.number, v.content_hash, v.run_id
    FROM document_versions v";

pub fn read<DB: Dialect>(row: &DB::Row) -> Result<Removing, Error> {
    let row = Cells::<DB>(row);
    Ok(Removing {
        tenant: row.id("tenant_id", TenantId::from_uuid)?,
        kb: row.id("kb_id", KbId::from_uuid)?,
        generation: row.id("generation_id", GenerationId::from_uuid)?,
        document: row.id("document_id", DocumentId::from_uuid)?,
        version: row.id("id", VersionId::from_uuid)?,
        number: row.small("number")?,
        content_hash: row.hash("content_hash")?,
    })
}

pub async fn lock_runs<DB: Dialect>(c: &mut Tx<DB>, versions: &[Removing]) -> Result<(), Error> {
    let sql = format!(
        "SELECT id FROM ingestion_runs WHERE document_id = $1 AND version_id = $2 {}",
        DB::FOR_UPDATE
    );
    for version in versions {
        query(AssertSqlSafe(sql.clone()))
            .bind(version.document.as_uuid())
            .bind(version.version.as_uuid())
            .fetch_all(&mut *c)
            .await?;
    }
    Ok(())
}

/// Takes the version's activations out of history. Document and runs are locked.
pub async fn withdraw<DB: Dialect>(c: &mut Tx<DB>, version: &Removing) -> Result<(), Error> {
    let of = (version.document, version.version);
    take_back::<DB>(c, of, version.generation).await?;
    query("UPDATE document_versions SET state = 'canceled' WHERE id = $1")
        .bind(version.version.as_uuid())
        .execute(c)
        .await?;
    Ok(())
}

/// Cancels the version's run, if it lives.
pub async fn end_runs<DB: Dialect>(
    c: &mut Tx<DB>,
    version: &Removing,
    why: &str,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let rows = query("SELECT id FROM ingestion_runs WHERE document_id = $1 AND version_id = $2")
        .bind(version.document.as_uuid())
        .bind(version.version.as_uuid())
        .fetch_all(&mut *c)
        .await?;
    for row in &rows {
        let run = Cells::<DB>(row).id("id", RunId::from_uuid)?;
        let canceled = RunStatus::Canceled;
        end::give_up::<DB>(c, (run, version.version), canceled, called_off(why), now).await?;
    }
    Ok(())
}

pub fn called_off(why: &str) -> RunError {
    RunError {
        code: "canceled".into(),
        message: why.to_owned(),
        hint: None,
    }
}

/// Removes the version's activations. What each had replaced serves on to where it ended:
/// to this day, if it was open.
async fn take_back<DB: Dialect>(
    c: &mut Tx<DB>,
    (document, version): (DocumentId, VersionId),
    generation: GenerationId,
) -> Result<(), Error> {
    loop {
        let row = query(
            "SELECT id, replaced, closed_at FROM activations WHERE version_id = $1
             ORDER BY opened_at DESC, id DESC LIMIT 1",
        )
        .bind(version.as_uuid())
        .fetch_optional(&mut *c)
        .await?;
        let Some(row) = row else { return Ok(()) };
        let change = next_change::<DB>(c, generation).await?;
        let row = Cells::<DB>(&row);
        let (id, before): (Uuid, Option<Uuid>) = (row.get("id")?, row.get("replaced")?);
        let closed_at = row.maybe_at("closed_at")?;
        // First out, then on: at no moment may two be open.
        query("UPDATE activations SET replaced = $2 WHERE replaced = $1 AND document_id = $3")
            .bind(id)
            .bind(before)
            .bind(document.as_uuid())
            .execute(&mut *c)
            .await?;
        query("DELETE FROM activations WHERE id = $1")
            .bind(id)
            .execute(&mut *c)
            .await?;
        query("UPDATE activations SET closed_at = $2, change = $3 WHERE id = $1")
            .bind(before)
            .bind(closed_at)
            .bind(change)
            .execute(&mut *c)
            .await?;
        query("UPDATE generations SET rebuilt = changes WHERE id = $1")
            .bind(generation.as_uuid())
            .execute(&mut *c)
            .await?;
    }
}

/// Deletes the rows of versions the index has forgotten, and documents left without any.
pub async fn forget<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    versions: &[VersionId],
) -> Result<Vec<ContentHash>, Error> {
    let mut found = Vec::with_capacity(versions.len());
    for version in versions {
        found.extend(forgettable::<DB>(c, tenant, *version).await?);
    }
    found.sort_by_key(|version| version.document);
    let mut removing = Vec::with_capacity(found.len());
    for version in found {
        // Somebody else may have forgotten it, or given it another run, meanwhile.
        lock_if_there::<DB>(c, tenant, version.document).await?;
        removing.extend(forgettable::<DB>(c, tenant, version.version).await?);
    }
    let called = unsay::called::<DB>(c, &removing).await?;
    let is_purged = |version: &&Removing| called.iter().any(|called| called.is(version));
    let purged = removing.iter().filter(is_purged);
    let purged: BTreeSet<_> = purged.map(|version| version.document).collect();
    let lost = lost::<DB>(c, tenant, &purged).await?;
    // Before the document that others of their rows refer to.
    for version in &lost {
        forget_rows::<DB>(c, version.version).await?;
    }
    for version in &removing {
        if called.iter().any(|called| called.is(version)) {
            unsay::runs::<DB>(c, version).await?;
        }
        forget_one::<DB>(c, version).await?;
    }
    for called in called {
        called.unsay::<DB>(c).await?;
    }
    let mut hashes: Vec<_> = removing
        .iter()
        .map(|version| version.content_hash)
        .chain(lost.iter().map(|version| version.content_hash))
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    let freed = originals::unreferenced::<DB>(c, tenant, hashes).await?;
    originals::note::<DB>(c, tenant, &freed).await?;
    Ok(freed)
}

/// A version that has been withdrawn; `None` for any other, and for one forgotten before.
async fn forgettable<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    version: VersionId,
) -> Result<Option<Removing>, Error> {
    let sql = format!("{REMOVING} WHERE v.id = $1 AND v.tenant_id = $2 AND {WITHDRAWN}");
    let row = query(AssertSqlSafe(sql))
        .bind(version.as_uuid())
        .bind(tenant.as_uuid())
        .fetch_optional(c)
        .await?;
    row.as_ref().map(read::<DB>).transpose()
}

/// Where a withdrawn version has rows, by the column that names it; the one others refer to
/// comes last. Of its activations it has none: being withdrawn takes them out of history.
const TABLES: [(&str, &str); 10] = [
    ("work", "version_id"),
    ("dead_letters", "version_id"),
    ("replayed_letters", "version_id"),
    ("job_versions", "version_id"),
    ("document_units", "version_id"),
    ("pages", "version_id"),
    ("version_metadata", "version_id"),
    ("metadata_given", "version_id"),
    ("version_witnesses", "version_id"),
    ("document_versions", "id"),
];

pub async fn rows_left<DB: Dialect>(c: &mut Tx<DB>, versions: &[VersionId]) -> Result<u64, Error> {
    let mut left = 0;
    for version in versions {
        for (table, column) in TABLES {
            let sql = format!("SELECT count(*) AS rows_left FROM {table} WHERE {column} = $1");
            let row = query(AssertSqlSafe(sql)).bind(version.as_uuid());
            let row = row.fetch_one(&mut *c).await?;
            left += Cells::<DB>(&row).count("rows_left")?;
        }
    }
    Ok(left)
}

const FORMER: &str =
    "SELECT DISTINCT r.kb_id, r.generation_id, r.version_id, r.content_hash FROM ingestion_runs r
    WHERE r.tenant_id = $1 AND r.document_id = $2
      AND NOT EXISTS (SELECT 1 FROM document_versions v WHERE v.id = r.version_id)";

pub async fn former<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    document: DocumentId,
) -> Result<Vec<Former>, Error> {
    former_by::<DB>(c, FORMER.to_owned(), (tenant, document)).await
}

/// Versions of purged documents that have no row to be forgotten by, of which others may be left. One
/// that came since its document was purged is new.
async fn lost<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    purged: &BTreeSet<DocumentId>,
) -> Result<Vec<Former>, Error> {
    let mut lost = Vec::new();
    for document in purged {
        let sql = format!(
            "{FORMER} AND EXISTS (SELECT 1 FROM ledger l WHERE l.document_id = r.document_id
                 AND l.kind = 'purged' AND l.at >= r.created_at)"
        );
        lost.extend(former_by::<DB>(c, sql, (tenant, *document)).await?);
    }
    Ok(lost)
}

async fn former_by<DB: Dialect>(
    c: &mut Tx<DB>,
    sql: String,
    (tenant, document): (TenantId, DocumentId),
) -> Result<Vec<Former>, Error> {
    let rows = query(AssertSqlSafe(sql))
        .bind(tenant.as_uuid())
        .bind(document.as_uuid())
        .fetch_all(c)
        .await?;
    let read = |row| {
        let row = Cells::<DB>(row);
        Ok(Former {
            kb: row.id("kb_id", KbId::from_uuid)?,
            generation: row.id("generation_id", GenerationId::from_uuid)?,
            version: row.id("version_id", VersionId::from_uuid)?,
            content_hash: row.hash("content_hash")?,
        })
    };
    rows.iter().map(read).collect()
}

async fn forget_rows<DB: Dialect>(c: &mut Tx<DB>, version: VersionId) -> Result<(), Error> {
    for (table, column) in TABLES {
        let sql = format!("DELETE FROM {table} WHERE {column} = $1");
        query(AssertSqlSafe(sql))
            .bind(version.as_uuid())
            .execute(&mut *c)
            .await?;
    }
    Ok(())
}

async fn forget_one<DB: Dialect>(c: &mut Tx<DB>, version: &Removing) -> Result<(), Error> {
    forget_rows::<DB>(c, version.version).await?;
    let document = version.document.as_uuid();
    if let Some(mark) = DB::MARK_PURGED {
        query(mark).bind(document).execute(&mut *c).await?;
    }
    query(
        "UPDATE documents SET latest_version =
             (SELECT v.id FROM document_versions v WHERE v.document_id = documents.id
              ORDER BY v.number DESC LIMIT 1)
         WHERE id = $1",
    )
    .bind(document)
    .execute(&mut *c)
    .await?;
    for sql in [
        "DELETE FROM source_objects WHERE (source_id, object_key) IN
             (SELECT source_id, source_uri FROM documents
              WHERE id = $1 AND latest_version IS NULL)",
        "DELETE FROM job_removals WHERE document_id IN
             (SELECT id FROM documents WHERE id = $1 AND latest_version IS NULL)",
        "DELETE FROM documents WHERE id = $1 AND latest_version IS NULL",
        "DELETE FROM witnesses WHERE owner = $1
             AND NOT EXISTS (SELECT 1 FROM documents WHERE id = $1)",
    ] {
        query(sql).bind(document).execute(&mut *c).await?;
    }
    Ok(())
}
