use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::{DocumentId, KbId, SourceUri, TenantId, UserId, VersionId};

use crate::{
    Activated, Activation, ActivationRow, ActiveVersion, Admission, Admitted, Claim,
    DocumentFilter, DocumentRow, Error, GenerationSpec, Kb, LedgerEntry, Listed, Live, LiveFilter,
    Page, UnitRow, Version, VersionRow,
};

/// What is kept, and which version of it answers.
#[async_trait]
pub trait Library {
    async fn create_kb(
        &self,
        tenant: TenantId,
        name: &str,
        spec: GenerationSpec,
        now: DateTime<Utc>,
    ) -> Result<Kb, Error>;

    /// By name.
    async fn kbs(&self, tenant: TenantId, page: Page) -> Result<Listed<Kb>, Error>;

    async fn kb(&self, tenant: TenantId, kb: KbId) -> Result<Kb, Error>;

    async fn kb_by_name(&self, tenant: TenantId, name: &str) -> Result<Kb, Error>;

    /// Document, version, run, job claim, first step and event, or nothing of them.
    ///
    /// Bytes the document serves, and bytes a live run is at, are skipped; a skip is a
    /// claim of the job too, and moves the version's place in the order forward.
    async fn admit(&self, admission: Admission, now: DateTime<Utc>) -> Result<Admitted, Error>;

    async fn version(&self, tenant: TenantId, version: VersionId) -> Result<Version, Error>;

    /// Newest first.
    async fn versions(
        &self,
        tenant: TenantId,
        document: DocumentId,
        page: Page,
    ) -> Result<Listed<Version>, Error>;

    async fn documents(
        &self,
        tenant: TenantId,
        filter: DocumentFilter,
        page: Page,
    ) -> Result<Listed<DocumentRow>, Error>;

    async fn document(&self, tenant: TenantId, document: DocumentId) -> Result<DocumentRow, Error>;

    async fn document_by_uri(
        &self,
        tenant: TenantId,
        kb: KbId,
        uri: &SourceUri,
    ) -> Result<Option<DocumentRow>, Error>;

    /// Oldest first.
    async fn activations(
        &self,
        tenant: TenantId,
        document: DocumentId,
        page: Page,
    ) -> Result<Listed<ActivationRow>, Error>;

    /// Oldest first. It outlives the document.
    async fn ledger(
        &self,
        tenant: TenantId,
        document: DocumentId,
        page: Page,
    ) -> Result<Listed<LedgerEntry>, Error>;

    /// In reading order, of the newest pass.
    async fn units(&self, tenant: TenantId, version: VersionId) -> Result<Vec<UnitRow>, Error>;

    /// The sizes of the version's pages, in order; empty where there are none.
    async fn pages(
        &self,
        tenant: TenantId,
        version: VersionId,
    ) -> Result<Vec<model::PageSize>, Error>;

    /// Which versions answer, now or at a time.
    async fn live(&self, tenant: TenantId, kb: KbId, filter: LiveFilter) -> Result<Live, Error>;

    /// The newest flush that anything needs which answers in any knowledge base.
    async fn newest_flush(&self) -> Result<u64, Error>;

    /// What the numbers of hits stand for; unknown numbers are left out.
    async fn versions_by_number(
        &self,
        tenant: TenantId,
        kb: KbId,
        numbers: &[u32],
    ) -> Result<Vec<VersionRow>, Error>;

    /// Every version that answers in a serving generation, a page at a time, by number
    /// within each knowledge base. `None` reads all tenants: for verify and digest only.
    async fn all_active(
        &self,
        tenant: Option<TenantId>,
        page: Page,
    ) -> Result<Listed<ActiveVersion>, Error>;

    /// Finalize's transaction: the fence is shown, the old activation closes, the new one
    /// opens, the ledger grows, the run and its job are told. Never goes backwards in the
    /// source's order. Asked again with the same claim, it gives the same answer.
    async fn activate(
        &self,
        claim: &Claim,
        activation: Activation,
        now: DateTime<Utc>,
    ) -> Result<Activated, Error>;

    /// An earlier version serves again, by a person's decision and whatever the order.
    async fn rollback(
        &self,
        tenant: TenantId,
        document: DocumentId,
        version: VersionId,
        by: Option<UserId>,
        now: DateTime<Utc>,
    ) -> Result<(), Error>;
}
