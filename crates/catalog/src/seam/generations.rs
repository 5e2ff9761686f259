use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::{GenerationId, KbId, TenantId};

use crate::{Building, Error, GenerationSpec, Kb, Rebuilt, Removing, Retired};

/// The next generation of a knowledge base: begun, filled, switched to or given up.
///
/// What is being built mirrors what serves. A document is built when the new generation
/// answers with the bytes the serving one answers with, whatever became of it meanwhile.
#[async_trait]
pub trait Generations {
    /// Opens the next generation beside the one that serves. At most one is being built;
    /// asked again for the same, it is the one under way.
    async fn begin_generation(
        &self,
        tenant: TenantId,
        kb: KbId,
        spec: GenerationSpec,
        now: DateTime<Utc>,
    ) -> Result<Kb, Error>;

    /// How far the generation being built has come, if one is.
    async fn building(&self, tenant: TenantId, kb: KbId) -> Result<Option<Building>, Error>;

    /// Every knowledge base that has one, of all tenants.
    async fn all_building(&self) -> Result<Vec<Kb>, Error>;

    /// Begins the next documents that serve and are not built, by number after `after`, as
    /// long as no more than `limit` are under way. What failed is not begun again.
    async fn rebuild_some(
        &self,
        kb: &Kb,
        after: Option<u32>,
        limit: u32,
        now: DateTime<Utc>,
    ) -> Result<Rebuilt, Error>;

    /// The generation being built serves from now on, and the one that served is retired:
    /// a conflict unless every document is built. Runs under way in the old one begin anew
    /// in the new one, in the same transaction, so nothing falls between them.
    async fn switch_generation(
        &self,
        tenant: TenantId,
        kb: KbId,
        generation: GenerationId,
        leave_failed: bool,
        now: DateTime<Utc>,
    ) -> Result<Kb, Error>;

    /// The generation being built is retired, and its runs end.
    async fn abandon_generation(
        &self,
        tenant: TenantId,
        kb: KbId,
        generation: GenerationId,
        now: DateTime<Utc>,
    ) -> Result<Kb, Error>;

    /// Generations that serve no more, of all tenants.
    async fn retired_generations(&self) -> Result<Vec<Retired>, Error>;

    /// Versions of a retired generation that never served, to be forgotten with
    /// [`Jobs::forget_versions`](super::Jobs::forget_versions).
    async fn never_served(&self, retired: &Retired, limit: u32) -> Result<Vec<Removing>, Error>;
}
