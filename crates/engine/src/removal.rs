//! What is no longer wanted goes: from the index, from the objects, from the catalog.
//!
//! In that order, so that what is left of an interrupted removal can be found again
//! through the rows that still name it.

use catalog::Removing;
use index::Space;
use model::{DocumentId, JobId, TenantId, UserId};

use crate::objects::Key;
use crate::{Engine, Error};

impl Engine {
    /// Removes what only this job brought. May be interrupted and called again.
    pub async fn cancel_job(&self, tenant: TenantId, job: JobId) -> Result<catalog::Job, Error> {
        const AT_ONCE: u32 = 100;
        let catalog = &self.parts.catalog;
        let now = || self.parts.clock.now();
        catalog.begin_cancel(tenant, job, now()).await?;
        loop {
            let removing = catalog.cancel_some(tenant, job, AT_ONCE, now()).await?;
            if removing.is_empty() {
                return Ok(catalog.finish_cancel(tenant, job, now()).await?);
            }
            self.forget(tenant, &removing).await?;
        }
    }

    /// A document and everything of it, for good.
    pub async fn purge(
        &self,
        tenant: TenantId,
        document: DocumentId,
        by: Option<UserId>,
    ) -> Result<u64, Error> {
        let now = self.parts.clock.now();
        let removing = self
            .parts
            .catalog
            .begin_purge(tenant, document, by, now)
            .await?;
        self.forget(tenant, &removing).await?;
        Ok(removing.len() as u64)
    }

    /// Index first, then objects, then the rows that name them: what is left of an
    /// interrupted removal can always be found again.
    async fn forget(&self, tenant: TenantId, removing: &[Removing]) -> Result<(), Error> {
        let _moving = self.still.read().await;
        let mut receipts = Vec::with_capacity(removing.len());
        for version in removing {
            let space = Space {
                tenant,
                kb: version.kb,
                generation: version.generation,
            };
            receipts.push(self.parts.index.forget(space, version.version).await?);
        }
        for receipt in receipts {
            receipt.durable().await?;
        }
        for version in removing {
            let objects = &self.parts.objects;
            objects
                .delete_below(&Key::version(tenant, version.version))
                .await?;
            objects
                .delete_below(&Key::cached(tenant, version.version))
                .await?;
        }
        let _shut = self.door.write().await;
        let versions: Vec<_> = removing.iter().map(|r| r.version).collect();
        let unreferenced = self
            .parts
            .catalog
            .forget_versions(tenant, &versions)
            .await?;
        for hash in unreferenced {
            let key = Key::original(tenant, &hash);
            self.parts.objects.delete(&key).await?;
        }
        Ok(())
    }
}
