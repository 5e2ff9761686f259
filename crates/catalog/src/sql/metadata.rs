//! What is said of a version by whoever brought it: kept whole, and by key for filters.

use model::{JobId, KbId, VersionId};
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
    note::<DB>(c, version, admission).await?;
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
    replace::<DB>(c, (admission.kb, version), &after).await
}

pub async fn replace<DB: Dialect>(
    c: &mut Tx<DB>,
    (kb, version): (KbId, VersionId),
    metadata: &Map<String, Value>,
) -> Result<(), Error> {
    query("UPDATE document_versions SET metadata = $2 WHERE id = $1")
        .bind(version.as_uuid())
        .bind(json(metadata))
        .execute(&mut *c)
        .await?;
    query("DELETE FROM version_metadata WHERE version_id = $1")
        .bind(version.as_uuid())
        .execute(&mut *c)
        .await?;
    insert::<DB>(c, kb, version, metadata).await
}

/// What is said of a version by whoever brings it, or finds it there. Said again, it is said
/// last.
pub async fn note<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    admission: &Admission,
) -> Result<(), Error> {
    if admission.metadata.is_empty() {
        return Ok(());
    }
    let job = admission.job.map(JobId::as_uuid);
    let given = json(&clean(&admission.metadata));
    query(
        "DELETE FROM metadata_given WHERE version_id = $1 AND job_id IS NOT DISTINCT FROM $2
           AND (job_id IS NOT NULL OR metadata = $3)",
    )
    .bind(version.as_uuid())
    .bind(job)
    .bind(given.clone())
    .execute(&mut *c)
    .await?;
    query(
        "INSERT INTO metadata_given (version_id, position, job_id, metadata)
         SELECT $1, coalesce(max(position), 0) + 1, $2, $3 FROM metadata_given
         WHERE version_id = $1",
    )
    .bind(version.as_uuid())
    .bind(job)
    .bind(given)
    .execute(c)
    .await?;
    Ok(())
}

/// A job that is canceled has said nothing of a version that stays.
pub async fn take_back<DB: Dialect>(
    c: &mut Tx<DB>,
    (kb, version): (KbId, VersionId),
    job: JobId,
) -> Result<(), Error> {
    let taken = query(
        "DELETE FROM metadata_given WHERE version_id = $1 AND job_id = $2 RETURNING position",
    )
    .bind(version.as_uuid())
    .bind(job.as_uuid())
    .fetch_optional(&mut *c)
    .await?;
    if taken.is_none() {
        return Ok(());
    }
    let rows = query("SELECT metadata FROM metadata_given WHERE version_id = $1 ORDER BY position")
        .bind(version.as_uuid())
        .fetch_all(&mut *c)
        .await?;
    let mut left = Map::new();
    for row in &rows {
        left.extend(Cells::<DB>(row).json::<Map<String, Value>>("metadata")?);
    }
    replace::<DB>(c, (kb, version), &left).await
}

/// What was said of a version is said of its copy, by the same.
pub async fn repeat<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    copy: VersionId,
) -> Result<(), Error> {
    query("DELETE FROM metadata_given WHERE version_id = $1")
        .bind(copy.as_uuid())
        .execute(&mut *c)
        .await?;
    query(
        "INSERT INTO metadata_given (version_id, position, job_id, metadata)
         SELECT $2, o.position, o.job_id, o.metadata FROM metadata_given o
         WHERE o.version_id = $1",
    )
    .bind(version.as_uuid())
    .bind(copy.as_uuid())
    .execute(&mut *c)
    .await?;
    let row = query("SELECT kb_id, metadata FROM document_versions WHERE id = $1")
        .bind(version.as_uuid())
        .fetch_one(&mut *c)
        .await?;
    let row = Cells::<DB>(&row);
    let kb = row.id("kb_id", KbId::from_uuid)?;
    replace::<DB>(c, (kb, copy), &row.json("metadata")?).await
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
