//! For admins: people, keys, knowledge bases, and how the house stands.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::Redirect;
use axum::routing::{get, post};
use catalog::{
    ApiKey, Kb, Listed, NewApiKey, NewUser, Page, Role, Status, Tenant, User, UserChange,
};
use model::{ApiKeyId, TenantId, UserId};
use serde::Deserialize;
use uuid::Uuid;

use super::health::{Check, checks};
use super::page::{Filled, Frame, Shown, Trouble, Visitor, show};
use super::shown::{Moment, kb_path};
use crate::api::tenants::{ChangeTenant, CreateTenant, change_to, found};
use crate::api::{api_keys::check_reach, kbs::checked_name, users};
use crate::auth::{Manage, new_api_key};
use crate::extract::{Asked, Named};
use crate::gateway::{Gateway, Setting};
use crate::problem::Problem;

const ROWS: u32 = 50;

pub fn routes() -> Router<Gateway> {
    Router::new()
        .route("/admin", get(admin))
        .route("/admin/users", post(create_user))
        .route("/admin/users/{user}", post(change_user))
        .route("/admin/api-keys", get(admin_again).post(create_key))
        .route("/admin/api-keys/{key}/revoke", post(revoke_key))
        .route("/admin/kbs", post(create_kb))
        .route("/admin/tenants", post(create_tenant))
        .route("/admin/tenants/{tenant}", post(change_tenant))
}

#[derive(Template)]
#[template(path = "admin.html")]
struct AdminPage {
    frame: Frame,
    status: Status,
    started: Moment,
    release: &'static str,
    checks: Vec<Check>,
    settings: Vec<Setting>,
    model: String,
    /// Which languages it was made for.
    model_note: &'static str,
    me: Option<UserId>,
    /// The tenant of whoever looks.
    mine: TenantId,
    users: Listed<User>,
    keys: Listed<ApiKey>,
    kbs: Listed<Kb>,
    /// Of the whole server, for its operator.
    tenants: Option<Listed<Tenant>>,
    /// A key just made: its name and its secret, this once.
    made: Option<(String, String)>,
}

impl AdminPage {
    fn is_me(&self, user: &UserId) -> bool {
        self.me.as_ref() == Some(user)
    }

    fn is_mine(&self, tenant: &TenantId) -> bool {
        self.mine == *tenant
    }
}

/// Where each of the lists is to go on.
#[derive(Debug, Default, Deserialize)]
struct Turned {
    users: Option<String>,
    keys: Option<String>,
    kbs: Option<String>,
    tenants: Option<String>,
}

const fn after(cursor: Option<String>) -> Page {
    Page {
        after: cursor,
        limit: ROWS,
    }
}

async fn admin(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Asked(turned): Asked<Turned>,
) -> Shown {
    show(&page(&gateway, &who, turned).await?)
}

/// The page that shows a new key is asked for again by its live parts, and by whoever
/// comes back to it: there is no key to show then.
async fn admin_again() -> Redirect {
    Redirect::to("/admin")
}

async fn page(
    gateway: &Gateway,
    who: &Visitor<Manage>,
    turned: Turned,
) -> Result<AdminPage, Problem> {
    let catalog = gateway.catalog();
    let status = catalog.status(who.tenant, gateway.now()).await?;
    let tenants = match gateway.is_operator(who) {
        true => Some(catalog.tenants(after(turned.tenants)).await?),
        false => None,
    };
    Ok(AdminPage {
        tenants,
        frame: Frame::new(gateway, who, "admin").await?,
        checks: checks(gateway, &status).await,
        settings: gateway.in_force().to_vec(),
        status,
        started: Moment(gateway.started()),
        release: env!("CARGO_PKG_VERSION"),
        model: gateway.engine().parts().embedder.info().name.to_string(),
        model_note: gateway.engine().parts().embedder.info().language_note,
        me: who.user,
        mine: who.tenant,
        users: catalog.users(who.tenant, after(turned.users)).await?,
        keys: catalog.api_keys(who.tenant, after(turned.keys)).await?,
        kbs: catalog.kbs(who.tenant, after(turned.kbs)).await?,
        made: None,
    })
}

