//! What is said of a version by whoever brought it: kept whole, and by key for filters.

use model::{KbId, VersionId};
use serde_json::{Map, Value};
use sqlx::{QueryBuilder, query};

use super::Tx;
use super::cells::{Cells, json, text};
use super::dialect::Dialect;
use crate::{Admission, Error, metadata_pairs};

/// Known bytes may come with something new to say of them: those keys are set, others stay.
pub async fn add<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    admission: &Admission,
) -> Result<(), Error> {
    if admission.metadata.is_empty() {
        return Ok(());
    }
    let row = query("SELECT metadata FROM document_versions WHERE id = $1")
        .bind(version.as_uuid())
        .fetch_one(&mut *c)
        .await?;
    let before: Map<String, Value> = Cells::<DB>(&row).json("metadata")?;
    let mut after = before.clone();
    after.extend(clean(&admission.metadata));
    if after == before {
        return Ok(());
    }
    query("UPDATE document_versions SET metadata = $2 WHERE id = $1")
        .bind(version.as_uuid())
        .bind(json(&after))
        .execute(&mut *c)
        .await?;
    query("DELETE FROM version_metadata WHERE version_id = $1")
        .bind(version.as_uuid())
        .execute(&mut *c)
        .await?;
    insert::<DB>(c, admission.kb, version, &after).await
}

/// Without the NUL that a database cannot hold.
pub fn clean(fields: &Map<String, Value>) -> Map<String, Value> {
    let clean = |(key, value): (&String, &Value)| (text(key), without_nul(value));
    fields.iter().map(clean).collect()
}

fn without_nul(value: &Value) -> Value {
    match value {
        Value::String(string) => Value::String(text(string)),
        Value::Array(values) => values.iter().map(without_nul).collect(),
        Value::Object(fields) => Value::Object(clean(fields)),
        other => other.clone(),
    }
}

pub async fn insert<DB: Dialect>(
    c: &mut Tx<DB>,
    kb: KbId,
    version: VersionId,
    metadata: &Map<String, Value>,
) -> Result<(), Error> {
    let pairs = metadata_pairs(metadata);
    for pairs in pairs.chunks(1000) {
        let mut insert: QueryBuilder<DB> =
            QueryBuilder::new("INSERT INTO version_metadata (kb_id, key, value, version_id) ");
        insert.push_values(pairs, |mut row, (key, value)| {
            row.push_bind(kb.as_uuid())
                .push_bind(key.clone())
                .push_bind(value.clone())
                .push_bind(version.as_uuid());
        });
        insert
            .push(" ON CONFLICT DO NOTHING")
            .build()
            .execute(&mut *c)
            .await?;
    }
    Ok(())
}
