//! Webhooks: who is told when runs and jobs end, and what became of the telling.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use catalog::{Delivery, DeliveryState, NewWebhook, Page, Webhook};
use chrono::{DateTime, Utc};
use model::{UserId, WebhookId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{Manage, May};
use crate::extract::{Asked, Named, Sent};
use crate::gateway::Gateway;
use crate::idempotency::ShownOnce;
use crate::paging::{Paging, Rows};
use crate::problem::Problem;
use crate::signature;

const LONGEST_URL: usize = 2000;
const MOST: u32 = 20;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(delete))
        .routes(routes!(deliveries))
        .routes(routes!(redeliver))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookView {
    pub webhook_id: Uuid,
    pub url: String,
    /// Empty for every kind there is.
    pub kinds: Vec<String>,
    pub created_by: Option<Uuid>,
    pub created_at: DateTime<Utc>,
}

impl From<Webhook> for WebhookView {
    fn from(webhook: Webhook) -> Self {
        Self {
            webhook_id: webhook.id.as_uuid(),
            url: webhook.url,
            kinds: webhook.kinds,
            created_by: webhook.created_by.map(UserId::as_uuid),
            created_at: webhook.created_at,
        }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWebhook {
    /// Where to post; `https` unless it is a machine nearby.
    #[schema(
        min_length = 8,
        max_length = 2000,
        example = "https://example.org/hook"
    )]
    pub url: String,
    /// Of `run.succeeded`, `run.failed`, `run.canceled`, `job.completed`, `job.failed`,
    /// `job.canceled`; none means all of them.
    #[serde(default)]
    pub kinds: Vec<String>,
}

/// The only time the secret is shown. It signs as the Standard Webhooks convention has it.
#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookMade {
    #[serde(flatten)]
    pub webhook: WebhookView,
    pub signing_secret: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryView {
    pub delivery_id: Uuid,
    pub webhook_id: Uuid,
    pub event_id: i64,
    pub kind: String,
    #[schema(value_type = String, example = "delivered")]
    pub state: DeliveryState,
    pub attempts: u32,
    /// Of a pending one.
    pub next_attempt_at: Option<DateTime<Utc>>,
    pub last_status: Option<u16>,
    pub last_error: Option<String>,
    pub payload: serde_json::Value,
    pub created_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
}

impl From<Delivery> for DeliveryView {
    fn from(delivery: Delivery) -> Self {
        let pending = delivery.state == DeliveryState::Pending;
        Self {
            delivery_id: delivery.id,
            webhook_id: delivery.webhook.as_uuid(),
            event_id: delivery.event,
            kind: delivery.kind,
            state: delivery.state,
            attempts: delivery.attempts,
            next_attempt_at: pending.then_some(delivery.due_at),
            last_status: delivery.last_status,
            last_error: delivery.last_error,
            payload: delivery.payload,
            created_at: delivery.created_at,
            ended_at: delivery.ended_at,
        }
    }
}

/// Newest first.
#[utoipa::path(get, path = "/v1/webhooks", tag = "webhooks", params(Paging),
    responses((status = 200, body = Rows<WebhookView>)))]
async fn list(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Asked(paging): Asked<Paging>,
) -> Result<Json<Rows<WebhookView>>, Problem> {
    let read = |page| gateway.catalog().webhooks(who.tenant, page);
    Ok(Json(Rows::of(paging.read(read).await?, WebhookView::from)))
}

/// Whatever ends from now on is posted there, until it has answered 2xx or ten attempts failed.
#[utoipa::path(post, path = "/v1/webhooks", tag = "webhooks", request_body = CreateWebhook,
    responses((status = 201, body = WebhookMade)))]
async fn create(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Sent(sent): Sent<CreateWebhook>,
) -> Result<impl IntoResponse, Problem> {
    check_url(&sent.url)?;
    if let Some(kind) = sent
        .kinds
        .iter()
        .find(|k| !Webhook::KINDS.contains(&k.as_str()))
    {
        let known = Webhook::KINDS.join(", ");
        return Err(Problem::unprocessable(format!(
            "`{kind}` is not one of {known}"
        )));
    }
    let (catalog, now) = (gateway.catalog(), gateway.now());
    let there = catalog.webhooks(who.tenant, Page::first(MOST)).await?;
    if there.items.len() >= MOST as usize {
        return Err(Problem::conflict(format!(
            "a tenant has at most {MOST} webhooks"
        )));
    }
    let signing_secret = signature::new_secret();
    let webhook = NewWebhook {
        url: sent.url,
        kinds: sent.kinds,
        secret: signing_secret.clone(),
        created_by: who.user,
    };
    let webhook = catalog.create_webhook(who.tenant, webhook, now).await?;
    let made = WebhookMade {
        webhook: webhook.into(),
        signing_secret,
    };
    Ok((StatusCode::CREATED, Extension(ShownOnce), Json(made)))
}

fn check_url(url: &str) -> Result<(), Problem> {
    let parsed = reqwest::Url::parse(url).ok();
    let well = parsed.is_some_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
    });
    if well && url.len() <= LONGEST_URL {
        Ok(())
    } else {
        Err(Problem::unprocessable(
            "a webhook's URL begins with https:// or http:// and holds no password",
        ))
    }
}

/// Its deliveries go with it.
#[utoipa::path(delete, path = "/v1/webhooks/{webhook}", tag = "webhooks",
    params(("webhook" = Uuid, Path)), responses((status = 204)))]
async fn delete(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(webhook): Named<Uuid>,
) -> Result<StatusCode, Problem> {
    let webhook = WebhookId::from_uuid(webhook);
    gateway
        .catalog()
        .delete_webhook(who.tenant, webhook)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Newest first.
#[utoipa::path(get, path = "/v1/webhooks/{webhook}/deliveries", tag = "webhooks",
    params(("webhook" = Uuid, Path), Paging),
    responses((status = 200, body = Rows<DeliveryView>)))]
async fn deliveries(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(webhook): Named<Uuid>,
    Asked(paging): Asked<Paging>,
) -> Result<Json<Rows<DeliveryView>>, Problem> {
    let webhook = WebhookId::from_uuid(webhook);
    let read = |page| gateway.catalog().deliveries(who.tenant, webhook, page);
    Ok(Json(Rows::of(paging.read(read).await?, DeliveryView::from)))
}

/// Posts it again, whatever became of it.
#[utoipa::path(post, path = "/v1/deliveries/{delivery}/redeliver", tag = "webhooks",
    params(("delivery" = Uuid, Path)), responses((status = 202, body = DeliveryView)))]
async fn redeliver(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(delivery): Named<Uuid>,
) -> Result<(StatusCode, Json<DeliveryView>), Problem> {
    let again = gateway
        .catalog()
        .redeliver(who.tenant, delivery, gateway.now());
    Ok((StatusCode::ACCEPTED, Json(again.await?.into())))
}
