use async_trait::async_trait;
use model::{RunId, TenantId};

use crate::{Error, Listed, Page, Run, RunFilter};

/// How the processing goes.
#[async_trait]
pub trait Runs {
    async fn run(&self, tenant: TenantId, run: RunId) -> Result<Run, Error>;

    async fn runs(
        &self,
        tenant: TenantId,
        filter: RunFilter,
        page: Page,
    ) -> Result<Listed<Run>, Error>;
}
