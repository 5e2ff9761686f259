//! Tenants, users and keys.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::{ApiKeyId, ContentHash, KbId, TenantId, UserId};
use sqlx::{QueryBuilder, query};
use uuid::Uuid;

use super::cells::{Cells, bytes, json, micros};
use super::dialect::Dialect;
use super::paging::{cut, page_by_id};
use super::{Sql, Tx, kbs};
use crate::{
    Accounts, ApiKey, Error, FirstStart, FirstStarted, Listed, NewApiKey, NewUser, Page, Role,
    Tenant, User, UserChange,
};

#[async_trait]
impl<DB: Dialect> Accounts for Sql<DB> {
    async fn ensure_first_start(
        &self,
        first: FirstStart,
        now: DateTime<Utc>,
    ) -> Result<FirstStarted, Error> {
        self.write("catalog.ensure_first_start", move |c| {
            Box::pin(first_start::<DB>(c, first, micros(now)))
        })
        .await
    }

    async fn create_tenant(&self, name: &str, now: DateTime<Utc>) -> Result<Tenant, Error> {
        let name = name.to_owned();
        self.write("catalog.create_tenant", move |c| {
            Box::pin(async move { create_tenant::<DB>(c, &name, micros(now)).await })
        })
        .await
    }

    async fn found_tenant(
        &self,
        first: FirstStart,
        now: DateTime<Utc>,
    ) -> Result<FirstStarted, Error> {
        self.write("catalog.found_tenant", move |c| {
            Box::pin(found::<DB>(c, first, micros(now)))
        })
        .await
    }

    async fn tenants(&self, page: Page) -> Result<Listed<Tenant>, Error> {
        self.read("catalog.tenants", move |c| {
            Box::pin(async move { tenants::<DB>(c, &page).await })
        })
        .await
    }

    async fn create_user(
        &self,
        tenant: TenantId,
        user: NewUser,
        now: DateTime<Utc>,
    ) -> Result<User, Error> {
        self.write("catalog.create_user", move |c| {
            Box::pin(create_user::<DB>(c, tenant, user, micros(now)))
        })
        .await
    }

    async fn users(&self, tenant: TenantId, page: Page) -> Result<Listed<User>, Error> {
        self.read("catalog.users", move |c| {
            Box::pin(async move { users::<DB>(c, tenant, &page).await })
        })
        .await
    }

    async fn user(&self, tenant: TenantId, user: UserId) -> Result<User, Error> {
        self.read("catalog.user", move |c| {
            Box::pin(one_user::<DB>(c, tenant, user))
        })
        .await
    }

    async fn user_by_login(&self, login: &str) -> Result<Option<User>, Error> {
        let login = login.to_owned();
        self.read("catalog.user_by_login", move |c| {
            Box::pin(async move { user_by_login::<DB>(c, &login).await })
        })
        .await
    }

    async fn update_user(
        &self,
        tenant: TenantId,
        user: UserId,
        change: UserChange,
    ) -> Result<User, Error> {
        self.write("catalog.update_user", move |c| {
            Box::pin(update_user::<DB>(c, tenant, user, change))
        })
        .await
    }

    async fn create_api_key(
        &self,
        tenant: TenantId,
        key: NewApiKey,
        now: DateTime<Utc>,
    ) -> Result<ApiKey, Error> {
        self.write("catalog.create_api_key", move |c| {
            Box::pin(create_api_key::<DB>(c, tenant, key, micros(now)))
        })
        .await
    }

    async fn api_keys(&self, tenant: TenantId, page: Page) -> Result<Listed<ApiKey>, Error> {
        self.read("catalog.api_keys", move |c| {
            Box::pin(async move { api_keys::<DB>(c, tenant, &page).await })
        })
        .await
    }

    async fn revoke_api_key(
        &self,
        tenant: TenantId,
        key: ApiKeyId,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        self.write("catalog.revoke_api_key", move |c| {
            Box::pin(revoke_api_key::<DB>(c, tenant, key, micros(now)))
        })
        .await
    }

    async fn api_key_by_hash(&self, hash: ContentHash) -> Result<Option<ApiKey>, Error> {
        self.read("catalog.api_key_by_hash", move |c| {
            Box::pin(api_key_by_hash::<DB>(c, hash))
        })
        .await
    }

