use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::{ApiKeyId, ContentHash, TenantId, UserId};

use crate::{
    ApiKey, Error, FirstStart, FirstStarted, Listed, NewApiKey, NewUser, Page, Tenant,
    TenantChange, User, UserChange,
};

/// Who there is.
#[async_trait]
pub trait Accounts {
    /// Makes the first tenant, its admin and its knowledge base, unless there is a tenant.
    async fn ensure_first_start(
        &self,
        first: FirstStart,
        now: DateTime<Utc>,
    ) -> Result<FirstStarted, Error>;

    async fn create_tenant(&self, name: &str, now: DateTime<Utc>) -> Result<Tenant, Error>;

    /// A tenant with its first admin and knowledge base, all or nothing.
    async fn found_tenant(
        &self,
        first: FirstStart,
        now: DateTime<Utc>,
    ) -> Result<FirstStarted, Error>;

    async fn tenant(&self, tenant: TenantId) -> Result<Tenant, Error>;

    /// A conflict where another has the name.
    async fn update_tenant(&self, tenant: TenantId, change: TenantChange) -> Result<Tenant, Error>;

    async fn tenants(&self, page: Page) -> Result<Listed<Tenant>, Error>;

    async fn create_user(
        &self,
        tenant: TenantId,
        user: NewUser,
        now: DateTime<Utc>,
    ) -> Result<User, Error>;

    async fn users(&self, tenant: TenantId, page: Page) -> Result<Listed<User>, Error>;

    async fn user(&self, tenant: TenantId, user: UserId) -> Result<User, Error>;

    /// Before sign-in there is no tenant yet: this looks among all of them.
    async fn user_by_login(&self, login: &str) -> Result<Option<User>, Error>;

    async fn update_user(
        &self,
        tenant: TenantId,
        user: UserId,
        change: UserChange,
    ) -> Result<User, Error>;

    async fn create_api_key(
        &self,
        tenant: TenantId,
        key: NewApiKey,
        now: DateTime<Utc>,
    ) -> Result<ApiKey, Error>;

    async fn api_keys(&self, tenant: TenantId, page: Page) -> Result<Listed<ApiKey>, Error>;

    /// Revoking twice keeps the first time.
    async fn revoke_api_key(
        &self,
        tenant: TenantId,
        key: ApiKeyId,
        now: DateTime<Utc>,
    ) -> Result<(), Error>;

    /// The key as it is, revoked, expired or of a disabled maker included: whoever asks
    /// decides, and says why.
    async fn api_key_by_hash(&self, hash: ContentHash) -> Result<Option<ApiKey>, Error>;

    /// Remembers when a key was last used; losing one such mark is no loss.
    async fn touch_api_key(&self, key: ApiKeyId, now: DateTime<Utc>) -> Result<(), Error>;
}
