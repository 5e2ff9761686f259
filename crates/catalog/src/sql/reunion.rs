//! A document that lost its row while another came under its address: they are one.
//!
//! What the other brought becomes the first one's, and so does what it has to tell: its ledger is
//! said again at the end of the first one's, and ends by taking back all that it told. Chains are
//! only ever added to.

use chrono::{DateTime, Utc};
use model::{DocumentId, SourceId, VersionId};
use sqlx::{AssertSqlSafe, query};

use super::activate::lock_document;
use super::dialect::Dialect;
use super::ledger::{self, Fact};
use super::mend::{Owner, document};
use super::{Tx, audit, noted_documents, noted_removals, noted_runs, notes, witness};
use crate::{DocumentFacts, DocumentHead, Error, LedgerEntry, LedgerKind, replay};

/// Where a document is named besides its own row, its ledger, and what is told of it in passing.
const NAMED: [&str; 7] = [
    "document_versions",
    "ingestion_runs",
    "work",
    "dead_letters",
    "uploads",
    "source_objects",
    "job_removals",
];

pub async fn reunion<DB: Dialect>(
    c: &mut Tx<DB>,
    of: Owner,
    (head, created): (&DocumentHead, DateTime<Utc>),
    with: DocumentId,
) -> Result<(), Error> {
    let (tenant, first) = of;
    lock_document::<DB>(c, tenant, with).await?;
    let other = audit::one::<DB>(c, tenant, with).await?;
    // An address has one document at any moment, and what refers to one must find it.
    query("UPDATE documents SET source_uri = 'reunited://' || source_uri WHERE id = $1")
        .bind(with.as_uuid())
        .execute(&mut *c)
        .await?;
    document::<DB>(c, of, head, created).await?;
    noted_documents::mend::<DB>(c, first).await?;
    take_facts::<DB>(c, first, other.facts.as_ref()).await?;
    take_activations::<DB>(c, with).await?;
    for table in NAMED {
        let sql = format!("UPDATE {table} SET document_id = $2 WHERE document_id = $1");
        query(AssertSqlSafe(sql))
            .bind(with.as_uuid())
            .bind(first.as_uuid())
            .execute(&mut *c)
            .await?;
    }
    noted_runs::hand_over::<DB>(c, with, first).await?;
    noted_removals::hand_over::<DB>(c, with, first).await?;
    for entry in &other.ledger {
        say_again::<DB>(c, of, entry).await?;
    }
    let mut told: Vec<VersionId> = replay(&other.ledger)
        .iter()
        .map(|one| one.version)
        .collect();
    told.sort_unstable();
    told.dedup();
    let last = other.ledger.last().map(|entry| entry.at);
    for (version, at) in told.into_iter().zip(last.into_iter().cycle()) {
        take_back::<DB>(c, (tenant, with), version, at).await?;
    }
    query("DELETE FROM documents WHERE id = $1")
        .bind(with.as_uuid())
        .execute(&mut *c)
        .await?;
    notes::forget_all::<DB>(c, with.as_uuid()).await?;
    for version in &other.versions {
        witness::restate::<DB>(c, version.id, witness::Part::Since).await?;
    }
    Ok(())
}

/// Who showed the other, and that it was removed, is the last that is known of both.
async fn take_facts<DB: Dialect>(
    c: &mut Tx<DB>,
    first: DocumentId,
    other: Option<&DocumentFacts>,
) -> Result<(), Error> {
    let Some(other) = other else { return Ok(()) };
    query(
        "UPDATE documents SET source_id = coalesce($2, source_id),
             removed_order = CASE WHEN $3 IS NULL THEN removed_order ELSE $4 END,
             removed_at = coalesce($3, removed_at)
         WHERE id = $1",
    )
    .bind(first.as_uuid())
    .bind(other.source.map(SourceId::as_uuid))
    .bind(other.removed_at)
    .bind(
        other
            .removed_order
            .as_ref()
            .map(|order| order.as_str().to_owned()),
    )
    .execute(&mut *c)
    .await?;
    noted_documents::write::<DB>(c, first).await
}

/// They are written again as the ledger tells, which from here on is the first one's.
async fn take_activations<DB: Dialect>(c: &mut Tx<DB>, with: DocumentId) -> Result<(), Error> {
    query("DELETE FROM activations WHERE document_id = $1")
        .bind(with.as_uuid())
        .execute(c)
        .await?;
    Ok(())
}

async fn say_again<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, document): Owner,
    entry: &LedgerEntry,
) -> Result<(), Error> {
    let fact = Fact {
        tenant,
        document,
        kind: entry.kind,
        version: entry.version,
        generation: entry.generation,
        content_hash: entry.content_hash,
        root_hash: entry.root_hash,
        by: entry.by,
    };
    ledger::append::<DB>(c, fact, entry.at).await
}

async fn take_back<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, document): Owner,
    version: VersionId,
    at: DateTime<Utc>,
) -> Result<(), Error> {
    let fact = Fact {
        tenant,
        document,
        kind: LedgerKind::Removed,
        version: Some(version),
        generation: None,
        content_hash: None,
        root_hash: None,
        by: None,
    };
    ledger::append::<DB>(c, fact, at).await
}
