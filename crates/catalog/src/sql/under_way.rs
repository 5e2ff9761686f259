//! Rows of what is under way, put right so that its work goes on.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, query};
use uuid::Uuid;

use super::cells::{Cells, json};
use super::dialect::Dialect;
use super::{Tx, columns, noted_runs};
use crate::{Error, UnderWay};

pub async fn mend<DB: Dialect>(
    c: &mut Tx<DB>,
    one: &UnderWay,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let row = query(
        "UPDATE document_versions SET state = CASE WHEN state IN ('pending', 'processing') THEN state
             WHEN EXISTS (SELECT 1 FROM work w WHERE w.version_id = $1 AND w.kind = 'prep')
             THEN 'pending' ELSE 'processing' END
         WHERE id = $1 RETURNING run_id",
    )
    .bind(one.version.as_uuid())
    .fetch_optional(&mut *c)
    .await?
    .ok_or_else(|| Error::not_found("version", one.version))?;
    let run: Uuid = Cells::<DB>(&row).get("run_id")?;
    let version = one.version.as_uuid();
    columns::put_back::<DB>(c, "document_versions", columns::OF_VERSION, version).await?;
    call_by_its_own_id::<DB>(c, one, run).await?;
    revive::<DB>(c, run, now).await?;
    write_again::<DB>(c, one, run, now).await?;
    columns::put_back::<DB>(c, "ingestion_runs", columns::OF_RUN, run).await
}

/// The run the version and its work know is not there, and one they do not know is the version's.
async fn call_by_its_own_id<DB: Dialect>(
    c: &mut Tx<DB>,
    one: &UnderWay,
    run: Uuid,
) -> Result<(), Error> {
    query(
        "UPDATE ingestion_runs SET id = $2
         WHERE version_id = $1 AND status IN ('queued', 'running')
           AND NOT EXISTS (SELECT 1 FROM ingestion_runs o WHERE o.id = $2)",
    )
    .bind(one.version.as_uuid())
    .bind(run)
    .execute(c)
    .await?;
    Ok(())
}

/// It has not ended, so nothing of an end is true of it.
async fn revive<DB: Dialect>(c: &mut Tx<DB>, run: Uuid, now: DateTime<Utc>) -> Result<(), Error> {
    query(
        "UPDATE ingestion_runs SET superseded = FALSE, finished_at = NULL, counted_in = NULL,
             status = CASE WHEN started_at IS NULL THEN 'queued' ELSE 'running' END,
             updated_at = $2
         WHERE id = $1 AND status NOT IN ('queued', 'running')",
    )
    .bind(run)
    .bind(now)
    .execute(c)
    .await?;
    Ok(())
}

/// What of its row cannot be read is written again, and whose it is, or all where it is gone. Whose
/// job it is in, its work tells. A generation that is being built is made of copies alone.
async fn write_again<DB: Dialect>(
    c: &mut Tx<DB>,
    one: &UnderWay,
    run: Uuid,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let spoilt = noted_runs::spoilt::<DB>(c, run).await?;
    // Whose it is, it can say wrongly and be read.
    let wrong: BTreeSet<_> = spoilt
        .into_iter()
        .chain(["tenant_id", "document_id"])
        .collect();
    let set: Vec<_> = wrong
        .iter()
        .map(|name| format!("{name} = excluded.{name}"))
        .collect();
    let set = set.join(", ");
    let sql = format!(
        "INSERT INTO ingestion_runs (id, tenant_id, kb_id, generation_id, document_id, version_id,
             source_uri, content_hash, job_id, source_id, status, run_type, initiated_by, config,
             trace, created_at, updated_at, source_order)
         SELECT v.run_id, v.tenant_id, v.kb_id, v.generation_id, v.document_id, v.id, $2,
             v.content_hash, w.job_id, coalesce(j.source_id, d.source_id), 'queued',
             CASE WHEN g.state = 'building' THEN 'reindex' WHEN w.job_id IS NULL THEN 'upload'
                 ELSE 'sync' END,
             j.initiated_by, $3, w.trace, v.created_at, $4, v.source_order
         FROM document_versions v
         JOIN work w ON w.id = (SELECT min(o.id) FROM work o WHERE o.version_id = v.id)
         LEFT JOIN jobs j ON j.id = w.job_id
         LEFT JOIN documents d ON d.id = v.document_id
         LEFT JOIN generations g ON g.id = v.generation_id
         WHERE v.id = $1
         ON CONFLICT (id) DO UPDATE SET {set}"
    );
    query(AssertSqlSafe(sql))
        .bind(one.version.as_uuid())
        .bind(one.source_uri.as_str())
        .bind(json(&one.config))
        .bind(now)
        .execute(c)
        .await?;
    Ok(())
}
