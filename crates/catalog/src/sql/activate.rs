//! Activation: the only moment anything becomes visible, and never a step backwards.

use chrono::{DateTime, Utc};
use model::{ContentHash, DocumentId, GenerationId, SourceOrder, TenantId, UserId, VersionId};
use sqlx::{AssertSqlSafe, query};
use uuid::Uuid;

use super::cells::{Cells, bytes};
use super::claim::holds;
use super::dialect::Dialect;
use super::end::{End, end_run};
use super::events::{News, tell};
use super::ledger::{self, Fact};
use super::{Tx, noted_documents, versions, witness};
use crate::{
    Activated, Activation, ActivationCause, Claim, Error, GenerationState, LedgerKind, Version,
    VersionState,
};

pub async fn activate<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
    activation: &Activation,
    now: DateTime<Utc>,
) -> Result<Activated, Error> {
    let Some(removal) = removal::<DB>(c, claim.tenant, claim.document).await? else {
        // Purged, or removed with the job that brought it.
        return Err(Error::Fenced { work: claim.work });
    };
    if !holds::<DB>(c, claim).await? {
        return answered_before::<DB>(c, claim, activation).await;
    }
    let version = versions::one::<DB>(c, claim.tenant, activation.version).await?;
    if version.pass != activation.pass || version.units_open > 0 {
        return Err(Error::Fenced { work: claim.work });
    }
    let opens = opens::<DB>(c, &version, &removal, now).await?;
    let overtaken = opens.is_none();
    record::<DB>(c, claim, activation, overtaken).await?;
    witness::write::<DB>(c, activation.version).await?;
    if let Some((cause, from)) = opens {
        let serving = Serving {
            cause,
            from,
            by: None,
            activation,
        };
        open::<DB>(c, &version, serving, now).await?;
    }
    end_run::<DB>(
        c,
        claim.run,
        End::succeeded(overtaken, activation.stats),
        now,
    )
    .await?;
    Ok(if overtaken {
        Activated::Superseded
    } else {
        Activated::Active
    })
}

/// The answer this claim's Finalize was given, when only the answer was lost.
async fn answered_before<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
    activation: &Activation,
) -> Result<Activated, Error> {
    let row = query("SELECT state FROM document_versions WHERE id = $1 AND final_token = $2")
        .bind(activation.version.as_uuid())
        .bind(claim.token.cast_signed())
        .fetch_optional(c)
        .await?
        .ok_or(Error::Fenced { work: claim.work })?;
    match Cells::<DB>(&row).word("state")? {
        VersionState::Superseded => Ok(Activated::Superseded),
        _ => Ok(Activated::Active),
    }
}

/// The version `v` came after its document `d` was last removed: as [`Removal::overtakes`] tells.
pub const CAME_AFTER: &str =
    "CASE WHEN d.removed_order IS NOT NULL THEN v.source_order > d.removed_order
    WHEN d.removed_at IS NOT NULL THEN v.created_at > d.removed_at ELSE TRUE END";

/// When and where in the source's order the document was last removed.
#[derive(Default)]
pub struct Removal {
    at: Option<DateTime<Utc>>,
    order: Option<SourceOrder>,
}

impl Removal {
    /// Whether the removal came after the version: by the source's order where the
    /// removal has a place in it, by time of admission otherwise.
    fn overtakes(&self, version: &Version) -> bool {
        match (&self.order, self.at) {
            (Some(order), _) => version.order <= *order,
            (None, Some(at)) => version.created_at <= at,
            (None, None) => false,
        }
    }
}

pub async fn lock_document<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    document: DocumentId,
) -> Result<(), Error> {
    let found = removal::<DB>(c, tenant, document).await?;
    found
        .map(drop)
        .ok_or_else(|| Error::not_found("document", document))
}

/// Locks the document; whether there is one.
pub async fn lock_if_there<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    document: DocumentId,
) -> Result<bool, Error> {
    Ok(removal::<DB>(c, tenant, document).await?.is_some())
}

