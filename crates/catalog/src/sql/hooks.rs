//! Secrets of sources; webhooks and what is on its way to them.

use std::time::Duration;

use chrono::{DateTime, Utc};
use model::{DocumentId, JobId, RunId, SourceId, TenantId, UserId, WebhookId};
use serde_json::json;
use sqlx::{AssertSqlSafe, QueryBuilder, query};
use uuid::Uuid;

use super::cells::{Cells, json as cell, text};
use super::dialect::Dialect;
use super::events::News;
use super::paging::{cut, page_by_id};
use super::{Tx, sources};
use crate::{
    Attempt, Delivery, DueDelivery, Error, Listed, NewWebhook, Page, SignedSource, Webhook,
};

pub async fn set_secret<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, source): (TenantId, SourceId),
    secret: &str,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    sources::one::<DB>(c, tenant, source).await?;
    query(
        "INSERT INTO source_secrets (source_id, secret, created_at) VALUES ($1, $2, $3)
         ON CONFLICT (source_id) DO UPDATE
             SET secret = excluded.secret, created_at = excluded.created_at",
    )
    .bind(source.as_uuid())
    .bind(secret)
    .bind(now)
    .execute(c)
    .await?;
    Ok(())
}

pub async fn signed_source<DB: Dialect>(
    c: &mut Tx<DB>,
    source: SourceId,
) -> Result<Option<SignedSource>, Error> {
    let row = query(
        "SELECT s.*, k.secret FROM ingestion_sources s
         LEFT JOIN source_secrets k ON k.source_id = s.id WHERE s.id = $1",
    )
    .bind(source.as_uuid())
    .fetch_optional(c)
    .await?;
    let read = |row: DB::Row| {
        Ok(SignedSource {
            source: sources::read::<DB>(&row)?,
            secret: Cells::<DB>(&row).maybe_text("secret")?,
        })
    };
    row.map(read).transpose()
}

pub async fn create<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    webhook: NewWebhook,
    now: DateTime<Utc>,
) -> Result<Webhook, Error> {
    let row = query(
        "INSERT INTO webhooks (id, tenant_id, url, kinds, secret, created_by, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING *",
    )
    .bind(Uuid::now_v7())
    .bind(tenant.as_uuid())
    .bind(text(&webhook.url))
    .bind(cell(&webhook.kinds))
    .bind(webhook.secret)
    .bind(webhook.created_by.map(UserId::as_uuid))
    .bind(now)
    .fetch_one(c)
    .await?;
    read_webhook::<DB>(&row)
}

pub async fn list<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    page: &Page,
) -> Result<Listed<Webhook>, Error> {
    let mut select: QueryBuilder<DB> =
        QueryBuilder::new("SELECT * FROM webhooks WHERE tenant_id = ");
    select.push_bind(tenant.as_uuid());
    let limit = page_by_id(&mut select, "id", page)?;
    let rows = select.build().fetch_all(c).await?;
    let items = rows.iter().map(read_webhook::<DB>);
    let items = items.collect::<Result<Vec<_>, _>>()?;
    Ok(cut(items, limit, |webhook| webhook.id.as_uuid()))
}

/// Whoever wants to know of anything; how many there may be is bounded where they are made.
async fn all<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId) -> Result<Vec<Webhook>, Error> {
    let rows = query("SELECT * FROM webhooks WHERE tenant_id = $1 ORDER BY id")
        .bind(tenant.as_uuid())
        .fetch_all(c)
        .await?;
    rows.iter().map(read_webhook::<DB>).collect()
}

fn read_webhook<DB: Dialect>(row: &DB::Row) -> Result<Webhook, Error> {
    let row = Cells::<DB>(row);
    Ok(Webhook {
        id: row.id("id", WebhookId::from_uuid)?,
        tenant: row.id("tenant_id", TenantId::from_uuid)?,
        url: row.text("url")?,
        kinds: row.json("kinds")?,
        created_by: row.maybe_id("created_by", UserId::from_uuid)?,
        created_at: row.at("created_at")?,
    })
}

pub async fn delete<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    webhook: WebhookId,
) -> Result<(), Error> {
    query("DELETE FROM webhook_deliveries WHERE webhook_id = $1 AND tenant_id = $2")
        .bind(webhook.as_uuid())
        .bind(tenant.as_uuid())
        .execute(&mut *c)
        .await?;
    let gone = query("DELETE FROM webhooks WHERE id = $1 AND tenant_id = $2 RETURNING id")
        .bind(webhook.as_uuid())
        .bind(tenant.as_uuid())
        .fetch_optional(c)
        .await?;
    gone.map(drop)
        .ok_or_else(|| Error::not_found("webhook", webhook))
}

/// Puts an end on its way to whoever wants to know, in the transaction it happens in.
pub async fn note<DB: Dialect>(
    c: &mut Tx<DB>,
    news: &News,
    event: i64,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    if !Webhook::KINDS.contains(&news.kind) {
        return Ok(());
    }
    let payload = json!({
        "type": news.kind,
        "timestamp": now,
        "data": {
            "event_id": event,
            "run_id": news.run.map(RunId::as_uuid),
            "document_id": news.document.map(DocumentId::as_uuid),
            "job_id": news.job.map(JobId::as_uuid),
            "details": news.data,
        },
    });
    for webhook in all::<DB>(c, news.tenant).await? {
        let wanted = webhook.kinds.is_empty() || webhook.kinds.iter().any(|kind| kind == news.kind);
        if wanted {
            send::<DB>(c, &webhook, (event, news.kind), &payload, now).await?;
        }
    }
    Ok(())
}

