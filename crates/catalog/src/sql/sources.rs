//! Sources.

use chrono::{DateTime, Utc};
use model::{KbId, SourceId, TenantId};
use sqlx::{QueryBuilder, query};
use uuid::Uuid;

use super::Tx;
use super::cells::{Cells, json};
use super::dialect::Dialect;
use super::kbs;
use super::paging::{cut, of_name, page_by_name};
use crate::{Error, Listed, NewSource, Page, Source, SourceChange};

pub async fn create<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    source: NewSource,
    now: DateTime<Utc>,
) -> Result<Source, Error> {
    kbs::one::<DB>(c, tenant, source.kb).await?;
    let row = query(
        "INSERT INTO ingestion_sources
             (id, tenant_id, kb_id, kind, name, config, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT DO NOTHING RETURNING *",
    )
    .bind(Uuid::now_v7())
    .bind(tenant.as_uuid())
    .bind(source.kb.as_uuid())
    .bind(source.kind)
    .bind(source.name.as_str())
    .bind(json(&source.config))
    .bind(now)
    .fetch_optional(c)
    .await?;
    let exists = || Error::conflict("source", format!("`{}` exists already", source.name));
    read::<DB>(&row.ok_or_else(exists)?)
}

pub async fn list<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    page: &Page,
) -> Result<Listed<Source>, Error> {
    let mut select: QueryBuilder<DB> =
        QueryBuilder::new("SELECT * FROM ingestion_sources WHERE tenant_id = ");
    select.push_bind(tenant.as_uuid());
    let limit = page_by_name(&mut select, page)?;
    let rows = select.build().fetch_all(c).await?;
    let items = rows.iter().map(read::<DB>).collect::<Result<Vec<_>, _>>()?;
    Ok(cut(items, limit, |source| of_name(&source.name)))
}

pub async fn one<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    source: SourceId,
) -> Result<Source, Error> {
    let row = query("SELECT * FROM ingestion_sources WHERE id = $1 AND tenant_id = $2")
        .bind(source.as_uuid())
        .bind(tenant.as_uuid())
        .fetch_optional(c)
        .await?;
    read::<DB>(&row.ok_or_else(|| Error::not_found("source", source))?)
}

pub async fn update<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    source: SourceId,
    change: SourceChange,
    now: DateTime<Utc>,
) -> Result<Source, Error> {
    let known = one::<DB>(c, tenant, source).await?;
    let row = query(
        "UPDATE ingestion_sources SET name = $2, config = $3, enabled = $4, updated_at = $5
         WHERE id = $1 RETURNING *",
    )
    .bind(source.as_uuid())
    .bind(change.name.unwrap_or(known.name))
    .bind(json(&change.config.unwrap_or(known.config)))
    .bind(change.enabled.unwrap_or(known.enabled))
    .bind(now)
    .fetch_one(c)
    .await?;
    read::<DB>(&row)
}

pub fn read<DB: Dialect>(row: &DB::Row) -> Result<Source, Error> {
    let row = Cells::<DB>(row);
    Ok(Source {
        id: row.id("id", SourceId::from_uuid)?,
        tenant: row.id("tenant_id", TenantId::from_uuid)?,
        kb: row.id("kb_id", KbId::from_uuid)?,
        kind: row.text("kind")?,
        name: row.text("name")?,
        config: row.json("config")?,
        enabled: row.get("enabled")?,
        created_at: row.at("created_at")?,
        updated_at: row.at("updated_at")?,
        last_success_at: row.maybe_at("last_success_at")?,
    })
}
