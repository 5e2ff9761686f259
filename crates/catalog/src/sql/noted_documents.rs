//! Notes of documents, beside their rows.
//!
//! Written where a document is made; from then on whoever changes its source, or whether it is
//! removed, changes that part of the note. It goes with the row.

use chrono::{DateTime, Utc};
use model::{DocumentId, SourceId, SourceOrder};
use sqlx::query;
use uuid::Uuid;

use super::cells::Cells;
use super::dialect::Dialect;
use super::notes::{self, Noted, Of};
use super::{Tx, columns};
use crate::{DocumentFacts, Error};

impl Noted for DocumentFacts {
    const KIND: &'static str = "document";
}

/// A document's own note.
fn of(document: DocumentId) -> Of {
    (document.as_uuid(), document.as_uuid())
}

/// Notes a document as its row has it; nothing of one whose row is gone.
pub async fn write<DB: Dialect>(c: &mut Tx<DB>, document: DocumentId) -> Result<(), Error> {
    let row = query("SELECT source_id, removed_at, removed_order FROM documents WHERE id = $1")
        .bind(document.as_uuid())
        .fetch_optional(&mut *c)
        .await?;
    match row {
        Some(row) => notes::put::<DB, _>(c, of(document), &read::<DB>(&row)?).await,
        None => Ok(()),
    }
}

/// Notes who showed it now.
pub async fn restate_source<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    source: SourceId,
) -> Result<(), Error> {
    let noted = notes::standing::<DB, DocumentFacts>(c, of(document)).await?;
    let Some(noted) = noted.filter(|noted| noted.source != Some(source)) else {
        return Ok(());
    };
    let facts = DocumentFacts {
        source: Some(source),
        ..noted
    };
    notes::put::<DB, _>(c, of(document), &facts).await
}

/// Notes that it is removed, or is no more.
pub async fn restate_removal<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    at: Option<DateTime<Utc>>,
    order: Option<&str>,
) -> Result<(), Error> {
    let noted = notes::standing::<DB, DocumentFacts>(c, of(document)).await?;
    let Some(noted) = noted else { return Ok(()) };
    let facts = DocumentFacts {
        removed_at: at,
        removed_order: order.map(SourceOrder::from_stored),
        ..noted
    };
    notes::put::<DB, _>(c, of(document), &facts).await
}

/// Notes every document, when notes are new to a catalog.
pub async fn write_all<DB: Dialect>(c: &mut Tx<DB>) -> Result<(), Error> {
    const AT_ONCE: usize = 200;
    let mut after = Uuid::nil();
    loop {
        let rows = query("SELECT * FROM documents WHERE id > $1 ORDER BY id LIMIT $2")
            .bind(after)
            .bind(AT_ONCE as i64)
            .fetch_all(&mut *c)
            .await?;
        for row in &rows {
            let Ok(id) = Cells::<DB>(row).get("id") else {
                continue;
            };
            after = id;
            // One that cannot be read is named for that.
            if let Ok(facts) = read::<DB>(row) {
                notes::put::<DB, _>(c, (after, after), &facts).await?;
            }
        }
        if rows.len() < AT_ONCE {
            return Ok(());
        }
    }
}

/// The row as it was noted, or, where no note stands, the note as the row has it. What else is
/// noted as its own row goes: a document has one.
pub async fn mend<DB: Dialect>(c: &mut Tx<DB>, document: DocumentId) -> Result<(), Error> {
    let columns = columns::OF_DOCUMENT;
    columns::put_back::<DB>(c, "documents", columns, document.as_uuid()).await?;
    notes::bring_back::<DB, DocumentFacts>(c, of(document)).await?;
    query("DELETE FROM witnesses WHERE owner = $1 AND kind = $2 AND subject <> $1")
        .bind(document.as_uuid())
        .bind(DocumentFacts::KIND)
        .execute(&mut *c)
        .await?;
    let noted = notes::standing::<DB, DocumentFacts>(c, of(document)).await?;
    let Some(facts) = noted else {
        return write::<DB>(c, document).await;
    };
    query("UPDATE documents SET source_id = $2, removed_at = $3, removed_order = $4 WHERE id = $1")
        .bind(document.as_uuid())
        .bind(facts.source.map(SourceId::as_uuid))
        .bind(facts.removed_at)
        .bind(facts.removed_order.map(|order| order.as_str().to_owned()))
        .execute(c)
        .await?;
    Ok(())
}

/// What is noted of a document's row, as it is.
pub fn read<DB: Dialect>(row: &DB::Row) -> Result<DocumentFacts, Error> {
    let row = Cells::<DB>(row);
    let order = row.maybe_text("removed_order")?;
    Ok(DocumentFacts {
        source: row.maybe_id("source_id", SourceId::from_uuid)?,
        removed_at: row.maybe_at("removed_at")?,
        removed_order: order.map(SourceOrder::from_stored),
    })
}