async fn send<DB: Dialect>(
    c: &mut Tx<DB>,
    webhook: &Webhook,
    (event, kind): (i64, &str),
    payload: &serde_json::Value,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    query(
        "INSERT INTO webhook_deliveries
             (id, webhook_id, tenant_id, event_id, kind, payload, state, due_at, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7, $7)",
    )
    .bind(Uuid::now_v7())
    .bind(webhook.id.as_uuid())
    .bind(webhook.tenant.as_uuid())
    .bind(event)
    .bind(kind)
    .bind(cell(payload))
    .bind(now)
    .execute(c)
    .await?;
    Ok(())
}

pub async fn deliveries<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, webhook): (TenantId, WebhookId),
    page: &Page,
) -> Result<Listed<Delivery>, Error> {
    let known = query("SELECT id FROM webhooks WHERE id = $1 AND tenant_id = $2")
        .bind(webhook.as_uuid())
        .bind(tenant.as_uuid())
        .fetch_optional(&mut *c)
        .await?;
    known.ok_or_else(|| Error::not_found("webhook", webhook))?;
    let mut select: QueryBuilder<DB> =
        QueryBuilder::new("SELECT * FROM webhook_deliveries WHERE webhook_id = ");
    select.push_bind(webhook.as_uuid());
    let limit = page_by_id(&mut select, "id", page)?;
    let rows = select.build().fetch_all(c).await?;
    let items = rows.iter().map(read::<DB>).collect::<Result<Vec<_>, _>>()?;
    Ok(cut(items, limit, |delivery| delivery.id))
}

pub async fn due<DB: Dialect>(
    c: &mut Tx<DB>,
    limit: u32,
    lease: Duration,
    now: DateTime<Utc>,
) -> Result<Vec<DueDelivery>, Error> {
    let sql = format!(
        "WITH due AS MATERIALIZED (
             SELECT id AS due_id FROM webhook_deliveries
             WHERE state = 'pending' AND due_at <= $1 ORDER BY due_at, id LIMIT $2 {}
         )
         UPDATE webhook_deliveries SET due_at = $3, attempts = attempts + 1
         FROM due WHERE id = due_id
         RETURNING *, (SELECT url FROM webhooks w WHERE w.id = webhook_id) AS url,
             (SELECT secret FROM webhooks w WHERE w.id = webhook_id) AS secret",
        DB::SKIP_LOCKED
    );
    let rows = query(AssertSqlSafe(sql))
        .bind(now)
        .bind(i64::from(limit))
        .bind(now + lease)
        .fetch_all(c)
        .await?;
    let read = |row| {
        Ok(DueDelivery {
            delivery: read::<DB>(row)?,
            url: Cells::<DB>(row).text("url")?,
            secret: Cells::<DB>(row).text("secret")?,
        })
    };
    rows.iter().map(read).collect()
}

pub async fn attempted<DB: Dialect>(
    c: &mut Tx<DB>,
    delivery: Uuid,
    attempt: &Attempt,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    query(
        "UPDATE webhook_deliveries SET state = $2, last_status = $3, last_error = $4, due_at = $5,
             ended_at = CASE WHEN $2 = 'pending' THEN NULL ELSE $6 END
         WHERE id = $1 AND state = 'pending'",
    )
    .bind(delivery)
    .bind(attempt.state.as_str())
    .bind(attempt.status.map(i64::from))
    .bind(attempt.error.as_deref().map(text))
    .bind(super::cells::micros(attempt.again_at))
    .bind(now)
    .execute(c)
    .await?;
    Ok(())
}

pub async fn redeliver<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    delivery: Uuid,
    now: DateTime<Utc>,
) -> Result<Delivery, Error> {
    let row = query(
        "UPDATE webhook_deliveries SET state = 'pending', attempts = 0, due_at = $3,
             ended_at = NULL
         WHERE id = $1 AND tenant_id = $2 RETURNING *",
    )
    .bind(delivery)
    .bind(tenant.as_uuid())
    .bind(now)
    .fetch_optional(c)
    .await?;
    read::<DB>(&row.ok_or_else(|| Error::not_found("delivery", delivery))?)
}

fn read<DB: Dialect>(row: &DB::Row) -> Result<Delivery, Error> {
    let row = Cells::<DB>(row);
    let status = row.maybe_count("last_status")?;
    Ok(Delivery {
        id: row.get("id")?,
        webhook: row.id("webhook_id", WebhookId::from_uuid)?,
        tenant: row.id("tenant_id", TenantId::from_uuid)?,
        event: row.get("event_id")?,
        kind: row.text("kind")?,
        payload: row.json("payload")?,
        state: row.word("state")?,
        attempts: row.small("attempts")?,
        due_at: row.at("due_at")?,
        last_status: status.and_then(|status| u16::try_from(status).ok()),
        last_error: row.maybe_text("last_error")?,
        created_at: row.at("created_at")?,
        ended_at: row.maybe_at("ended_at")?,
    })
}
