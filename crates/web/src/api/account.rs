//! Signing in.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use catalog::Role;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::users::LONGEST_LOGIN;
use crate::auth::{May, Reach, Read, password};
use crate::extract::Sent;
use crate::gateway::Gateway;
use crate::problem::Problem;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(login))
        .routes(routes!(me))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    pub login: String,
    pub password: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SignedIn {
    /// Send it as `Authorization: Bearer …`.
    pub token: String,
    pub token_type: &'static str,
    pub expires_at: DateTime<Utc>,
    #[serde(flatten)]
    pub account: Account,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Account {
    pub tenant_id: Uuid,
    pub user_id: Option<Uuid>,
    #[schema(value_type = String, example = "admin")]
    pub role: Role,
}

/// Gives a token for a login and its password.
#[utoipa::path(post, path = "/v1/auth/login", tag = "account", security(()),
    request_body = Login, responses((status = 200, body = SignedIn)))]
async fn login(
    State(gateway): State<Gateway>,
    Sent(sent): Sent<Login>,
) -> Result<Json<SignedIn>, Problem> {
    Ok(Json(sign_in(&gateway, sent).await?))
}

/// The same for programs and for the sign-in page.
pub async fn sign_in(gateway: &Gateway, sent: Login) -> Result<SignedIn, Problem> {
    // Longer than anybody's: neither looked up nor remembered.
    if sent.login.len() > LONGEST_LOGIN {
        return Err(wrong_login());
    }
    let _turn = gateway.throttle().turn().await;
    let now = gateway.now();
    let who = sent.login.to_lowercase();
    if let Some(wait) = gateway.throttle().wait(&who, now) {
        return Err(Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too_many_attempts",
            "too many wrong passwords for this login",
        )
        .retry_after(wait)
        .hint("wait, then try again"));
    }
    let user = gateway.catalog().user_by_login(&sent.login).await?;
    let user = user.filter(catalog::User::may_come_in);
    let known = user.as_ref().map(|user| user.id);
    let stored = user.as_ref().map(|user| user.password_hash.clone());
    let fits = password::verify(sent.password, stored).await;
    let Some(user) = user.filter(|_| fits) else {
        gateway.throttle().failed(&who, now);
        // Not the login: it may be a password in the wrong field.
        tracing::info!(user_id = ?known, "sign-in refused");
        return Err(wrong_login());
    };
    gateway.throttle().succeeded(&who);
    let life = gateway.settings().token_life;
    Ok(SignedIn {
        token: gateway
            .keys()
            .sign((user.id, user.tenant, user.role), Reach::Tenant, now, life),
        token_type: "Bearer",
        expires_at: now + life,
        account: Account {
            tenant_id: user.tenant.as_uuid(),
            user_id: Some(user.id.as_uuid()),
            role: user.role,
        },
    })
}

fn wrong_login() -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "wrong_login",
        "login and password do not fit together",
    )
    .hint("check both; an admin can set a new password")
}

/// Says as whom the request was signed.
#[utoipa::path(get, path = "/v1/auth/me", tag = "account", responses((status = 200, body = Account)))]
async fn me(who: May<Read>) -> Json<Account> {
    Json(Account {
        tenant_id: who.tenant.as_uuid(),
        user_id: who.user.map(model::UserId::as_uuid),
        role: who.role,
    })
}
