//! Columns of which nothing else tells: when a row was last touched, what it waits for, what it has
//! counted. Whoever shows the row reads them, so one that cannot be read is as bad as any other; and
//! as nobody knows what it said, it is put back to what does no harm.

use sqlx::{AssertSqlSafe, query};
use uuid::Uuid;

use super::Tx;
use super::cells::Cells;
use super::dialect::Dialect;
use crate::Error;

/// What a column is read as.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    At,
    MaybeAt,
    Count,
    MaybeText,
    Json,
}

/// A column, what it is read as, and what puts something in it that does no harm.
pub type Column = (&'static str, Kind, &'static str);

use Kind::{At, Count, Json, MaybeAt, MaybeText};

/// In this order: the time it came is what the time of the last change is put back to.
pub const OF_DOCUMENT: &[Column] = &[
    (
        "created_at",
        At,
        "created_at = coalesce((SELECT min(v.created_at) FROM document_versions v
             WHERE v.document_id = documents.id), updated_at)",
    ),
    ("updated_at", At, "updated_at = created_at"),
];

pub const OF_RUN: &[Column] = &[
    ("waiting", MaybeText, "waiting = NULL"),
    ("waiting_until", MaybeAt, "waiting_until = NULL"),
    ("heartbeat_at", MaybeAt, "heartbeat_at = NULL"),
    (
        "updated_at",
        At,
        "updated_at = coalesce(finished_at, created_at)",
    ),
    ("source_order", MaybeText, "source_order = NULL"),
];

/// What is counted is counted anew once it is there.
pub const OF_JOB: &[Column] = &[
    ("docs_seen", Count, "docs_seen = 0"),
    ("docs_skipped", Count, "docs_skipped = 0"),
    ("docs_refused", Count, "docs_refused = 0"),
    ("runs_open", Count, "runs_open = 0"),
    ("runs_awaited", Count, "runs_awaited = 0"),
    ("runs_failed", Count, "runs_failed = 0"),
    ("chunks_seen", Count, NO_CHUNKS),
    ("chunks_processed", Count, NO_CHUNKS),
    ("chunks_skipped", Count, NO_CHUNKS),
    ("chunks_error", Count, NO_CHUNKS),
    ("token", Count, "token = 0"),
    ("paused_ms", Count, "paused_ms = 0"),
    ("waiting", MaybeText, "waiting = NULL"),
    ("lease_until", MaybeAt, "lease_until = NULL"),
    ("heartbeat_at", MaybeAt, "heartbeat_at = NULL"),
    (
        "updated_at",
        At,
        "updated_at = coalesce(finished_at, created_at)",
    ),
];

/// With it the others: one is the sum of them, and none changes alone.
const NO_CHUNKS: &str =
    "chunks_seen = 0, chunks_processed = 0, chunks_skipped = 0, chunks_error = 0";

/// Of a version that is under way: what was made of it is made again.
pub const OF_VERSION: &[Column] = &[
    ("title", MaybeText, "title = NULL"),
    ("warnings", Json, "warnings = '[]'"),
    ("gaps", Json, "gaps = '[]'"),
];

/// Whether each of them can be read.
pub fn are_sound<DB: Dialect>(row: &DB::Row, columns: &[Column]) -> bool {
    columns.iter().all(|column| is_sound::<DB>(row, column))
}

fn is_sound<DB: Dialect>(row: &DB::Row, (name, kind, _): &Column) -> bool {
    let row = Cells::<DB>(row);
    match kind {
        Kind::At => row.at(name).is_ok(),
        Kind::MaybeAt => row.maybe_at(name).is_ok(),
        Kind::Count => row.count(name).is_ok(),
        Kind::MaybeText => row.maybe_text(name).is_ok(),
        Kind::Json => row.json::<serde_json::Value>(name).is_ok(),
    }
}

/// Puts those that cannot be read back to what does no harm.
pub async fn put_back<DB: Dialect>(
    c: &mut Tx<DB>,
    table: &'static str,
    columns: &[Column],
    id: Uuid,
) -> Result<(), Error> {
    let sql = format!("SELECT * FROM {table} WHERE id = $1");
    let row = query(AssertSqlSafe(sql))
        .bind(id)
        .fetch_optional(&mut *c)
        .await?;
    let Some(row) = row else { return Ok(()) };
    for column in columns.iter().filter(|one| !is_sound::<DB>(&row, one)) {
        let (name, _, sound) = column;
        let sql = format!("UPDATE {table} SET {sound} WHERE id = $1");
        query(AssertSqlSafe(sql)).bind(id).execute(&mut *c).await?;
        tracing::warn!(table, column = name, %id, "put back what could not be read");
    }
    Ok(())
}
