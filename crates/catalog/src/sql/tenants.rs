//! Tenants.

use chrono::{DateTime, Utc};
use model::TenantId;
use sqlx::{QueryBuilder, query};
use uuid::Uuid;

use super::Tx;
use super::cells::Cells;
use super::dialect::Dialect;
use super::paging::{cut, page_by_id};
use crate::{Error, Listed, Page, Tenant, TenantChange};

pub async fn create<DB: Dialect>(
    c: &mut Tx<DB>,
    name: &str,
    now: DateTime<Utc>,
) -> Result<Tenant, Error> {
    let id = Uuid::now_v7();
    let fresh = query(
        "INSERT INTO tenants (id, name, created_at) VALUES ($1, $2, $3)
         ON CONFLICT DO NOTHING RETURNING id",
    )
    .bind(id)
    .bind(name)
    .bind(now)
    .fetch_optional(c)
    .await?;
    fresh.ok_or_else(|| Error::conflict("tenant", format!("`{name}` exists already")))?;
    Ok(Tenant {
        id: TenantId::from_uuid(id),
        name: name.to_owned(),
        disabled: false,
        created_at: now,
    })
}

pub async fn one<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId) -> Result<Tenant, Error> {
    let row = query("SELECT * FROM tenants WHERE id = $1")
        .bind(tenant.as_uuid())
        .fetch_optional(c)
        .await?;
    read::<DB>(&row.ok_or_else(|| Error::not_found("tenant", tenant))?)
}

pub async fn update<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    change: TenantChange,
) -> Result<Tenant, Error> {
    if let Some(name) = &change.name {
        let another = query("SELECT id FROM tenants WHERE name = $1 AND id <> $2")
            .bind(name.as_str())
            .bind(tenant.as_uuid())
            .fetch_optional(&mut *c)
            .await?;
        if another.is_some() {
            let why = format!("`{name}` exists already");
            return Err(Error::conflict("tenant", why));
        }
    }
    let row = query(
        "UPDATE tenants SET name = coalesce($2, name),
             disabled = CASE WHEN $3 THEN $4 ELSE disabled END
         WHERE id = $1 RETURNING *",
    )
    .bind(tenant.as_uuid())
    .bind(change.name)
    .bind(change.disabled.is_some())
    .bind(change.disabled.unwrap_or(false))
    .fetch_optional(c)
    .await?;
    read::<DB>(&row.ok_or_else(|| Error::not_found("tenant", tenant))?)
}

pub async fn list<DB: Dialect>(c: &mut Tx<DB>, page: &Page) -> Result<Listed<Tenant>, Error> {
    let mut select: QueryBuilder<DB> = QueryBuilder::new("SELECT * FROM tenants WHERE TRUE");
    let limit = page_by_id(&mut select, "id", page)?;
    let rows = select.build().fetch_all(c).await?;
    let items = rows.iter().map(read::<DB>);
    let items = items.collect::<Result<Vec<_>, _>>()?;
    Ok(cut(items, limit, |tenant| tenant.id.as_uuid()))
}

fn read<DB: Dialect>(row: &DB::Row) -> Result<Tenant, Error> {
    let row = Cells::<DB>(row);
    Ok(Tenant {
        id: row.id("id", TenantId::from_uuid)?,
        name: row.text("name")?,
        disabled: row.get("disabled")?,
        created_at: row.at("created_at")?,
    })
}
