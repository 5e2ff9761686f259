//! Keys applications sign in with.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use catalog::{ApiKey, NewApiKey, Role};
use chrono::{DateTime, Utc};
use model::ApiKeyId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{Manage, May, Principal, SCOPES, new_api_key};
use crate::extract::{Asked, Named, Sent, check_time};
use crate::gateway::Gateway;
use crate::idempotency::ShownOnce;
use crate::paging::{Paging, Rows};
use crate::problem::Problem;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(revoke))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct KeyView {
    pub id: Uuid,
    pub name: String,
    #[schema(value_type = String)]
    pub role: Role,
    /// Empty means all its role may do.
    pub scopes: Vec<String>,
    /// Whoever made it is disabled: while they are, it opens nothing.
    pub maker_disabled: bool,
    pub created_at: DateTime<Utc>,
    pub expires_at: Option<DateTime<Utc>>,
    pub revoked_at: Option<DateTime<Utc>>,
    /// To the minute.
    pub last_used_at: Option<DateTime<Utc>>,
}

impl From<ApiKey> for KeyView {
    fn from(key: ApiKey) -> Self {
        Self {
            id: key.id.as_uuid(),
            name: key.name,
            role: key.role,
            scopes: key.scopes,
            maker_disabled: key.maker_disabled,
            created_at: key.created_at,
            expires_at: key.expires_at,
            revoked_at: key.revoked_at,
            last_used_at: key.last_used_at,
        }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateKey {
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    #[schema(value_type = String, example = "user", pattern = "^(admin|user)$")]
    pub role: Role,
    /// Of `read`, `search`, `ingest`, `manage`; none means all its role may do.
    #[serde(default)]
    pub scopes: Vec<String>,
    pub expires_at: Option<DateTime<Utc>>,
}

/// The only time the secret is shown.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedKey {
    pub secret: String,
    #[serde(flatten)]
    pub key: KeyView,
}

/// Newest first, revoked ones included.
#[utoipa::path(get, path = "/v1/api-keys", tag = "account", params(Paging),
    responses((status = 200, body = Rows<KeyView>)))]
async fn list(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Asked(paging): Asked<Paging>,
) -> Result<Json<Rows<KeyView>>, Problem> {
    let read = |page| gateway.catalog().api_keys(who.tenant, page);
    Ok(Json(Rows::of(paging.read(read).await?, KeyView::from)))
}

#[utoipa::path(post, path = "/v1/api-keys", tag = "account", request_body = CreateKey,
    responses((status = 201, body = CreatedKey)))]
async fn create(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Sent(sent): Sent<CreateKey>,
) -> Result<impl IntoResponse, Problem> {
    if let Some(scope) = sent.scopes.iter().find(|s| !SCOPES.contains(&s.as_str())) {
        let known = SCOPES.join(", ");
        return Err(Problem::unprocessable(format!(
            "`{scope}` is not a scope ({known})"
        )));
    }
    if !(1..=200).contains(&sent.name.trim().len()) {
        return Err(Problem::unprocessable("a key's name has 1 to 200 bytes"));
    }
    check_time("expires_at", sent.expires_at)?;
    check_reach(&who, &sent.scopes)?;
    let (secret, hash) = new_api_key();
    let key = NewApiKey {
        name: sent.name.trim().to_owned(),
        hash,
        role: sent.role,
        scopes: sent.scopes,
        created_by: who.user,
        expires_at: sent.expires_at,
    };
    let key = gateway
        .catalog()
        .create_api_key(who.tenant, key, gateway.now());
    let key = key.await?.into();
    let made = Json(CreatedKey { secret, key });
    Ok((StatusCode::CREATED, Extension(ShownOnce), made))
}

/// A key that is limited makes no key that is limited less.
pub fn check_reach(who: &Principal, scopes: &[String]) -> Result<(), Problem> {
    let beyond = |scope: &String| !who.scopes.contains(scope);
    if !who.scopes.is_empty() && (scopes.is_empty() || scopes.iter().any(beyond)) {
        return Err(Problem::forbidden("do all that the new key may"));
    }
    Ok(())
}

/// From now on the key opens nothing. Revoking twice is fine.
#[utoipa::path(delete, path = "/v1/api-keys/{key}", tag = "account",
    params(("key" = Uuid, Path)), responses((status = 204)))]
async fn revoke(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(key): Named<Uuid>,
) -> Result<StatusCode, Problem> {
    let key = ApiKeyId::from_uuid(key);
    let now = gateway.now();
    gateway
        .catalog()
        .revoke_api_key(who.tenant, key, now)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
