use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::{DocumentId, KbId, SourceUri, TenantId, VersionId};

use crate::{
    Dossier, Error, Former, Held, Listed, Mend, Miscounted, MiscountedJob, NotedKb, Page, ToldOf,
};

/// What `verify` reads and `repair` mends: rows as they are, right or wrong.
#[async_trait]
pub trait Audit {
    /// Every document of which any row is left, by id, each as of one moment.
    async fn dossiers(&self, tenant: TenantId, page: Page) -> Result<Listed<Dossier>, Error>;

    async fn dossier(&self, tenant: TenantId, document: DocumentId) -> Result<Dossier, Error>;

    /// How many rows withdrawn versions still have, in any table; the ledger and the runs,
    /// which stay, are not asked.
    async fn rows_left(&self, versions: &[VersionId]) -> Result<u64, Error>;

    /// The versions of a document that have no row, whose text files of the index may still hold:
    /// those that were taken away before, and those that lost it.
    async fn former(&self, tenant: TenantId, document: DocumentId) -> Result<Vec<Former>, Error>;

    /// What rows that outlive a purged document still tell of it: `of` is the knowledge base it
    /// was in, and what it was called there.
    async fn told_of(
        &self,
        tenant: TenantId,
        document: DocumentId,
        of: Option<(KbId, SourceUri)>,
    ) -> Result<ToldOf, Error>;

    /// Every version of the tenant and what it refers to, as of one moment, whatever else of it
    /// cannot be read.
    async fn held(&self, tenant: TenantId) -> Result<Vec<Held>, Error>;

    /// The tables with a row whose owner nobody can tell, of the tenant or of anybody: there is
    /// something in the place of an id that is none. Everywhere else such rows are left out.
    async fn nameless(&self, tenant: TenantId) -> Result<Vec<&'static str>, Error>;

    /// The tallies of the tenant that are not as its rows have them, left as they are.
    async fn miscounted(&self, tenant: TenantId) -> Result<Vec<Miscounted>, Error>;

    /// Jobs of the tenant that have counted other chunks, documents or runs than there were, or
    /// are not as they were noted, left as they are.
    async fn miscounted_jobs(&self, tenant: TenantId) -> Result<Vec<MiscountedJob>, Error>;

    /// Writes the rows of those jobs again, lost ones too, and counts their chunks and documents
    /// anew; what they wait for, whoever guards them counts.
    async fn recount_met(&self, tenant: TenantId) -> Result<(), Error>;

    /// The tenant's knowledge bases as their rows have them and as they were noted.
    async fn noted_kbs(&self, tenant: TenantId) -> Result<Vec<NotedKb>, Error>;

    /// Writes the rows of knowledge bases and generations again as they were noted, or, where no
    /// note stands, the notes as the rows have it.
    async fn mend_kbs(&self, tenant: TenantId) -> Result<(), Error>;

    /// A token greater than every one given out so far: a write under it is fenced by later
    /// claims and fences earlier ones.
    async fn fence(&self) -> Result<u64, Error>;

    /// All of the mends of a document, or none. Putting right what is right changes nothing.
    async fn mend(
        &self,
        tenant: TenantId,
        document: DocumentId,
        mends: Vec<Mend>,
        now: DateTime<Utc>,
    ) -> Result<(), Error>;
}
