//! Tenants: made and listed by whoever runs the server, that is, admins of the first one.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use catalog::{FirstStart, Tenant};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::users::{UserView, checked_login, checked_password};
use crate::auth::{Manage, May};
use crate::extract::{Asked, Sent};
use crate::gateway::Gateway;
use crate::paging::{Paging, Rows};
use crate::problem::Problem;

const LONGEST_NAME: usize = 100;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(list, create))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct TenantView {
    pub tenant_id: Uuid,
    pub name: String,
    pub created_at: DateTime<Utc>,
}

impl From<Tenant> for TenantView {
    fn from(tenant: Tenant) -> Self {
        Self {
            tenant_id: tenant.id.as_uuid(),
            name: tenant.name,
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
    gateway.check_operator(&who)?;
    let name = checked_name(&sent.name)?;
    let login = checked_login(&sent.admin_login)?;
    let (catalog, now) = (gateway.catalog(), gateway.now());
    let first = FirstStart {
        tenant_name: name.to_owned(),
        admin_login: login,
        admin_password_hash: checked_password(sent.admin_password).await?,
        kb_name: "default".to_owned(),
        generation: gateway.generation_spec(),
    };
    let founded = catalog.found_tenant(first, now).await?;
    let admin = catalog.user(founded.tenant, founded.admin).await?;
    let made = TenantMade {
        tenant: TenantView {
            tenant_id: founded.tenant.as_uuid(),
            name: name.to_owned(),
            created_at: admin.created_at,
        },
        admin: admin.into(),
    };
    Ok((StatusCode::CREATED, Json(made)))
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
