//! API keys: what is kept of them.

use chrono::{DateTime, Utc};
use model::{ApiKeyId, ContentHash, TenantId, UserId};
use sqlx::{QueryBuilder, query};
use uuid::Uuid;

use super::Tx;
use super::cells::{Cells, bytes, json, micros};
use super::dialect::Dialect;
use super::paging::{cut, page_by_id};
use crate::{ApiKey, Error, Listed, NewApiKey, Page, Role};

/// A key, whether whoever made it, or its tenant, is disabled by now, and whether its maker
/// is no admin.
const KEYS: &str = "SELECT k.*, EXISTS (SELECT 1 FROM users u
        WHERE u.id = k.created_by AND u.disabled) AS maker_disabled,
        EXISTS (SELECT 1 FROM users u
        WHERE u.id = k.created_by AND u.role <> 'admin') AS maker_no_admin,
        t.disabled AS tenant_disabled
    FROM api_keys k JOIN tenants t ON t.id = k.tenant_id WHERE ";

pub async fn create<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    key: NewApiKey,
    now: DateTime<Utc>,
) -> Result<ApiKey, Error> {
    let id = Uuid::now_v7();
    let fresh = query(
        "INSERT INTO api_keys
             (id, tenant_id, name, hash, role, scopes, created_by, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT DO NOTHING RETURNING id",
    )
    .bind(id)
    .bind(tenant.as_uuid())
    .bind(key.name)
    .bind(bytes(&key.hash))
    .bind(key.role.as_str())
    .bind(json(&key.scopes))
    .bind(key.created_by.map(UserId::as_uuid))
    .bind(now)
    .bind(key.expires_at.map(micros))
    .fetch_optional(&mut *c)
    .await?;
    fresh.ok_or_else(|| Error::conflict("key", "it exists already"))?;
    let mut select: QueryBuilder<DB> = QueryBuilder::new(KEYS);
    select.push("k.id = ").push_bind(id);
    read::<DB>(&select.build().fetch_one(c).await?)
}

fn read<DB: Dialect>(row: &DB::Row) -> Result<ApiKey, Error> {
    let row = Cells::<DB>(row);
    Ok(ApiKey {
        id: row.id("id", ApiKeyId::from_uuid)?,
        tenant: row.id("tenant_id", TenantId::from_uuid)?,
        name: row.text("name")?,
        role: match row.get("maker_no_admin")? {
            true => Role::User,
            false => row.word("role")?,
        },
        scopes: row.json("scopes")?,
        created_by: row.maybe_id("created_by", UserId::from_uuid)?,
        maker_disabled: row.get("maker_disabled")?,
        tenant_disabled: row.get("tenant_disabled")?,
        created_at: row.at("created_at")?,
        expires_at: row.maybe_at("expires_at")?,
        revoked_at: row.maybe_at("revoked_at")?,
        last_used_at: row.maybe_at("last_used_at")?,
    })
}

pub async fn list<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    page: &Page,
) -> Result<Listed<ApiKey>, Error> {
    let mut select: QueryBuilder<DB> = QueryBuilder::new(KEYS);
    select.push("k.tenant_id = ").push_bind(tenant.as_uuid());
    let limit = page_by_id(&mut select, "k.id", page)?;
    let rows = select.build().fetch_all(c).await?;
    let items = rows.iter().map(read::<DB>);
    let items = items.collect::<Result<Vec<_>, _>>()?;
    Ok(cut(items, limit, |key| key.id.as_uuid()))
}

pub async fn revoke<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    key: ApiKeyId,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let row = query(
        "UPDATE api_keys SET revoked_at = coalesce(revoked_at, $3)
         WHERE id = $1 AND tenant_id = $2 RETURNING id",
    )
    .bind(key.as_uuid())
    .bind(tenant.as_uuid())
    .bind(now)
    .fetch_optional(c)
    .await?;
    row.map(drop).ok_or_else(|| Error::not_found("key", key))
}

pub async fn by_hash<DB: Dialect>(
    c: &mut Tx<DB>,
    hash: ContentHash,
) -> Result<Option<ApiKey>, Error> {
    let mut select: QueryBuilder<DB> = QueryBuilder::new(KEYS);
    select.push("k.hash = ").push_bind(bytes(&hash));
    let row = select.build().fetch_optional(c).await?;
    row.as_ref().map(read::<DB>).transpose()
}

pub async fn touch<DB: Dialect>(
    c: &mut Tx<DB>,
    key: ApiKeyId,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    query("UPDATE api_keys SET last_used_at = $2 WHERE id = $1")
        .bind(key.as_uuid())
        .bind(now)
        .execute(c)
        .await?;
    Ok(())
}