/// Locks the document and reads when it was removed; `None` when it is not there.
async fn removal<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    document: DocumentId,
) -> Result<Option<Removal>, Error> {
    let sql = format!(
        "SELECT removed_at, removed_order FROM documents WHERE id = $1 AND tenant_id = $2 {}",
        DB::FOR_UPDATE
    );
    let row = query(AssertSqlSafe(sql))
        .bind(document.as_uuid())
        .bind(tenant.as_uuid())
        .fetch_optional(c)
        .await?;
    let read = |row: DB::Row| {
        let row = Cells::<DB>(&row);
        let order = row.maybe_text("removed_order")?;
        Ok(Removal {
            at: row.maybe_at("removed_at")?,
            order: order.map(SourceOrder::from_stored),
        })
    };
    row.map(read).transpose()
}

/// Why and from when the version serves; `None` when it was overtaken. In a generation being
/// built a version serves as what it is a copy of: as long as that does, since then and for
/// the same cause.
async fn opens<DB: Dialect>(
    c: &mut Tx<DB>,
    version: &Version,
    removal: &Removal,
    now: DateTime<Utc>,
) -> Result<Option<(ActivationCause, DateTime<Utc>)>, Error> {
    if removal.overtakes(version) {
        return Ok(None);
    }
    if version.generation.state == GenerationState::Building {
        return mirrored::<DB>(c, version).await;
    }
    let overtaken = newer::<DB>(c, version, removal).await?;
    Ok((!overtaken).then_some((ActivationCause::Run, now)))
}

/// Why and since when the serving generation answers with these bytes.
async fn mirrored<DB: Dialect>(
    c: &mut Tx<DB>,
    version: &Version,
) -> Result<Option<(ActivationCause, DateTime<Utc>)>, Error> {
    let row = query(
        "SELECT a.cause, a.opened_at FROM activations a
         JOIN generations g ON g.id = a.generation_id AND g.state = 'serving'
         JOIN document_versions v ON v.id = a.version_id
         WHERE a.document_id = $1 AND a.closed_at IS NULL AND v.content_hash = $2",
    )
    .bind(version.document.as_uuid())
    .bind(bytes(&version.content_hash))
    .fetch_optional(c)
    .await?;
    let read = |row: DB::Row| {
        let row = Cells::<DB>(&row);
        Ok((row.word("cause")?, row.at("opened_at")?))
    };
    row.map(read).transpose()
}

/// Whether a version that has served stands after this one in the source's order. What
/// served before the document was removed counts no more.
async fn newer<DB: Dialect>(
    c: &mut Tx<DB>,
    version: &Version,
    removal: &Removal,
) -> Result<bool, Error> {
    let row = query(
        "SELECT v.number FROM activations a JOIN document_versions v ON v.id = a.version_id
         WHERE a.document_id = $1 AND a.generation_id = $2
           AND (v.source_order > $3 OR (v.source_order = $3 AND v.number > $4))
           AND v.created_at > $5
         LIMIT 1",
    )
    .bind(version.document.as_uuid())
    .bind(version.generation.id.as_uuid())
    .bind(version.order.as_str())
    .bind(i64::from(version.number))
    .bind(removal.at.unwrap_or(DateTime::UNIX_EPOCH))
    .fetch_optional(c)
    .await?;
    Ok(row.is_some())
}

async fn record<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
    activation: &Activation,
    overtaken: bool,
) -> Result<(), Error> {
    let state = if overtaken {
        VersionState::Superseded
    } else {
        VersionState::Ready
    };
    query(
        "UPDATE document_versions SET state = $2, final_token = $3, needs_flush = $4,
             root_hash = $5, chunks = $6, tokens = $7
         WHERE id = $1",
    )
    .bind(activation.version.as_uuid())
    .bind(state.as_str())
    .bind(claim.token.cast_signed())
    .bind(activation.flush.cast_signed())
    .bind(bytes(&activation.root_hash))
    .bind(activation.stats.chunks_created.cast_signed())
    .bind(activation.stats.tokens_total.cast_signed())
    .execute(c)
    .await?;
    Ok(())
}

