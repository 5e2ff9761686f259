//! The methods about secrets and webhooks, each given its transaction.

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::{SourceId, TenantId, WebhookId};
use uuid::Uuid;

use super::cells::micros;
use super::dialect::Dialect;
use super::{Sql, hooks};
use crate::{
    Attempt, Delivery, DueDelivery, Error, Hooks, Listed, NewWebhook, Page, SignedSource, Webhook,
};

#[async_trait]
impl<DB: Dialect> Hooks for Sql<DB> {
    async fn set_source_secret(
        &self,
        tenant: TenantId,
        source: SourceId,
        secret: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        let secret = secret.to_owned();
        self.write("catalog.set_source_secret", move |c| {
            Box::pin(async move {
                hooks::set_secret::<DB>(c, (tenant, source), &secret, micros(now)).await
            })
        })
        .await
    }

    async fn signed_source(&self, source: SourceId) -> Result<Option<SignedSource>, Error> {
        self.read("catalog.signed_source", move |c| {
            Box::pin(hooks::signed_source::<DB>(c, source))
        })
        .await
    }

    async fn create_webhook(
        &self,
        tenant: TenantId,
        webhook: NewWebhook,
        now: DateTime<Utc>,
    ) -> Result<Webhook, Error> {
        self.write("catalog.create_webhook", move |c| {
            Box::pin(hooks::create::<DB>(c, tenant, webhook, micros(now)))
        })
        .await
    }

    async fn webhooks(&self, tenant: TenantId, page: Page) -> Result<Listed<Webhook>, Error> {
        self.read("catalog.webhooks", move |c| {
            Box::pin(async move { hooks::list::<DB>(c, tenant, &page).await })
        })
        .await
    }

    async fn delete_webhook(&self, tenant: TenantId, webhook: WebhookId) -> Result<(), Error> {
        self.write("catalog.delete_webhook", move |c| {
            Box::pin(hooks::delete::<DB>(c, tenant, webhook))
        })
        .await
    }

    async fn deliveries(
        &self,
        tenant: TenantId,
        webhook: WebhookId,
        page: Page,
    ) -> Result<Listed<Delivery>, Error> {
        self.read("catalog.deliveries", move |c| {
            Box::pin(async move { hooks::deliveries::<DB>(c, (tenant, webhook), &page).await })
        })
        .await
    }

    async fn due_deliveries(
        &self,
        limit: u32,
        lease: Duration,
        now: DateTime<Utc>,
    ) -> Result<Vec<DueDelivery>, Error> {
        self.write("catalog.due_deliveries", move |c| {
            Box::pin(hooks::due::<DB>(c, limit, lease, micros(now)))
        })
        .await
    }

    async fn attempted(
        &self,
        delivery: Uuid,
        attempt: Attempt,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        self.write("catalog.attempted", move |c| {
            Box::pin(
                async move { hooks::attempted::<DB>(c, delivery, &attempt, micros(now)).await },
            )
        })
        .await
    }

    async fn redeliver(
        &self,
        tenant: TenantId,
        delivery: Uuid,
        now: DateTime<Utc>,
    ) -> Result<Delivery, Error> {
        self.write("catalog.redeliver", move |c| {
            Box::pin(hooks::redeliver::<DB>(c, tenant, delivery, micros(now)))
        })
        .await
    }
}
