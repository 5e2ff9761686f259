//! The methods of the audit, each given its transaction.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::{DocumentId, KbId, SourceUri, TenantId, VersionId};

use super::cells::micros;
use super::dialect::Dialect;
use super::{Sql, audit, counters, mend, nameless, noted_kbs, removal, tallies, unsay};
use crate::{
    Audit, Dossier, Error, Former, Held, Listed, Mend, Miscounted, MiscountedJob, NotedKb, Page,
    ToldOf,
};

#[async_trait]
impl<DB: Dialect> Audit for Sql<DB> {
    async fn dossiers(&self, tenant: TenantId, page: Page) -> Result<Listed<Dossier>, Error> {
        self.read("catalog.dossiers", move |c| {
            Box::pin(async move { audit::page::<DB>(c, tenant, &page).await })
        })
        .await
    }

    async fn dossier(&self, tenant: TenantId, document: DocumentId) -> Result<Dossier, Error> {
        self.read("catalog.dossier", move |c| {
            Box::pin(async move { audit::one::<DB>(c, tenant, document).await })
        })
        .await
    }

    async fn rows_left(&self, versions: &[VersionId]) -> Result<u64, Error> {
        let versions = versions.to_vec();
        self.read("catalog.rows_left", move |c| {
            Box::pin(async move { removal::rows_left::<DB>(c, &versions).await })
        })
        .await
    }

    async fn former(&self, tenant: TenantId, document: DocumentId) -> Result<Vec<Former>, Error> {
        self.read("catalog.former", move |c| {
            Box::pin(async move { removal::former::<DB>(c, tenant, document).await })
        })
        .await
    }

    async fn told_of(
        &self,
        tenant: TenantId,
        document: DocumentId,
        of: Option<(KbId, SourceUri)>,
    ) -> Result<ToldOf, Error> {
        self.read("catalog.told_of", move |c| {
            Box::pin(async move { unsay::told_of::<DB>(c, (tenant, document), of).await })
        })
        .await
    }

    async fn held(&self, tenant: TenantId) -> Result<Vec<Held>, Error> {
        self.read("catalog.held", move |c| {
            Box::pin(async move { audit::held::<DB>(c, tenant).await })
        })
        .await
    }

    async fn nameless(&self, tenant: TenantId) -> Result<Vec<&'static str>, Error> {
        self.read("catalog.nameless", move |c| {
            Box::pin(nameless::tables::<DB>(c, tenant))
        })
        .await
    }

    async fn miscounted(&self, tenant: TenantId) -> Result<Vec<Miscounted>, Error> {
        self.read("catalog.miscounted_of", move |c| {
            Box::pin(async move { tallies::miscounted_of::<DB>(c, tenant.as_uuid()).await })
        })
        .await
    }

    async fn miscounted_jobs(&self, tenant: TenantId) -> Result<Vec<MiscountedJob>, Error> {
        self.read("catalog.miscounted_jobs", move |c| {
            Box::pin(counters::miscounted::<DB>(c, tenant))
        })
        .await
    }

    async fn recount_met(&self, tenant: TenantId) -> Result<(), Error> {
        self.write("catalog.recount_met", move |c| {
            Box::pin(counters::put_right::<DB>(c, tenant))
        })
        .await
    }

    async fn noted_kbs(&self, tenant: TenantId) -> Result<Vec<NotedKb>, Error> {
        self.read("catalog.noted_kbs", move |c| {
            Box::pin(noted_kbs::gather::<DB>(c, tenant))
        })
        .await
    }

    async fn mend_kbs(&self, tenant: TenantId) -> Result<(), Error> {
        self.write("catalog.mend_kbs", move |c| {
            Box::pin(noted_kbs::put_right::<DB>(c, tenant))
        })
        .await
    }

    async fn fence(&self) -> Result<u64, Error> {
        self.write("catalog.fence", move |c| Box::pin(mend::fence::<DB>(c)))
            .await
    }

    async fn mend(
        &self,
        tenant: TenantId,
        document: DocumentId,
        mends: Vec<Mend>,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        self.write("catalog.mend", move |c| {
            Box::pin(
                async move { mend::mend::<DB>(c, (tenant, document), mends, micros(now)).await },
            )
        })
        .await
    }
}
