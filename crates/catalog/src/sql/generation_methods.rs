//! The methods on generations, each given its transaction.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::{GenerationId, KbId, TenantId};

use super::cells::micros;
use super::dialect::Dialect;
use super::{Sql, generations};
use crate::{Building, Error, GenerationSpec, Generations, Kb, Rebuilt, Removing, Retired};

#[async_trait]
impl<DB: Dialect> Generations for Sql<DB> {
    async fn begin_generation(
        &self,
        tenant: TenantId,
        kb: KbId,
        spec: GenerationSpec,
        now: DateTime<Utc>,
    ) -> Result<Kb, Error> {
        let place = (tenant, kb);
        self.write("catalog.begin_generation", move |c| {
            Box::pin(generations::begin::<DB>(c, place, spec, micros(now)))
        })
        .await
    }

    async fn building(&self, tenant: TenantId, kb: KbId) -> Result<Option<Building>, Error> {
        self.read("catalog.building", move |c| {
            Box::pin(generations::building::<DB>(c, tenant, kb))
        })
        .await
    }

    async fn all_building(&self) -> Result<Vec<Kb>, Error> {
        self.read("catalog.all_building", move |c| {
            Box::pin(generations::all_building::<DB>(c))
        })
        .await
    }

    async fn rebuild_some(
        &self,
        kb: &Kb,
        after: Option<u32>,
        limit: u32,
        now: DateTime<Utc>,
    ) -> Result<Rebuilt, Error> {
        let kb = kb.clone();
        self.write("catalog.rebuild_some", move |c| {
            Box::pin(async move {
                generations::rebuild_some::<DB>(c, &kb, after, limit, micros(now)).await
            })
        })
        .await
    }

    async fn switch_generation(
        &self,
        tenant: TenantId,
        kb: KbId,
        generation: GenerationId,
        leave_failed: bool,
        now: DateTime<Utc>,
    ) -> Result<Kb, Error> {
        let place = (tenant, kb);
        self.write("catalog.switch_generation", move |c| {
            let switching =
                generations::switch::<DB>(c, place, generation, leave_failed, micros(now));
            Box::pin(switching)
        })
        .await
    }

    async fn abandon_generation(
        &self,
        tenant: TenantId,
        kb: KbId,
        generation: GenerationId,
        now: DateTime<Utc>,
    ) -> Result<Kb, Error> {
        let place = (tenant, kb);
        self.write("catalog.abandon_generation", move |c| {
            Box::pin(generations::abandon::<DB>(
                c,
                place,
                generation,
                micros(now),
            ))
        })
        .await
    }

    async fn retired_generations(&self) -> Result<Vec<Retired>, Error> {
        self.read("catalog.retired_generations", move |c| {
            Box::pin(generations::retired::<DB>(c))
        })
        .await
    }

    async fn never_served(&self, retired: &Retired, limit: u32) -> Result<Vec<Removing>, Error> {
        let retired = *retired;
        self.read("catalog.never_served", move |c| {
            Box::pin(generations::never_served::<DB>(c, retired, limit))
        })
        .await
    }
}
