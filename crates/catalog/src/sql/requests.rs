//! Requests made twice, and uploads that are still to arrive.

use std::time::Duration;

use chrono::{DateTime, Utc};
use model::{ContentHash, DocumentId, KbId, RunId, TenantId, UploadId, UserId};
use serde_json::Value;
use sqlx::query;
use uuid::Uuid;

use super::cells::{Cells, bytes, json, text};
use super::dialect::Dialect;
use super::{Tx, kbs};
use crate::{Begun, Error, NewUpload, Upload, UploadEnd, UploadState};

/// After this long without an answer its process must have died: the key is free again.
const UNANSWERED: chrono::TimeDelta = chrono::TimeDelta::minutes(15);

pub async fn begin<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, key): (TenantId, &str),
    request: ContentHash,
    keep: Duration,
    now: DateTime<Utc>,
) -> Result<Begun, Error> {
    query(
        "DELETE FROM idempotency_keys WHERE tenant_id = $1 AND key = $2
           AND (expires_at <= $3 OR (response IS NULL AND created_at <= $4))",
    )
    .bind(tenant.as_uuid())
    .bind(key)
    .bind(now)
    .bind(now - UNANSWERED)
    .execute(&mut *c)
    .await?;
    let fresh = query(
        "INSERT INTO idempotency_keys (tenant_id, key, request, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING key",
    )
    .bind(tenant.as_uuid())
    .bind(key)
    .bind(bytes(&request))
    .bind(now)
    .bind(now + keep)
    .fetch_optional(&mut *c)
    .await?;
    if fresh.is_some() {
        return Ok(Begun::Fresh);
    }
    let row =
        query("SELECT request, response FROM idempotency_keys WHERE tenant_id = $1 AND key = $2")
            .bind(tenant.as_uuid())
            .bind(key)
            .fetch_one(c)
            .await?;
    let row = Cells::<DB>(&row);
    if row.hash("request")? != request {
        return Ok(Begun::OtherRequest);
    }
    Ok(row
        .maybe_json("response")?
        .map_or(Begun::UnderWay, Begun::Finished))
}

pub async fn finish<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, key): (TenantId, &str),
    response: &Value,
) -> Result<(), Error> {
    query("UPDATE idempotency_keys SET response = $3 WHERE tenant_id = $1 AND key = $2")
        .bind(tenant.as_uuid())
        .bind(key)
        .bind(json(response))
        .execute(c)
        .await?;
    Ok(())
}

pub async fn abandon<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, key): (TenantId, &str),
) -> Result<(), Error> {
    query("DELETE FROM idempotency_keys WHERE tenant_id = $1 AND key = $2 AND response IS NULL")
        .bind(tenant.as_uuid())
        .bind(key)
        .execute(c)
        .await?;
    Ok(())
}

pub async fn create_upload<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    upload: NewUpload,
    now: DateTime<Utc>,
) -> Result<Upload, Error> {
    kbs::one::<DB>(c, tenant, upload.kb).await?;
    let row = query(
        "INSERT INTO uploads (id, tenant_id, kb_id, object_key, filename, size, media_type, state,
             initiated_by, created_at, expires_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, 'pending', $8, $9, $10, $9) RETURNING *",
    )
    .bind(Uuid::now_v7())
    .bind(tenant.as_uuid())
    .bind(upload.kb.as_uuid())
    .bind(text(&upload.object_key))
    .bind(text(&upload.filename))
    .bind(upload.size.cast_signed())
    .bind(upload.media_type)
    .bind(upload.initiated_by.map(UserId::as_uuid))
    .bind(now)
    .bind(super::cells::micros(upload.expires_at))
    .fetch_one(c)
    .await?;
    read_upload::<DB>(&row)
}

pub async fn upload<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    upload: UploadId,
) -> Result<Upload, Error> {
    let row = query("SELECT * FROM uploads WHERE id = $1 AND tenant_id = $2")
        .bind(upload.as_uuid())
        .bind(tenant.as_uuid())
        .fetch_optional(c)
        .await?;
    read_upload::<DB>(&row.ok_or_else(|| Error::not_found("upload", upload))?)
}

pub async fn upload_by_key<DB: Dialect>(
    c: &mut Tx<DB>,
    object_key: &str,
) -> Result<Option<Upload>, Error> {
    let row = query("SELECT * FROM uploads WHERE object_key = $1")
        .bind(object_key)
        .fetch_optional(c)
        .await?;
    row.as_ref().map(read_upload::<DB>).transpose()
}

pub async fn finish_upload<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    id: UploadId,
    end: UploadEnd,
    now: DateTime<Utc>,
) -> Result<Upload, Error> {
    let (state, document, run, error) = match end {
        UploadEnd::Admitted { document, run } => (UploadState::Admitted, Some(document), run, None),
        UploadEnd::Failed { error } => (UploadState::Failed, None, None, Some(text(&error))),
        UploadEnd::Expired => (UploadState::Expired, None, None, None),
    };
    query(
        "UPDATE uploads SET state = $3, document_id = $4, run_id = $5, error = $6, updated_at = $7
         WHERE id = $1 AND tenant_id = $2 AND state = 'pending'",
    )
    .bind(id.as_uuid())
    .bind(tenant.as_uuid())
    .bind(state.as_str())
    .bind(document.map(DocumentId::as_uuid))
    .bind(run.map(RunId::as_uuid))
    .bind(error)
    .bind(now)
    .execute(&mut *c)
    .await?;
    upload::<DB>(c, tenant, id).await
}

pub async fn overdue<DB: Dialect>(
    c: &mut Tx<DB>,
    now: DateTime<Utc>,
    limit: u32,
) -> Result<Vec<Upload>, Error> {
    let rows = query(
        "SELECT * FROM uploads WHERE state = 'pending' AND expires_at <= $1
         ORDER BY expires_at LIMIT $2",
    )
    .bind(now)
    .bind(i64::from(limit))
    .fetch_all(c)
    .await?;
    rows.iter().map(read_upload::<DB>).collect()
}

fn read_upload<DB: Dialect>(row: &DB::Row) -> Result<Upload, Error> {
    let row = Cells::<DB>(row);
    Ok(Upload {
        id: row.id("id", UploadId::from_uuid)?,
        tenant: row.id("tenant_id", TenantId::from_uuid)?,
        kb: row.id("kb_id", KbId::from_uuid)?,
        object_key: row.text("object_key")?,
        filename: row.text("filename")?,
        size: row.count("size")?,
        media_type: row.maybe_text("media_type")?,
        state: row.word("state")?,
        document: row.maybe_id("document_id", DocumentId::from_uuid)?,
        run: row.maybe_id("run_id", RunId::from_uuid)?,
        initiated_by: row.maybe_id("initiated_by", UserId::from_uuid)?,
        error: row.maybe_text("error")?,
        created_at: row.at("created_at")?,
        expires_at: row.at("expires_at")?,
    })
}

pub async fn prune<DB: Dialect>(
    c: &mut Tx<DB>,
    before: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    query("DELETE FROM events WHERE at < $1")
        .bind(before)
        .execute(&mut *c)
        .await?;
    query("DELETE FROM idempotency_keys WHERE expires_at <= $1")
        .bind(now)
        .execute(&mut *c)
        .await?;
    query("DELETE FROM replayed_letters WHERE at < $1")
        .bind(before)
        .execute(&mut *c)
        .await?;
    query("DELETE FROM webhook_deliveries WHERE state <> 'pending' AND created_at < $1")
        .bind(before)
        .execute(c)
        .await?;
    Ok(())
}
