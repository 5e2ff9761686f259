use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::{SourceId, TenantId, WebhookId};
use uuid::Uuid;

use crate::{
    Attempt, Delivery, DueDelivery, Error, Listed, NewWebhook, Page, SignedSource, Webhook,
};

/// What others tell us, and what we tell them.
#[async_trait]
pub trait Hooks {
    /// Gives a source the secret its events are signed with; an earlier one is gone.
    async fn set_source_secret(
        &self,
        tenant: TenantId,
        source: SourceId,
        secret: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Error>;

    /// Before an event is authenticated there is no tenant yet: this looks among all of them.
    async fn signed_source(&self, source: SourceId) -> Result<Option<SignedSource>, Error>;

    async fn create_webhook(
        &self,
        tenant: TenantId,
        webhook: NewWebhook,
        now: DateTime<Utc>,
    ) -> Result<Webhook, Error>;

    async fn webhooks(&self, tenant: TenantId, page: Page) -> Result<Listed<Webhook>, Error>;

    /// Its deliveries go with it.
    async fn delete_webhook(&self, tenant: TenantId, webhook: WebhookId) -> Result<(), Error>;

    async fn deliveries(
        &self,
        tenant: TenantId,
        webhook: WebhookId,
        page: Page,
    ) -> Result<Listed<Delivery>, Error>;

    /// Takes deliveries that are due, of all tenants; not ended within the lease, they are
    /// due again.
    async fn due_deliveries(
        &self,
        limit: u32,
        lease: Duration,
        now: DateTime<Utc>,
    ) -> Result<Vec<DueDelivery>, Error>;

    /// Remembers how an attempt ended.
    async fn attempted(
        &self,
        delivery: Uuid,
        attempt: Attempt,
        now: DateTime<Utc>,
    ) -> Result<(), Error>;

    /// A delivery is made again, whatever became of it.
    async fn redeliver(
        &self,
        tenant: TenantId,
        delivery: Uuid,
        now: DateTime<Utc>,
    ) -> Result<Delivery, Error>;
}