    async fn touch_api_key(&self, key: ApiKeyId, now: DateTime<Utc>) -> Result<(), Error> {
        self.write("catalog.touch_api_key", move |c| {
            Box::pin(async move {
                query("UPDATE api_keys SET last_used_at = $2 WHERE id = $1")
                    .bind(key.as_uuid())
                    .bind(micros(now))
                    .execute(c)
                    .await?;
                Ok(())
            })
        })
        .await
    }
}

async fn first_start<DB: Dialect>(
    c: &mut Tx<DB>,
    first: FirstStart,
    now: DateTime<Utc>,
) -> Result<FirstStarted, Error> {
    let oldest = query("SELECT id FROM tenants ORDER BY created_at, id LIMIT 1");
    if let Some(row) = oldest.fetch_optional(&mut *c).await? {
        let tenant = Cells::<DB>(&row).id("id", TenantId::from_uuid)?;
        return started_before::<DB>(c, tenant, &first).await;
    }
    found::<DB>(c, first, now).await
}

async fn found<DB: Dialect>(
    c: &mut Tx<DB>,
    first: FirstStart,
    now: DateTime<Utc>,
) -> Result<FirstStarted, Error> {
    let tenant = create_tenant::<DB>(c, &first.tenant_name, now).await?.id;
    let admin = NewUser {
        login: first.admin_login,
        role: Role::Admin,
        password_hash: first.admin_password_hash,
    };
    let admin = create_user::<DB>(c, tenant, admin, now).await?.id;
    let kb = kbs::create::<DB>(c, tenant, &first.kb_name, &first.generation, now)
        .await?
        .id;
    Ok(FirstStarted {
        tenant,
        admin,
        kb,
        created: true,
    })
}

async fn started_before<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    first: &FirstStart,
) -> Result<FirstStarted, Error> {
    let admin = query(
        "SELECT id FROM users WHERE tenant_id = $1 AND role = $2
         ORDER BY disabled, created_at, id LIMIT 1",
    )
    .bind(tenant.as_uuid())
    .bind(Role::Admin.as_str())
    .fetch_optional(&mut *c)
    .await?;
    let admin = admin.ok_or_else(|| Error::not_found("admin of tenant", tenant))?;
    let kb = query(
        "SELECT id FROM knowledge_bases WHERE tenant_id = $1
         ORDER BY CASE WHEN name = $2 THEN 0 ELSE 1 END, name LIMIT 1",
    )
    .bind(tenant.as_uuid())
    .bind(first.kb_name.as_str())
    .fetch_optional(&mut *c)
    .await?;
    let kb = kb.ok_or_else(|| Error::not_found("knowledge base of tenant", tenant))?;
    Ok(FirstStarted {
        tenant,
        admin: Cells::<DB>(&admin).id("id", UserId::from_uuid)?,
        kb: Cells::<DB>(&kb).id("id", KbId::from_uuid)?,
        created: false,
    })
}

async fn create_tenant<DB: Dialect>(
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

async fn tenants<DB: Dialect>(c: &mut Tx<DB>, page: &Page) -> Result<Listed<Tenant>, Error> {
    let mut select: QueryBuilder<DB> = QueryBuilder::new("SELECT * FROM tenants WHERE TRUE");
    let limit = page_by_id(&mut select, "id", page)?;
    let rows = select.build().fetch_all(c).await?;
    let items = rows.iter().map(read_tenant::<DB>);
    let items = items.collect::<Result<Vec<_>, _>>()?;
    Ok(cut(items, limit, |tenant| tenant.id.as_uuid()))
}

fn read_tenant<DB: Dialect>(row: &DB::Row) -> Result<Tenant, Error> {
    let row = Cells::<DB>(row);
    Ok(Tenant {
        id: row.id("id", TenantId::from_uuid)?,
        name: row.text("name")?,
        created_at: row.at("created_at")?,
    })
}

async fn create_user<DB: Dialect>(
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
    .bind(user.password_hash.as_str())
    .bind(now)
    .fetch_optional(c)
    .await?;
    fresh.ok_or_else(|| Error::conflict("user", format!("`{}` exists already", user.login)))?;
    Ok(User {
        id: UserId::from_uuid(id),
        tenant,
        login: user.login,
        role: user.role,
        password_hash: user.password_hash,
        disabled: false,
        created_at: now,
    })
}

fn read_user<DB: Dialect>(row: &DB::Row) -> Result<User, Error> {
    let row = Cells::<DB>(row);
    Ok(User {
        id: row.id("id", UserId::from_uuid)?,
        tenant: row.id("tenant_id", TenantId::from_uuid)?,
        login: row.text("login")?,
        role: row.word("role")?,
        password_hash: row.text("password_hash")?,
        disabled: row.get("disabled")?,
        created_at: row.at("created_at")?,
    })
}

async fn users<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    page: &Page,
) -> Result<Listed<User>, Error> {
    let mut select: QueryBuilder<DB> = QueryBuilder::new("SELECT * FROM users WHERE tenant_id = ");
    select.push_bind(tenant.as_uuid());
    let limit = page_by_id(&mut select, "id", page)?;
    let rows = select.build().fetch_all(c).await?;
    let items = rows.iter().map(read_user::<DB>);
    let items = items.collect::<Result<Vec<_>, _>>()?;
    Ok(cut(items, limit, |user| user.id.as_uuid()))
}

