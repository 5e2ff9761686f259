//! The methods about tenants, users and keys, each given its transaction; and the first start.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::{ApiKeyId, ContentHash, TenantId, UserId};
use sqlx::query;

use super::cells::{Cells, micros};
use super::dialect::Dialect;
use super::{Sql, Tx, kbs, keys, tenants, users};
use crate::{
    Accounts, ApiKey, Error, FirstStart, FirstStarted, Listed, NewApiKey, NewUser, Page, Role,
    Tenant, TenantChange, User, UserChange,
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
            Box::pin(async move { tenants::create::<DB>(c, &name, micros(now)).await })
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

    async fn tenant(&self, tenant: TenantId) -> Result<Tenant, Error> {
        self.read("catalog.tenant", move |c| {
            Box::pin(tenants::one::<DB>(c, tenant))
        })
        .await
    }

    async fn update_tenant(&self, tenant: TenantId, change: TenantChange) -> Result<Tenant, Error> {
        self.write("catalog.update_tenant", move |c| {
            Box::pin(tenants::update::<DB>(c, tenant, change))
        })
        .await
    }

    async fn tenants(&self, page: Page) -> Result<Listed<Tenant>, Error> {
        self.read("catalog.tenants", move |c| {
            Box::pin(async move { tenants::list::<DB>(c, &page).await })
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
            Box::pin(users::create::<DB>(c, tenant, user, micros(now)))
        })
        .await
    }

    async fn users(&self, tenant: TenantId, page: Page) -> Result<Listed<User>, Error> {
        self.read("catalog.users", move |c| {
            Box::pin(async move { users::list::<DB>(c, tenant, &page).await })
        })
        .await
    }

    async fn user(&self, tenant: TenantId, user: UserId) -> Result<User, Error> {
        self.read("catalog.user", move |c| {
            Box::pin(users::one::<DB>(c, tenant, user))
        })
        .await
    }

    async fn user_by_login(&self, login: &str) -> Result<Option<User>, Error> {
        let login = login.to_owned();
        self.read("catalog.user_by_login", move |c| {
            Box::pin(async move { users::by_login::<DB>(c, &login).await })
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
            Box::pin(users::update::<DB>(c, tenant, user, change))
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
            Box::pin(keys::create::<DB>(c, tenant, key, micros(now)))
        })
        .await
    }

    async fn api_keys(&self, tenant: TenantId, page: Page) -> Result<Listed<ApiKey>, Error> {
        self.read("catalog.api_keys", move |c| {
            Box::pin(async move { keys::list::<DB>(c, tenant, &page).await })
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
            Box::pin(keys::revoke::<DB>(c, tenant, key, micros(now)))
        })
        .await
    }

    async fn api_key_by_hash(&self, hash: ContentHash) -> Result<Option<ApiKey>, Error> {
        self.read("catalog.api_key_by_hash", move |c| {
            Box::pin(keys::by_hash::<DB>(c, hash))
        })
        .await
    }

    async fn touch_api_key(&self, key: ApiKeyId, now: DateTime<Utc>) -> Result<(), Error> {
        self.write("catalog.touch_api_key", move |c| {
            Box::pin(keys::touch::<DB>(c, key, micros(now)))
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
        return started_before::<DB>(c, tenant).await;
    }
    found::<DB>(c, first, now).await
}

async fn found<DB: Dialect>(
    c: &mut Tx<DB>,
    first: FirstStart,
    now: DateTime<Utc>,
) -> Result<FirstStarted, Error> {
    let tenant = tenants::create::<DB>(c, &first.tenant_name, now).await?.id;
    let admin = NewUser {
        login: first.admin_login,
        role: Role::Admin,
        password_hash: first.admin_password_hash,
    };
    let admin = users::create::<DB>(c, tenant, admin, now).await?.id;
    kbs::create::<DB>(c, tenant, &first.kb_name, &first.generation, now).await?;
    Ok(FirstStarted {
        tenant,
        admin,
        created: true,
    })
}

/// Asks for no knowledge base: one that was lost is brought back by a house that opens.
async fn started_before<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
) -> Result<FirstStarted, Error> {
    let admin = query(
        "SELECT id FROM users WHERE tenant_id = $1 AND role = $2
         ORDER BY disabled, created_at, id LIMIT 1",
    )
    .bind(tenant.as_uuid())
    .bind(Role::Admin.as_str())
    .fetch_optional(c)
    .await?;
    let admin = admin.ok_or_else(|| Error::not_found("admin of tenant", tenant))?;
    Ok(FirstStarted {
        tenant,
        admin: Cells::<DB>(&admin).id("id", UserId::from_uuid)?,
        created: false,
    })
}
