//! Tenants: made, listed, renamed and disabled by whoever runs the server, that is, admins of the first one.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use catalog::{FirstStart, FirstStarted, Tenant, TenantChange};
use chrono::{DateTime, Utc};
use model::TenantId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::users::{UserView, checked_login, checked_password};
use crate::auth::{Manage, May, Principal};
use crate::extract::{Asked, Named, Sent};
use crate::gateway::Gateway;
use crate::paging::{Paging, Rows};
use crate::problem::Problem;

const LONGEST_NAME: usize = 100;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(change))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct TenantView {
    pub tenant_id: Uuid,
    pub name: String,
    /// Whoever speaks for it is refused; what it has stays.
    pub disabled: bool,
    pub created_at: DateTime<Utc>,
}

impl From<Tenant> for TenantView {
    fn from(tenant: Tenant) -> Self {
        Self {
            tenant_id: tenant.id.as_uuid(),
            name: tenant.name,
            disabled: tenant.disabled,
            created_at: tenant.created_at,
        }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTenant {
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// Of its first admin; unique among all tenants.
    #[schema(min_length = 1, max_length = 200)]
    pub admin_login: String,
    #[schema(min_length = 8, max_length = 1024)]
    pub admin_password: String,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeTenant {
    #[schema(min_length = 1, max_length = 100)]
    pub name: Option<String>,
    pub disabled: Option<bool>,
}

/// A tenant with its admin and a knowledge base called `default`.
#[derive(Debug, Serialize, ToSchema)]
pub struct TenantMade {
    #[serde(flatten)]
    pub tenant: TenantView,
    pub admin: UserView,
}

/// Newest first.
#[utoipa::path(get, path = "/v1/tenants", tag = "account", params(Paging),
    responses((status = 200, body = Rows<TenantView>)))]
async fn list(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Asked(paging): Asked<Paging>,
) -> Result<Json<Rows<TenantView>>, Problem> {
    gateway.check_operator(&who)?;
    let read = |page| gateway.catalog().tenants(page);
    Ok(Json(Rows::of(paging.read(read).await?, TenantView::from)))
}

#[utoipa::path(post, path = "/v1/tenants", tag = "account", request_body = CreateTenant,
    responses((status = 201, body = TenantMade)))]
async fn create(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Sent(sent): Sent<CreateTenant>,
) -> Result<(StatusCode, Json<TenantMade>), Problem> {
    let founded = found(&gateway, &who, sent).await?;
    let catalog = gateway.catalog();
    let made = TenantMade {
        tenant: catalog.tenant(founded.tenant).await?.into(),
        admin: catalog.user(founded.tenant, founded.admin).await?.into(),
    };
    Ok((StatusCode::CREATED, Json(made)))
}

/// The same for programs and for the admin page.
pub(crate) async fn found(
    gateway: &Gateway,
    who: &Principal,
    sent: CreateTenant,
) -> Result<FirstStarted, Problem> {
    gateway.check_operator(who)?;
    let first = FirstStart {
        tenant_name: checked_name(&sent.name)?.to_owned(),
        admin_login: checked_login(&sent.admin_login)?,
        admin_password_hash: checked_password(sent.admin_password).await?,
        kb_name: "default".to_owned(),
        generation: gateway.generation_spec(),
    };
    Ok(gateway.catalog().found_tenant(first, gateway.now()).await?)
}

/// Renames, disables or enables a tenant. While it is disabled its users, keys, signed addresses
/// and events are refused; what was taken in before is worked off, and all it has stays.
#[utoipa::path(patch, path = "/v1/tenants/{tenant}", tag = "account",
    request_body = ChangeTenant, params(("tenant" = Uuid, Path)),
    responses((status = 200, body = TenantView)))]
async fn change(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(tenant): Named<Uuid>,
    Sent(sent): Sent<ChangeTenant>,
) -> Result<Json<TenantView>, Problem> {
    let tenant = TenantId::from_uuid(tenant);
    let changed = change_to(&gateway, &who, tenant, sent).await?;
    Ok(Json(changed.into()))
}

pub(crate) async fn change_to(
    gateway: &Gateway,
    who: &Principal,
    tenant: TenantId,
    sent: ChangeTenant,
) -> Result<Tenant, Problem> {
    gateway.check_operator(who)?;
    let name = sent.name.as_deref().map(checked_name).transpose()?;
    if sent.disabled == Some(true) && gateway.is_operator_tenant(tenant) {
        return Err(Problem::conflict("the first tenant runs this server"));
    }
    let change = TenantChange {
        name: name.map(str::to_owned),
        disabled: sent.disabled,
    };
    let changed = gateway.catalog().update_tenant(tenant, change).await?;
    tracing::info!(tenant_id = %tenant, disabled = changed.disabled, "tenant changed");
    Ok(changed)
}

fn checked_name(name: &str) -> Result<&str, Problem> {
    let controls = name.chars().any(char::is_control);
    let name = name.trim();
    if (1..=LONGEST_NAME).contains(&name.len()) && !controls {
        Ok(name)
    } else {
        Err(Problem::unprocessable(format!(
            "a tenant's name has 1 to {LONGEST_NAME} bytes and no control characters"
        )))
    }
}
