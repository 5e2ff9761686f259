//! The next generation of a knowledge base is built beside the one that serves.
//!
//! What is to be built is read from the catalog in every round, so that a build goes on
//! wherever it was interrupted: documents that serve and are not built are begun, a bounded
//! number at a time, from their originals. The switch is one transaction of the catalog.
//! Afterwards the index forgets the old one, once nobody reads it any more.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};

use catalog::{Building, GenerationSpec, Kb, Retired};
use index::{Scope, Space};
use model::{ChunkPolicy, GenerationId, Strategy};

use crate::{Engine, Error};

/// What the next generation is to be made with. What is not said is what suits the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// One of the models at hand; the one for what is new unless said.
    pub model: Option<String>,
    pub strategy: Option<Strategy>,
    pub target: Option<u32>,
    pub max: Option<u32>,
    pub overlap: Option<u32>,
}

/// What rounds remember of each other. Nothing is lost with it.
#[derive(Debug, Default)]
pub struct Tending {
    /// Where to look on for documents that are not built.
    next: HashMap<GenerationId, u32>,
    forgotten: HashSet<GenerationId>,
}

/// Documents of one knowledge base under way to its next generation.
const UNDER_WAY: u32 = 256;
const FORGOTTEN_AT_ONCE: u32 = 100;

impl Engine {
    /// Begins a generation, or finds the one under way when it is the same.
    pub async fn begin_generation(&self, kb: &Kb, wanted: &Wanted) -> Result<Kb, Error> {
        let spec = self.wanted_spec(kb, wanted)?;
        if kb.building.is_none() && spec == kb.serving.spec {
            return Err(Error::BadRequest {
                what: "nothing would change",
                why: format!("`{}` is built with this model and policy already", kb.name),
            });
        }
        let now = self.parts.clock.now();
        let begun = self
            .parts
            .catalog
            .begin_generation(kb.tenant, kb.id, spec, now);
        Ok(begun.await?)
    }

    fn wanted_spec(&self, kb: &Kb, wanted: &Wanted) -> Result<GenerationSpec, Error> {
        let bad = |what, why: String| Error::BadRequest { what, why };
        let named = |name: &String| self.embedders().find(|e| e.info().name.as_str() == name);
        let embedder = match &wanted.model {
            None => &self.parts.embedder,
            Some(name) => named(name).ok_or_else(|| {
                let names: Vec<_> = self
                    .embedders()
                    .map(|e| e.info().name.to_string())
                    .collect();
                bad("this server does not have that model", names.join(", "))
            })?,
        };
        let info = embedder.info();
        let usual = info.policy();
        let size = |said: Option<u32>, usual: usize| said.unwrap_or(usual as u32);
        let sizes = (
            size(wanted.target, usual.target()),
            size(wanted.max, usual.max()),
            size(wanted.overlap, usual.overlap()),
        );
        let strategy = wanted.strategy.unwrap_or(kb.serving.spec.policy.strategy());
        let policy = ChunkPolicy::new(strategy, sizes, info.max_tokens)
            .map_err(|error| bad("such chunks cannot be made", error.to_string()))?;
        Ok(GenerationSpec {
            model: info.name.clone(),
            dimension: info.dimension,
            policy,
        })
    }

    /// How far it has come, and what it waits for when that is not its documents.
    pub async fn building(&self, kb: &Kb) -> Result<Option<(Building, Option<String>)>, Error> {
        let building = self.parts.catalog.building(kb.tenant, kb.id).await?;
        Ok(building.map(|building| {
            let waits = self.model(&building.generation).err();
            let waits = waits.map(|error| match error {
                Error::OtherModel { serving, .. } => format!("this server does not have {serving}"),
                other => other.to_string(),
            });
            (building, waits)
        }))
    }