#[derive(Deserialize)]
struct UserForm {
    login: String,
    password: String,
    role: Role,
}

async fn create_user(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Filled(form): Filled<UserForm>,
) -> Result<Redirect, Trouble> {
    let user = NewUser {
        login: users::checked_login(&form.login)?,
        role: form.role,
        password_hash: users::checked_password(form.password).await?,
    };
    let catalog = gateway.catalog();
    catalog.create_user(who.tenant, user, gateway.now()).await?;
    Ok(Redirect::to("/admin#users"))
}

#[derive(Deserialize)]
struct ChangeForm {
    disabled: Option<bool>,
    password: Option<String>,
}

async fn change_user(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Named(user): Named<Uuid>,
    Filled(form): Filled<ChangeForm>,
) -> Result<Redirect, Trouble> {
    let password_hash = match form.password {
        Some(password) => Some(users::checked_password(password).await?),
        None => None,
    };
    let change = UserChange {
        role: None,
        password_hash,
        disabled: form.disabled,
    };
    let user = UserId::from_uuid(user);
    if who.user == Some(user) && change.disabled == Some(true) {
        return Err(Problem::conflict("you cannot lock yourself out").into());
    }
    gateway.check_admin_stays(who.tenant, user, &change).await?;
    gateway
        .catalog()
        .update_user(who.tenant, user, change)
        .await?;
    Ok(Redirect::to("/admin#users"))
}

#[derive(Deserialize)]
struct KeyForm {
    name: String,
    role: Role,
    /// One of the scopes, or empty for all the role may do.
    scope: String,
}

/// Answers with the page itself: a redirect could not carry the secret.
async fn create_key(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Filled(form): Filled<KeyForm>,
) -> Shown {
    let name = form.name.trim().to_owned();
    if !(1..=200).contains(&name.len()) {
        return Err(Problem::invalid("a key's name has 1 to 200 bytes").into());
    }
    let known = crate::auth::SCOPES.contains(&form.scope.as_str());
    if !form.scope.is_empty() && !known {
        return Err(Problem::invalid(format!("`{}` is not a scope", form.scope)).into());
    }
    let scopes = Some(form.scope).into_iter();
    let scopes: Vec<String> = scopes.filter(|scope| !scope.is_empty()).collect();
    check_reach(&who, &scopes)?;
    let (secret, hash) = new_api_key();
    let key = NewApiKey {
        name: name.clone(),
        hash,
        role: form.role,
        scopes,
        created_by: who.user,
        expires_at: None,
    };
    let catalog = gateway.catalog();
    catalog
        .create_api_key(who.tenant, key, gateway.now())
        .await?;
    show(&AdminPage {
        made: Some((name, secret)),
        ..page(&gateway, &who, Turned::default()).await?
    })
}

async fn revoke_key(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Named(key): Named<Uuid>,
) -> Result<Redirect, Trouble> {
    let (catalog, key) = (gateway.catalog(), ApiKeyId::from_uuid(key));
    catalog
        .revoke_api_key(who.tenant, key, gateway.now())
        .await?;
    Ok(Redirect::to("/admin#keys"))
}

#[derive(Deserialize)]
struct KbForm {
    name: String,
}

async fn create_kb(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Filled(form): Filled<KbForm>,
) -> Result<Redirect, Trouble> {
    let name = checked_name(&form.name)?;
    let spec = gateway.generation_spec();
    let catalog = gateway.catalog();
    let kb = catalog
        .create_kb(who.tenant, name, spec, gateway.now())
        .await?;
    Ok(Redirect::to(&kb_path(&kb.name)))
}

async fn create_tenant(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Filled(form): Filled<CreateTenant>,
) -> Result<Redirect, Trouble> {
    found(&gateway, &who, form).await?;
    Ok(Redirect::to("/admin#tenants"))
}

async fn change_tenant(
    State(gateway): State<Gateway>,
    who: Visitor<Manage>,
    Named(tenant): Named<Uuid>,
    Filled(form): Filled<ChangeTenant>,
) -> Result<Redirect, Trouble> {
    change_to(&gateway, &who, TenantId::from_uuid(tenant), form).await?;
    Ok(Redirect::to("/admin#tenants"))
}