/// How a version comes to serve.
struct Serving<'a> {
    cause: ActivationCause,
    from: DateTime<Utc>,
    by: Option<UserId>,
    activation: &'a Activation,
}

/// Closes what served and opens the version, under the document's lock.
async fn open<DB: Dialect>(
    c: &mut Tx<DB>,
    version: &Version,
    serving: Serving<'_>,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let change = next_change::<DB>(c, version.generation.id).await?;
    let from = serving.from;
    let closed = close::<DB>(c, version.document, version.generation.id, change, from).await?;
    let opened_at = last_closed::<DB>(c, version)
        .await?
        .map_or(from, |closed| from.max(closed));
    query(
        "INSERT INTO activations (id, tenant_id, kb_id, generation_id, document_id, version_id,
             number, needs_flush, chunks, cause, opened_by, replaced, change, opened_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
    )
    .bind(Uuid::now_v7())
    .bind(version.tenant.as_uuid())
    .bind(version.kb.as_uuid())
    .bind(version.generation.id.as_uuid())
    .bind(version.document.as_uuid())
    .bind(version.id.as_uuid())
    .bind(i64::from(version.number))
    .bind(serving.activation.flush.cast_signed())
    .bind(serving.activation.stats.chunks_created.cast_signed())
    .bind(serving.cause.as_str())
    .bind(serving.by.map(UserId::as_uuid))
    .bind(closed)
    .bind(change)
    .bind(opened_at)
    .execute(&mut *c)
    .await?;
    touch::<DB>(c, version.document, now).await?;
    // The ledger tells since when, so that what must have answered can be told by it alone.
    ledger::append::<DB>(c, fact(version, &serving), from).await
}

/// When the document was last closed in the version's generation: history goes on from there,
/// whatever the clock says.
async fn last_closed<DB: Dialect>(
    c: &mut Tx<DB>,
    version: &Version,
) -> Result<Option<DateTime<Utc>>, Error> {
    // An index by time would be walked past all other documents; this one asks for none.
    let row = query(
        "SELECT max(coalesce(closed_at, opened_at)) AS last FROM activations
         WHERE document_id = $1 AND generation_id = $2",
    )
    .bind(version.document.as_uuid())
    .bind(version.generation.id.as_uuid())
    .fetch_one(c)
    .await?;
    Cells::<DB>(&row).maybe_at("last")
}

fn fact(version: &Version, serving: &Serving<'_>) -> Fact {
    Fact {
        tenant: version.tenant,
        document: version.document,
        kind: match serving.cause {
            ActivationCause::Run => LedgerKind::Activated,
            ActivationCause::Rollback => LedgerKind::RolledBack,
        },
        version: Some(version.id),
        generation: Some(version.generation.id),
        content_hash: Some(version.content_hash),
        root_hash: Some(serving.activation.root_hash),
        by: serving.by,
    }
}

pub async fn touch<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    query("UPDATE documents SET updated_at = $2 WHERE id = $1")
        .bind(document.as_uuid())
        .bind(now)
        .execute(c)
        .await?;
    Ok(())
}

/// The number of the change that is about to be made to what answers.
pub async fn next_change<DB: Dialect>(
    c: &mut Tx<DB>,
    generation: GenerationId,
) -> Result<i64, Error> {
    let row = query("UPDATE generations SET changes = changes + 1 WHERE id = $1 RETURNING changes")
        .bind(generation.as_uuid())
        .fetch_one(c)
        .await?;
    Cells::<DB>(&row).get("changes")
}

