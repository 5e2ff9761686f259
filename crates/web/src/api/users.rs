//! People of a tenant.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use catalog::{NewUser, Role, User, UserChange, every};
use chrono::{DateTime, Utc};
use model::{TenantId, UserId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{Manage, May, password};
use crate::extract::{Asked, Named, Sent};
use crate::gateway::Gateway;
use crate::paging::{Paging, Rows};
use crate::problem::Problem;

const SHORTEST_PASSWORD: usize = 8;
const LONGEST_PASSWORD: usize = 1024;
pub const LONGEST_LOGIN: usize = 200;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(change))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct UserView {
    pub id: Uuid,
    pub login: String,
    #[schema(value_type = String, example = "user")]
    pub role: Role,
    pub disabled: bool,
    pub created_at: DateTime<Utc>,
}

impl From<User> for UserView {
    fn from(user: User) -> Self {
        Self {
            id: user.id.as_uuid(),
            login: user.login,
            role: user.role,
            disabled: user.disabled,
            created_at: user.created_at,
        }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateUser {
    #[schema(min_length = 1, max_length = 200)]
    pub login: String,
    #[schema(min_length = 8, max_length = 1024)]
    pub password: String,
    #[schema(value_type = String, example = "user", pattern = "^(admin|user)$")]
    pub role: Role,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeUser {
    #[schema(value_type = Option<String>, pattern = "^(admin|user)$")]
    pub role: Option<Role>,
    #[schema(min_length = 8, max_length = 1024)]
    pub password: Option<String>,
    pub disabled: Option<bool>,
}

/// Newest first.
#[utoipa::path(get, path = "/v1/users", tag = "account", params(Paging),
    responses((status = 200, body = Rows<UserView>)))]
async fn list(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Asked(paging): Asked<Paging>,
) -> Result<Json<Rows<UserView>>, Problem> {
    let read = |page| gateway.catalog().users(who.tenant, page);
    Ok(Json(Rows::of(paging.read(read).await?, UserView::from)))
}

#[utoipa::path(post, path = "/v1/users", tag = "account", request_body = CreateUser,
    responses((status = 201, body = UserView)))]
async fn create(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Sent(sent): Sent<CreateUser>,
) -> Result<(StatusCode, Json<UserView>), Problem> {
    let login = checked_login(&sent.login)?;
    let user = NewUser {
        login,
        role: sent.role,
        password_hash: checked_password(sent.password).await?,
    };
    let user = gateway
        .catalog()
        .create_user(who.tenant, user, gateway.now());
    Ok((StatusCode::CREATED, Json(user.await?.into())))
}

#[utoipa::path(patch, path = "/v1/users/{user}", tag = "account", request_body = ChangeUser,
    params(("user" = Uuid, Path)), responses((status = 200, body = UserView)))]
async fn change(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(user): Named<Uuid>,
    Sent(sent): Sent<ChangeUser>,
) -> Result<Json<UserView>, Problem> {
    let password_hash = match sent.password {
        Some(password) => Some(checked_password(password).await?),
        None => None,
    };
    let change = UserChange {
        role: sent.role,
        password_hash,
        disabled: sent.disabled,
    };
    let user = UserId::from_uuid(user);
    gateway.check_admin_stays(who.tenant, user, &change).await?;
    let user = gateway
        .catalog()
        .update_user(who.tenant, user, change)
        .await?;
    Ok(Json(user.into()))
}

impl Gateway {
    /// A tenant nobody can manage any more could only be mended by its operator.
    pub async fn check_admin_stays(
        &self,
        tenant: TenantId,
        user: UserId,
        change: &UserChange,
    ) -> Result<(), Problem> {
        let stops = change.disabled == Some(true) || change.role == Some(Role::User);
        let users = every(|page| self.catalog().users(tenant, page)).await?;
        let manages = |user: &&User| user.role == Role::Admin && !user.disabled;
        let mut others = users
            .iter()
            .filter(manages)
            .filter(|other| other.id != user);
        let known = users.iter().any(|known| known.id == user);
        if stops && known && others.next().is_none() {
            return Err(Problem::conflict("somebody must be left who may manage"));
        }
        Ok(())
    }
}

pub fn checked_login(login: &str) -> Result<String, Problem> {
    let controls = login.chars().any(char::is_control);
    let login = login.trim();
    if (1..=LONGEST_LOGIN).contains(&login.len()) && !controls {
        Ok(login.to_owned())
    } else {
        Err(Problem::unprocessable(format!(
            "a login has 1 to {LONGEST_LOGIN} bytes and no control characters"
        )))
    }
}

pub async fn checked_password(password: String) -> Result<String, Problem> {
    if (SHORTEST_PASSWORD..=LONGEST_PASSWORD).contains(&password.chars().count()) {
        Ok(password::hash(password).await)
    } else {
        Err(Problem::unprocessable(format!(
            "a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters"
        )))
    }
}
