//! People of a tenant.

use chrono::{DateTime, Utc};
use model::{TenantId, UserId};
use sqlx::{QueryBuilder, query};
use uuid::Uuid;

use super::Tx;
use super::cells::Cells;
use super::dialect::Dialect;
use super::paging::{cut, page_by_id};
use crate::{Error, Listed, NewUser, Page, Role, User, UserChange};

/// A user, and whether their tenant is disabled by now.
const USERS: &str = "SELECT u.*, t.disabled AS tenant_disabled
    FROM users u JOIN tenants t ON t.id = u.tenant_id WHERE ";

pub async fn create<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    user: NewUser,
    now: DateTime<Utc>,
) -> Result<User, Error> {
    let id = Uuid::now_v7();
    let fresh = query(
        "INSERT INTO users (id, tenant_id, login, role, password_hash, created_at)
         SELECT $1, id, $3, $4, $5, $6 FROM tenants WHERE id = $2
         ON CONFLICT DO NOTHING RETURNING id",
    )
    .bind(id)
    .bind(tenant.as_uuid())
    .bind(user.login.as_str())
    .bind(user.role.as_str())
    .bind(user.password_hash)
    .bind(now)
    .fetch_optional(&mut *c)
    .await?;
    fresh.ok_or_else(|| Error::conflict("user", format!("`{}` exists already", user.login)))?;
    one::<DB>(c, tenant, UserId::from_uuid(id)).await
}

fn read<DB: Dialect>(row: &DB::Row) -> Result<User, Error> {
    let row = Cells::<DB>(row);
    Ok(User {
        id: row.id("id", UserId::from_uuid)?,
        tenant: row.id("tenant_id", TenantId::from_uuid)?,
        login: row.text("login")?,
        role: row.word("role")?,
        password_hash: row.text("password_hash")?,
        disabled: row.get("disabled")?,
        tenant_disabled: row.get("tenant_disabled")?,
        created_at: row.at("created_at")?,
    })
}

pub async fn list<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    page: &Page,
) -> Result<Listed<User>, Error> {
    let mut select: QueryBuilder<DB> = QueryBuilder::new(USERS);
    select.push("u.tenant_id = ").push_bind(tenant.as_uuid());
    let limit = page_by_id(&mut select, "u.id", page)?;
    let rows = select.build().fetch_all(c).await?;
    let items = rows.iter().map(read::<DB>);
    let items = items.collect::<Result<Vec<_>, _>>()?;
    Ok(cut(items, limit, |user| user.id.as_uuid()))
}

pub async fn one<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    user: UserId,
) -> Result<User, Error> {
    let mut select: QueryBuilder<DB> = QueryBuilder::new(USERS);
    select.push("u.id = ").push_bind(user.as_uuid());
    select
        .push(" AND u.tenant_id = ")
        .push_bind(tenant.as_uuid());
    let row = select.build().fetch_optional(c).await?;
    read::<DB>(&row.ok_or_else(|| Error::not_found("user", user))?)
}

pub async fn by_login<DB: Dialect>(c: &mut Tx<DB>, login: &str) -> Result<Option<User>, Error> {
    let mut select: QueryBuilder<DB> = QueryBuilder::new(USERS);
    select.push("u.login = ").push_bind(login.to_owned());
    let row = select.build().fetch_optional(c).await?;
    row.as_ref().map(read::<DB>).transpose()
}

pub async fn update<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    user: UserId,
    change: UserChange,
) -> Result<User, Error> {
    let known = query(
        "UPDATE users SET role = coalesce($3, role),
             password_hash = coalesce($4, password_hash),
             disabled = CASE WHEN $5 THEN $6 ELSE disabled END
         WHERE id = $1 AND tenant_id = $2 RETURNING id",
    )
    .bind(user.as_uuid())
    .bind(tenant.as_uuid())
    .bind(change.role.map(Role::as_str))
    .bind(change.password_hash)
    .bind(change.disabled.is_some())
    .bind(change.disabled.unwrap_or(false))
    .fetch_optional(&mut *c)
    .await?;
    known.ok_or_else(|| Error::not_found("user", user))?;
    one::<DB>(c, tenant, user).await
}
