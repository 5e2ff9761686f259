//! Events: told in the transaction of what they tell.

use chrono::{DateTime, Utc};
use model::{DocumentId, JobId, RunId, TenantId};
use serde_json::Value;
use sqlx::query;

use super::cells::{Cells, json};
use super::dialect::Dialect;
use super::{Tx, hooks};
use crate::{Error, Event};

/// Something that has happened in this transaction.
pub struct News {
    pub tenant: TenantId,
    pub kind: &'static str,
    pub run: Option<RunId>,
    pub document: Option<DocumentId>,
    pub job: Option<JobId>,
    pub data: Value,
}

/// Told last in a transaction: the tenant's counter is locked from here to the commit,
/// which is what makes ids follow the order of the commits.
pub async fn tell<DB: Dialect>(
    c: &mut Tx<DB>,
    news: News,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    // A counter that was set back goes on after the last of them: no id is given twice.
    let row = query(
        "UPDATE tenants SET last_event = 1 + (SELECT max(n) FROM (
             SELECT CAST(tenants.last_event AS BIGINT) AS n
             UNION ALL SELECT max(e.id) FROM events e WHERE e.tenant_id = $1) AS known)
         WHERE id = $1 RETURNING last_event",
    )
    .bind(news.tenant.as_uuid())
    .fetch_one(&mut *c)
    .await?;
    let id = Cells::<DB>(&row).get::<i64>("last_event")?;
    hooks::note::<DB>(c, &news, id, now).await?;
    query(
        "INSERT INTO events (tenant_id, id, at, kind, run_id, document_id, job_id, data)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(news.tenant.as_uuid())
    .bind(id)
    .bind(now)
    .bind(news.kind)
    .bind(news.run.map(RunId::as_uuid))
    .bind(news.document.map(DocumentId::as_uuid))
    .bind(news.job.map(JobId::as_uuid))
    .bind(json(&news.data))
    .execute(c)
    .await?;
    Ok(())
}

pub async fn after<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    after: i64,
    limit: u32,
) -> Result<Vec<Event>, Error> {
    let rows = query(
        "SELECT id, at, kind, run_id, document_id, job_id, data FROM events
         WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3",
    )
    .bind(tenant.as_uuid())
    .bind(after)
    .bind(i64::from(limit))
    .fetch_all(c)
    .await?;
    let read = |row| {
        let row = Cells::<DB>(row);
        Ok(Event {
            id: row.get("id")?,
            at: row.at("at")?,
            kind: row.text("kind")?,
            run: row.maybe_id("run_id", RunId::from_uuid)?,
            document: row.maybe_id("document_id", DocumentId::from_uuid)?,
            job: row.maybe_id("job_id", JobId::from_uuid)?,
            data: row.json("data")?,
        })
    };
    rows.iter().map(read).collect()
}

pub async fn last<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId) -> Result<i64, Error> {
    let row = query("SELECT last_event FROM tenants WHERE id = $1")
        .bind(tenant.as_uuid())
        .fetch_one(c)
        .await?;
    Cells::<DB>(&row).get("last_event")
}
