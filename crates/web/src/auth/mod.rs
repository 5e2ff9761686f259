//! Who is asking, and may they?
//!
//! Tenant and user come from the token or the key, never from the payload. A
//! handler names what it needs in its signature ([`May`]), so a route without a
//! rule does not compile into one that lets everybody in.

mod internal;
mod keys;
pub mod password;
pub mod session;
mod throttle;

use std::marker::PhantomData;
use std::ops::Deref;

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use catalog::Role;
use chrono::{DateTime, TimeDelta, Utc};
use model::{ContentHash, TenantId, UserId};

pub use internal::Internal;
pub use keys::{Claims, Key, Keys, Reach, Refused};
pub use throttle::Throttle;

use session::Origin;

use crate::gateway::Gateway;
use crate::problem::Problem;

/// Whoever signed this request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    pub tenant: TenantId,
    /// `None` for a key nobody is known to have made.
    pub user: Option<UserId>,
    pub role: Role,
    /// What a key is limited to; empty means all its role may do.
    pub scopes: Vec<String>,
    pub reach: Reach,
}

/// Something one may be allowed to do.
pub trait Right: Send + Sync + 'static {
    /// The scope a key needs, where it is limited at all.
    const SCOPE: &'static str;
    const ADMIN: bool = false;
}

macro_rules! rights {
    ($($(#[$doc:meta])* $name:ident = $scope:literal $(, admin $admin:literal)?;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;

        impl Right for $name {
            const SCOPE: &'static str = $scope;
            $(const ADMIN: bool = $admin;)?
        }
    )*
        /// Every scope a key may be limited to.
        pub const SCOPES: &[&str] = &[$($scope),*];
    };
}

rights! {
    /// See documents, runs, jobs, status.
    Read = "read";
    /// Search and ask.
    Search = "search";
    /// Bring in documents.
    Ingest = "ingest";
    /// Sources, jobs, users, keys, knowledge bases; deactivate, roll back, purge.
    Manage = "manage", admin true;
}

/// A principal that may do `R`.
#[derive(Debug, Clone)]
pub struct May<R>(pub Principal, PhantomData<R>);

impl<R> Deref for May<R> {
    type Target = Principal;

    fn deref(&self) -> &Principal {
        &self.0
    }
}

impl Principal {
    pub fn may<R: Right>(&self) -> bool {
        let role_allows = !R::ADMIN || self.role == Role::Admin;
        let in_scope = self.scopes.is_empty() || self.scopes.iter().any(|s| s == R::SCOPE);
        role_allows && in_scope
    }
}

impl<R: Right> FromRequestParts<Gateway> for May<R> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Problem> {
        let known = parts.extensions.get::<Principal>().cloned();
        let principal = match known {
            Some(principal) => principal,
            None => gateway.principal(parts).await?,
        };
        if principal.may::<R>() {
            Ok(Self(principal, PhantomData))
        } else {
            Err(Problem::forbidden(R::SCOPE))
        }
    }
}

impl Gateway {
    pub(crate) async fn principal(&self, parts: &Parts) -> Result<Principal, Problem> {
        match credential(parts)? {
            Some(secret) if secret.starts_with(API_KEY_PREFIX) => self.key_holder(secret).await,
            Some(token) => self.token_holder(token).await,
            None if !self.settings().auth_enabled => {
                session::check_host(parts)?;
                session::check_origin(parts, Origin::MayBeAbsent)?;
                Ok(self.first_admin())
            }
            None => self.session_holder(parts).await,
        }
    }

    /// A browser sends its cookie whoever made it ask, so it must also say where from.
    async fn session_holder(&self, parts: &Parts) -> Result<Principal, Problem> {
        let token = session::token(&parts.headers)
            .ok_or_else(|| Problem::unauthorized("sign in, or send an API key"))?;
        session::check_origin(parts, Origin::Needed)?;
        self.token_holder(token).await
    }

    /// The token says who; what they may do, and whether they still may, is looked up.
    async fn token_holder(&self, token: &str) -> Result<Principal, Problem> {
        let claims = self
            .keys()
            .read(token, self.now())
            .map_err(|refused| Problem::unauthorized(&refused.to_string()))?;
        let user = match self.catalog().user(claims.tenant_id, claims.sub).await {
            Ok(user) if user.may_come_in() => user,
            Ok(_) | Err(catalog::Error::NotFound { .. }) => {
                return Err(Problem::unauthorized("the account is disabled or gone"));
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Principal {
            tenant: user.tenant,
            user: Some(user.id),
            role: user.role,
            scopes: Vec::new(),
            reach: claims.reach,
        })
    }

    /// For what is believed by its signature, whoever sends it.
    pub(crate) async fn check_enabled(&self, tenant: TenantId) -> Result<(), Problem> {
        if self.catalog().tenant(tenant).await?.disabled {
            let refused = "the tenant is disabled";
            let problem = Problem::new(StatusCode::FORBIDDEN, "tenant_disabled", refused);
            return Err(problem.hint("ask whoever runs this server"));
        }
        Ok(())
    }

    async fn key_holder(&self, secret: &str) -> Result<Principal, Problem> {
        let hash = ContentHash::of(secret.as_bytes());
        let now = self.now();
        let key = self.catalog().api_key_by_hash(hash).await?;
        let key = key.filter(|key| key.opens(now));
        let refused = "the API key is unknown, expired or revoked, or whoever made it disabled";
        let key = key.ok_or_else(|| Problem::unauthorized(refused))?;
        let due = |last: DateTime<Utc>| now - last >= TOUCH;
        if key.last_used_at.is_none_or(due) {
            self.catalog().touch_api_key(key.id, now).await?;
        }
        Ok(Principal {
            tenant: key.tenant,
            user: key.created_by,
            role: key.role,
            scopes: key.scopes,
            reach: Reach::Tenant,
        })
    }
}

/// How closely the last use of a key is kept: not every request is worth a write.
const TOUCH: TimeDelta = TimeDelta::minutes(1);

/// Tells an API key from a token, and a leaked one from other strings.
pub const API_KEY_PREFIX: &str = "gm_";

/// A new API key: the secret, shown once, and what is kept of it.
pub fn new_api_key() -> (String, ContentHash) {
    let random: [u8; 32] = rand::random();
    let secret = format!("{API_KEY_PREFIX}{}", encoded(&random));
    let hash = ContentHash::of(secret.as_bytes());
    (secret, hash)
}

pub(crate) fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// What the request was signed with, if anything.
fn credential(parts: &Parts) -> Result<Option<&str>, Problem> {
    let text = |value: &'_ HeaderValue| value.to_str().is_ok();
    if let Some(key) = parts.headers.get("x-api-key").filter(|v| text(v)) {
        return Ok(key.to_str().ok());
    }
    let Some(value) = parts.headers.get(AUTHORIZATION) else {
        return Ok(None);
    };
    match bearer(value) {
        Some(token) => Ok(Some(token)),
        None => Err(Problem::unauthorized(
            "send `Authorization: Bearer <token or key>`",
        )),
    }
}

/// What follows `Bearer` in an `Authorization` header.
fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, rest) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(rest.trim())
}