async fn one_user<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    user: UserId,
) -> Result<User, Error> {
    let row = query("SELECT * FROM users WHERE id = $1 AND tenant_id = $2")
        .bind(user.as_uuid())
        .bind(tenant.as_uuid())
        .fetch_optional(c)
        .await?;
    read_user::<DB>(&row.ok_or_else(|| Error::not_found("user", user))?)
}

async fn user_by_login<DB: Dialect>(c: &mut Tx<DB>, login: &str) -> Result<Option<User>, Error> {
    let row = query("SELECT * FROM users WHERE login = $1")
        .bind(login)
        .fetch_optional(c)
        .await?;
    row.as_ref().map(read_user::<DB>).transpose()
}

async fn update_user<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    user: UserId,
    change: UserChange,
) -> Result<User, Error> {
    let row = query(
        "UPDATE users SET role = coalesce($3, role),
             password_hash = coalesce($4, password_hash),
             disabled = CASE WHEN $5 THEN $6 ELSE disabled END
         WHERE id = $1 AND tenant_id = $2 RETURNING *",
    )
    .bind(user.as_uuid())
    .bind(tenant.as_uuid())
    .bind(change.role.map(Role::as_str))
    .bind(change.password_hash)
    .bind(change.disabled.is_some())
    .bind(change.disabled.unwrap_or(false))
    .fetch_optional(c)
    .await?;
    read_user::<DB>(&row.ok_or_else(|| Error::not_found("user", user))?)
}

/// A key, and whether whoever made it is disabled by now.
const KEYS: &str = "SELECT k.*, EXISTS (SELECT 1 FROM users u
        WHERE u.id = k.created_by AND u.disabled) AS maker_disabled
    FROM api_keys k WHERE ";

async fn create_api_key<DB: Dialect>(
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
    read_key::<DB>(&select.build().fetch_one(c).await?)
}

fn read_key<DB: Dialect>(row: &DB::Row) -> Result<ApiKey, Error> {
    let row = Cells::<DB>(row);
    Ok(ApiKey {
        id: row.id("id", ApiKeyId::from_uuid)?,
        tenant: row.id("tenant_id", TenantId::from_uuid)?,
        name: row.text("name")?,
        role: row.word("role")?,
        scopes: row.json("scopes")?,
        created_by: row.maybe_id("created_by", UserId::from_uuid)?,
        maker_disabled: row.get("maker_disabled")?,
        created_at: row.at("created_at")?,
        expires_at: row.maybe_at("expires_at")?,
        revoked_at: row.maybe_at("revoked_at")?,
        last_used_at: row.maybe_at("last_used_at")?,
    })
}

async fn api_keys<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    page: &Page,
) -> Result<Listed<ApiKey>, Error> {
    let mut select: QueryBuilder<DB> = QueryBuilder::new(KEYS);
    select.push("k.tenant_id = ").push_bind(tenant.as_uuid());
    let limit = page_by_id(&mut select, "k.id", page)?;
    let rows = select.build().fetch_all(c).await?;
    let items = rows.iter().map(read_key::<DB>);
    let items = items.collect::<Result<Vec<_>, _>>()?;
    Ok(cut(items, limit, |key| key.id.as_uuid()))
}

async fn revoke_api_key<DB: Dialect>(
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

async fn api_key_by_hash<DB: Dialect>(
    c: &mut Tx<DB>,
    hash: ContentHash,
) -> Result<Option<ApiKey>, Error> {
    let mut select: QueryBuilder<DB> = QueryBuilder::new(KEYS);
    select.push("k.hash = ").push_bind(bytes(&hash));
    let row = select.build().fetch_optional(c).await?;
    row.as_ref().map(read_key::<DB>).transpose()
}
