//! Tenants.

use chrono::{DateTime, Utc};
use model::TenantId;
use sqlx::{QueryBuilder, query};
use uuid::Uuid;

use super::Tx;
use super::cells::Cells;
use super::dialect::Dialect;
use super::paging::{cut, page_by_id};
use crate::{Error, Listed, Page, Tenant};

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
        created_at: now,
    })
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
        created_at: row.at("created_at")?,
    })
}
