//! The library's methods, each given its transaction.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::{DocumentId, KbId, PageSize, SourceUri, TenantId, UserId, VersionId};

use super::cells::micros;
use super::dialect::Dialect;
use super::{Sql, activate, admit, documents, kbs, ledger, live, versions};
use crate::{
    Activated, Activation, ActivationRow, ActiveVersion, Admission, Admitted, Claim,
    DocumentFilter, DocumentRow, Error, GenerationSpec, Kb, LedgerEntry, Library, Listed, Live,
    LiveFilter, Page, UnitRow, Version, VersionRow,
};

#[async_trait]
impl<DB: Dialect> Library for Sql<DB> {
    async fn create_kb(
        &self,
        tenant: TenantId,
        name: &str,
        spec: GenerationSpec,
        now: DateTime<Utc>,
    ) -> Result<Kb, Error> {
        let name = name.to_owned();
        self.write("catalog.create_kb", move |c| {
            Box::pin(async move { kbs::create::<DB>(c, tenant, &name, &spec, micros(now)).await })
        })
        .await
    }

    async fn kbs(&self, tenant: TenantId, page: Page) -> Result<Listed<Kb>, Error> {
        self.read("catalog.kbs", move |c| {
            Box::pin(async move { kbs::list::<DB>(c, tenant, &page).await })
        })
        .await
    }

    async fn kb(&self, tenant: TenantId, kb: KbId) -> Result<Kb, Error> {
        self.read("catalog.kb", move |c| {
            Box::pin(kbs::one::<DB>(c, tenant, kb))
        })
        .await
    }

    async fn kb_by_name(&self, tenant: TenantId, name: &str) -> Result<Kb, Error> {
        let name = name.to_owned();
        self.read("catalog.kb_by_name", move |c| {
            Box::pin(async move { kbs::by_name::<DB>(c, tenant, &name).await })
        })
        .await
    }

    async fn admit(&self, admission: Admission, now: DateTime<Utc>) -> Result<Admitted, Error> {
        self.write("catalog.admit", move |c| {
            Box::pin(async move { admit::admit::<DB>(c, &admission, micros(now)).await })
        })
        .await
    }

    async fn version(&self, tenant: TenantId, version: VersionId) -> Result<Version, Error> {
        self.look_up("catalog.version", move |c| {
            Box::pin(versions::one::<DB>(c, tenant, version))
        })
        .await
    }

    async fn versions(
        &self,
        tenant: TenantId,
        document: DocumentId,
        page: Page,
    ) -> Result<Listed<Version>, Error> {
        self.read("catalog.versions", move |c| {
            Box::pin(async move { versions::of_document::<DB>(c, tenant, document, &page).await })
        })
        .await
    }

    async fn documents(
        &self,
        tenant: TenantId,
        filter: DocumentFilter,
        page: Page,
    ) -> Result<Listed<DocumentRow>, Error> {
        self.read("catalog.documents", move |c| {
            Box::pin(async move { documents::list::<DB>(c, tenant, &filter, &page).await })
        })
        .await
    }

    async fn document(&self, tenant: TenantId, document: DocumentId) -> Result<DocumentRow, Error> {
        self.read("catalog.document", move |c| {
            Box::pin(documents::one::<DB>(c, tenant, document))
        })
        .await
    }

    async fn document_by_uri(
        &self,
        tenant: TenantId,
        kb: KbId,
        uri: &SourceUri,
    ) -> Result<Option<DocumentRow>, Error> {
        let uri = uri.clone();
        self.read("catalog.document_by_uri", move |c| {
            Box::pin(async move { documents::by_uri::<DB>(c, tenant, kb, &uri).await })
        })
        .await
    }

    async fn activations(
        &self,
        tenant: TenantId,
        document: DocumentId,
        page: Page,
    ) -> Result<Listed<ActivationRow>, Error> {
        self.read("catalog.activations", move |c| {
            Box::pin(async move { versions::activations::<DB>(c, tenant, document, &page).await })
        })
        .await
    }

    async fn ledger(
        &self,
        tenant: TenantId,
        document: DocumentId,
        page: Page,
    ) -> Result<Listed<LedgerEntry>, Error> {
        self.read("catalog.ledger", move |c| {
            Box::pin(async move { ledger::of_document::<DB>(c, tenant, document, &page).await })
        })
        .await
    }

    async fn units(&self, tenant: TenantId, version: VersionId) -> Result<Vec<UnitRow>, Error> {
        self.look_up("catalog.units", move |c| {
            Box::pin(versions::units_of::<DB>(c, tenant, version))
        })
        .await
    }

    async fn pages(&self, tenant: TenantId, version: VersionId) -> Result<Vec<PageSize>, Error> {
        self.read("catalog.pages", move |c| {
            Box::pin(versions::pages::<DB>(c, tenant, version))
        })
        .await
    }

    async fn live(&self, tenant: TenantId, kb: KbId, filter: LiveFilter) -> Result<Live, Error> {
        let cache = self.live.clone();
        self.read("catalog.live", move |c| {
            Box::pin(async move { live::live::<DB>(c, &cache, tenant, kb, &filter).await })
        })
        .await
    }

    async fn newest_flush(&self) -> Result<u64, Error> {
        self.read("catalog.newest_flush", move |c| {
            Box::pin(live::newest_flush::<DB>(c))
        })
        .await
    }

    async fn versions_by_number(
        &self,
        tenant: TenantId,
        kb: KbId,
        numbers: &[u32],
    ) -> Result<Vec<VersionRow>, Error> {
        let numbers = numbers.to_vec();
        self.read("catalog.versions_by_number", move |c| {
            Box::pin(async move { versions::by_number::<DB>(c, tenant, kb, &numbers).await })
        })
        .await
    }

    async fn all_active(
        &self,
        tenant: Option<TenantId>,
        page: Page,
    ) -> Result<Listed<ActiveVersion>, Error> {
        self.read("catalog.all_active", move |c| {
            Box::pin(async move { live::all_active::<DB>(c, tenant, &page).await })
        })
        .await
    }

    async fn activate(
        &self,
        claim: &Claim,
        activation: Activation,
        now: DateTime<Utc>,
    ) -> Result<Activated, Error> {
        let claim = claim.clone();
        self.write("catalog.activate", move |c| {
            Box::pin(
                async move { activate::activate::<DB>(c, &claim, &activation, micros(now)).await },
            )
        })
        .await
    }

    async fn rollback(
        &self,
        tenant: TenantId,
        document: DocumentId,
        version: VersionId,
        by: Option<UserId>,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        self.write("catalog.rollback", move |c| {
            Box::pin(activate::rollback::<DB>(
                c,
                (tenant, document, version),
                by,
                micros(now),
            ))
        })
        .await
    }
}
