use async_trait::async_trait;
use model::TenantId;

use crate::{Error, Event};

/// What keeps the house in order.
#[async_trait]
pub trait Operations {
    /// Events of a tenant after the one with this id, oldest first.
    async fn events_after(
        &self,
        tenant: TenantId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Event>, Error>;
}