    /// The generation being built serves from the moment this returns.
    pub async fn switch_generation(&self, kb: &Kb, leave_failed: bool) -> Result<Kb, Error> {
        let generation = kb.building_id().ok_or_else(nothing_is_built)?;
        let now = self.parts.clock.now();
        let switched = self
            .parts
            .catalog
            .switch_generation(kb.tenant, kb.id, generation, leave_failed, now)
            .await?;
        tracing::info!(kb = %kb.name, generation = switched.serving.number, "a new generation serves");
        // Runs it took along begin anew.
        self.work_added();
        Ok(switched)
    }

    pub async fn abandon_generation(&self, kb: &Kb) -> Result<Kb, Error> {
        let generation = kb.building_id().ok_or_else(nothing_is_built)?;
        let now = self.parts.clock.now();
        let abandoned = self
            .parts
            .catalog
            .abandon_generation(kb.tenant, kb.id, generation, now);
        Ok(abandoned.await?)
    }

    /// One round: documents still to be built are begun, and what serves no more is forgotten.
    pub async fn tend_generations(&self, tending: &mut Tending) -> Result<(), Error> {
        for kb in self.parts.catalog.all_building().await? {
            self.build_some(&kb, tending).await?;
        }
        for retired in self.parts.catalog.retired_generations().await? {
            if !tending.forgotten.contains(&retired.generation) {
                self.forget_retired(&retired, tending).await?;
            }
        }
        Ok(())
    }

    async fn build_some(&self, kb: &Kb, tending: &mut Tending) -> Result<(), Error> {
        let Some(building) = &kb.building else {
            return Ok(());
        };
        if self.model(building).is_err() {
            return Ok(());
        }
        let after = tending.next.remove(&building.id);
        let now = self.parts.clock.now();
        let rebuilt = self.parts.catalog.rebuild_some(kb, after, UNDER_WAY, now);
        let rebuilt = rebuilt.await?;
        if let Some(next) = rebuilt.next {
            tending.next.insert(building.id, next);
        }
        if rebuilt.begun > 0 {
            self.work_added();
        }
        Ok(())
    }

    async fn forget_retired(&self, retired: &Retired, tending: &mut Tending) -> Result<(), Error> {
        let space = Space {
            tenant: retired.tenant,
            kb: retired.kb,
            generation: retired.generation,
        };
        if self.readers.reads(retired.generation) {
            // A search begun before the switch: it finds everything to its end.
            return Ok(());
        }
        let index = &self.parts.index;
        if !index.has_forgotten(space).await? {
            let _moving = self.still.read().await;
            let forgotten = index.forget_space(Scope::Generation(space)).await?;
            forgotten.durable().await?;
            tracing::info!(kb = %retired.kb, generation = %retired.generation, "the index has forgotten a retired generation");
        }
        loop {
            let catalog = &self.parts.catalog;
            let copies = catalog.never_served(retired, FORGOTTEN_AT_ONCE).await?;
            if copies.is_empty() {
                break;
            }
            self.forget(retired.tenant, &copies).await?;
        }
        tending.forgotten.insert(retired.generation);
        Ok(())
    }
}

fn nothing_is_built() -> Error {
    Error::BadRequest {
        what: "no generation is being built",
        why: "begin one first".to_owned(),
    }
}

/// Which generations are being searched, by how many.
#[derive(Debug, Default)]
pub(crate) struct Readers(Mutex<HashMap<GenerationId, usize>>);

/// Held while a generation is searched.
pub(crate) struct Reading<'a> {
    readers: &'a Readers,
    generation: GenerationId,
}

impl Readers {
    pub fn enter(&self, generation: GenerationId) -> Reading<'_> {
        *self.counts().entry(generation).or_default() += 1;
        Reading {
            readers: self,
            generation,
        }
    }

    fn reads(&self, generation: GenerationId) -> bool {
        self.counts().contains_key(&generation)
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<GenerationId, usize>> {
        self.0
            .lock()
            .expect("nothing panics while it holds the counts")
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        let mut counts = self.readers.counts();
        if let Some(count) = counts.get_mut(&self.generation) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.generation);
            }
        }
    }
}
