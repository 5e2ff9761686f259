//! What others are told, and how what they tell us is known to be theirs.

use chrono::{DateTime, Utc};
use model::{TenantId, UserId, WebhookId};
use serde_json::Value;
use uuid::Uuid;

use super::{Source, words};

/// A source and the secret its events are signed with.
#[derive(Debug, Clone, PartialEq)]
pub struct SignedSource {
    pub source: Source,
    pub secret: Option<String>,
}

/// Somebody who wants to be told when something ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Webhook {
    pub id: WebhookId,
    pub tenant: TenantId,
    pub url: String,
    /// Such as `run.succeeded`; none means all of [`Webhook::KINDS`].
    pub kinds: Vec<String>,
    pub created_by: Option<UserId>,
    pub created_at: DateTime<Utc>,
}

impl Webhook {
    /// What a webhook can be told of: that something has ended.
    pub const KINDS: &'static [&'static str] = &[
        "run.succeeded",
        "run.failed",
        "run.canceled",
        "job.completed",
        "job.failed",
        "job.canceled",
    ];
}

#[derive(Debug, Clone)]
pub struct NewWebhook {
    pub url: String,
    pub kinds: Vec<String>,
    pub secret: String,
    pub created_by: Option<UserId>,
}

words! {
    DeliveryState {
        Pending = "pending",
        Delivered = "delivered",
        Failed = "failed",
    }
}

/// One event on its way to one webhook.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    pub id: Uuid,
    pub webhook: WebhookId,
    pub tenant: TenantId,
    pub event: i64,
    pub kind: String,
    pub payload: Value,
    pub state: DeliveryState,
    pub attempts: u32,
    /// When it is tried next, while it is pending.
    pub due_at: DateTime<Utc>,
    pub last_status: Option<u16>,
    pub last_error: Option<String>,
    pub created_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
}

/// A delivery to be made now, to this address and under this secret.
#[derive(Debug, Clone, PartialEq)]
pub struct DueDelivery {
    pub delivery: Delivery,
    pub url: String,
    pub secret: String,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub state: DeliveryState,
    pub status: Option<u16>,
    pub error: Option<String>,
    /// When to try again, of a delivery that is still pending.
    pub again_at: DateTime<Utc>,
}
