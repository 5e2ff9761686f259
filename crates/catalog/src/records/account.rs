//! Who may do what.

use chrono::{DateTime, Utc};
use model::{ApiKeyId, ContentHash, TenantId, UserId};

use super::{GenerationSpec, words};

words! {
    /// What a person or a key may do.
    Role {
        Admin = "admin",
        User = "user",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    pub id: TenantId,
    pub name: String,
    /// Whoever speaks for it is refused; what it has stays.
    pub disabled: bool,
    pub created_at: DateTime<Utc>,
}

/// What is to change; `None` leaves a thing as it is.
#[derive(Debug, Clone, Default)]
pub struct TenantChange {
    pub name: Option<String>,
    pub disabled: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: UserId,
    pub tenant: TenantId,
    /// Unique among all tenants: it is all a sign-in page asks for.
    pub login: String,
    pub role: Role,
    /// In PHC form, as argon2 writes it.
    pub password_hash: String,
    pub disabled: bool,
    pub tenant_disabled: bool,
    pub created_at: DateTime<Utc>,
}

impl User {
    pub const fn may_come_in(&self) -> bool {
        !self.disabled && !self.tenant_disabled
    }
}

#[derive(Debug, Clone)]
pub struct NewUser {
    pub login: String,
    pub role: Role,
    pub password_hash: String,
}

/// What is to change; `None` leaves a thing as it is.
#[derive(Debug, Clone, Default)]
pub struct UserChange {
    pub role: Option<Role>,
    pub password_hash: Option<String>,
    pub disabled: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub id: ApiKeyId,
    pub tenant: TenantId,
    pub name: String,
    /// Its own, and never more than its maker has by now.
    pub role: Role,
    /// What the key is limited to; empty means all its role may do.
    pub scopes: Vec<String>,
    pub created_by: Option<UserId>,
    /// Whoever made it is disabled: while they are, it opens nothing.
    pub maker_disabled: bool,
    pub tenant_disabled: bool,
    pub created_at: DateTime<Utc>,
    pub expires_at: Option<DateTime<Utc>>,
    pub revoked_at: Option<DateTime<Utc>>,
    pub last_used_at: Option<DateTime<Utc>>,
}

impl ApiKey {
    pub fn opens(&self, now: DateTime<Utc>) -> bool {
        let in_time = self.expires_at.is_none_or(|expires| expires > now);
        let disabled = self.maker_disabled || self.tenant_disabled;
        self.revoked_at.is_none() && in_time && !disabled
    }
}

#[derive(Debug, Clone)]
pub struct NewApiKey {
    pub name: String,
    /// Of the secret; the secret itself never reaches the catalog.
    pub hash: ContentHash,
    pub role: Role,
    pub scopes: Vec<String>,
    pub created_by: Option<UserId>,
    pub expires_at: Option<DateTime<Utc>>,
}

/// What the very first start needs before anything can be asked.
#[derive(Debug, Clone)]
pub struct FirstStart {
    pub tenant_name: String,
    pub admin_login: String,
    pub admin_password_hash: String,
    pub kb_name: String,
    pub generation: GenerationSpec,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstStarted {
    pub tenant: TenantId,
    pub admin: UserId,
    /// `false` on every start but the first.
    pub created: bool,
}