/// Closes the activation that serves, if any does. Never before it was opened, whatever the clock says.
pub async fn close<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    generation: GenerationId,
    change: i64,
    now: DateTime<Utc>,
) -> Result<Option<Uuid>, Error> {
    let row = query(
        "UPDATE activations SET change = $3,
             closed_at = CASE WHEN opened_at > $4 THEN opened_at ELSE $4 END
         WHERE document_id = $1 AND generation_id = $2 AND closed_at IS NULL
         RETURNING id",
    )
    .bind(document.as_uuid())
    .bind(generation.as_uuid())
    .bind(change)
    .bind(now)
    .fetch_optional(c)
    .await?;
    row.map(|row| Cells::<DB>(&row).get("id")).transpose()
}

pub async fn rollback<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, document, version): (TenantId, DocumentId, VersionId),
    by: Option<UserId>,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    lock_document::<DB>(c, tenant, document).await?;
    let version = versions::one::<DB>(c, tenant, version).await?;
    if version.document != document {
        return Err(Error::not_found("version", version.id));
    }
    if version.state == VersionState::Canceled {
        return Err(Error::conflict("version", "it is being removed"));
    }
    let Some((root_hash, flush)) = version.root_hash.zip(version.needs_flush) else {
        return Err(Error::conflict(
            "version",
            "it was never finished and cannot serve",
        ));
    };
    match version.generation.state {
        GenerationState::Serving => {}
        GenerationState::Retired => {
            let why = "its generation serves no more; ingest its original again";
            return Err(Error::conflict("version", why));
        }
        GenerationState::Building => {
            let why = "its generation is being built and does not answer yet; roll back to the \
                       version it is a copy of";
            return Err(Error::conflict("version", why));
        }
    }
    if serves::<DB>(c, version.id).await? {
        return Ok(());
    }
    let activation = stored(&version, root_hash, flush);
    let serving = Serving {
        cause: ActivationCause::Rollback,
        from: now,
        by,
        activation: &activation,
    };
    // It is there again, and what has served counts again: nothing older replaces it.
    query("UPDATE documents SET removed_at = NULL, removed_order = NULL WHERE id = $1")
        .bind(document.as_uuid())
        .execute(&mut *c)
        .await?;
    noted_documents::restate_removal::<DB>(c, document, None, None).await?;
    open::<DB>(c, &version, serving, now).await?;
    tell::<DB>(c, rolled_back(&version), now).await
}

/// Serves a version that was overtaken, if nothing overtakes it any more; whether it does now.
/// The document is locked.
pub async fn take_up<DB: Dialect>(
    c: &mut Tx<DB>,
    version: &Version,
    now: DateTime<Utc>,
) -> Result<bool, Error> {
    let finished = version.root_hash.zip(version.needs_flush);
    let removal = removal::<DB>(c, version.tenant, version.document).await?;
    let Some(((root_hash, flush), removal)) = finished.zip(removal) else {
        return Ok(false);
    };
    let Some((cause, from)) = opens::<DB>(c, version, &removal, now).await? else {
        return Ok(false);
    };
    let activation = stored(version, root_hash, flush);
    let serving = Serving {
        cause,
        from,
        by: None,
        activation: &activation,
    };
    open::<DB>(c, version, serving, now).await?;
    Ok(true)
}

fn stored(version: &Version, root_hash: ContentHash, flush: u64) -> Activation {
    Activation {
        version: version.id,
        pass: version.pass,
        root_hash,
        flush,
        stats: crate::RunStats {
            chunks_created: version.chunks,
            ..Default::default()
        },
    }
}

fn rolled_back(version: &Version) -> News {
    News {
        tenant: version.tenant,
        kind: "document.rolled_back",
        run: None,
        document: Some(version.document),
        job: None,
        data: serde_json::json!({ "version": version.id }),
    }
}

async fn serves<DB: Dialect>(c: &mut Tx<DB>, version: VersionId) -> Result<bool, Error> {
    let row = query("SELECT id FROM activations WHERE version_id = $1 AND closed_at IS NULL")
        .bind(version.as_uuid())
        .fetch_optional(c)
        .await?;
    Ok(row.is_some())
}
