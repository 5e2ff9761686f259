//! The last step: the root hash over what the index really holds, then the flip.

use std::collections::{HashMap, HashSet};

use catalog::{Activation, Claim, RunStats, UnitRow, Version};
use index::{Fence, Flush, Space, UnitPlace};
use model::{FollowUps, UnitName};

use crate::objects::Key;
use crate::{Engine, Error, pieces};

impl Engine {
    pub(crate) async fn finalize(&self, claim: &Claim, pass: u32) -> Result<FollowUps, Error> {
        let version = self
            .parts
            .catalog
            .version(claim.tenant, claim.step.version())
            .await?;
        let space = Space {
            tenant: claim.tenant,
            kb: claim.kb,
            generation: version.generation.id,
        };
        let units = self.parts.catalog.units(claim.tenant, version.id).await?;
        if pass > 1 {
            self.drop_units_of_earlier_passes(claim, &version, space, &units)
                .await?;
        }
        // Sealed before the flip: a worker that stalled in Extract and wakes up now
        // changes nothing of what is about to be visible.
        let sealed = self.parts.index.seal(space, version.id).await?;
        let flush = sealed.durable().await?;
        let snapshot = self.parts.index.snapshot(flush).await?;
        let texts = snapshot.texts_of(space, version.id).await?;
        let held = texts.iter().map(|(unit, ..)| unit);
        check_all_there(&units, held)?;
        let root_hash = pipeline::link::root_hash(texts.into_iter());
        let activation = Activation {
            version: version.id,
            pass,
            root_hash,
            flush: flush.0,
            stats: stats(&units),
        };
        if version.size >= pieces::LARGE {
            // Here and not in Prep: whoever dies in between comes by again.
            let progress = Key::progress(claim.tenant, version.id, pass);
            self.parts.objects.delete(&progress).await?;
        }
        let brought = (activation.stats.chunks_created, version.size);
        let now = self.parts.clock.now();
        self.parts.catalog.activate(claim, activation, now).await?;
        let to = (claim.tenant, claim.kb);
        self.figures().taken_in(to, brought, now);
        Ok(vec![])
    }

    /// A repeated Prep may have named other units than the one before it, whose chunks are
    /// in the index all the same. Asked again after the seal, there is nothing left to drop.
    async fn drop_units_of_earlier_passes(
        &self,
        claim: &Claim,
        version: &Version,
        space: Space,
        units: &[UnitRow],
    ) -> Result<(), Error> {
        let known: HashSet<_> = units.iter().map(|unit| &unit.name).collect();
        let snapshot = self.view(0).await?;
        let stored = snapshot.texts_of(space, version.id).await?;
        let mut strays: Vec<_> = stored.into_iter().map(|(unit, ..)| unit).collect();
        strays.retain(|unit| !known.contains(unit));
        strays.dedup();
        for unit in strays {
            tracing::info!(run_id = %claim.run, %unit, "a unit of an earlier pass is dropped");
            let place = UnitPlace {
                space,
                version: version.id,
                number: version.number,
                unit,
            };
            let model = &version.generation.spec.model;
            let index = &self.parts.index;
            let receipt = index.replace_unit(place, Fence(claim.token), model, Vec::new());
            receipt.await?.durable().await?;
        }
        Ok(())
    }

    /// A view of the index that holds everything the catalog calls active.
    pub(crate) async fn view(&self, at_least: u64) -> Result<index::Snapshot, Error> {
        Ok(self.parts.index.snapshot(Flush(at_least)).await?)
    }
}

/// An index that was lost or set back while the run was under way holds less than the units
/// were marked for. Nobody could tell afterwards, once the root hash was made of that.
fn check_all_there<'a>(
    units: &[UnitRow],
    chunks: impl Iterator<Item = &'a UnitName>,
) -> Result<(), Error> {
    let mut held: HashMap<&UnitName, u64> = HashMap::new();
    for unit in chunks {
        *held.entry(unit).or_default() += 1;
    }
    let lacking = units
        .iter()
        .map(|unit| (unit, held.get(&unit.name).copied().unwrap_or_default()))
        .find(|(unit, held)| unit.chunks != *held);
    match lacking {
        None => Ok(()),
        Some((unit, held)) => Err(Error::NotAllIndexed {
            unit: unit.name.clone(),
            made: unit.chunks,
            held,
        }),
    }
}

/// What the run made, summed over its units.
fn stats(units: &[UnitRow]) -> RunStats {
    let sum = |of: fn(&UnitRow) -> u64| units.iter().map(of).sum();
    RunStats {
        chunks_created: sum(|unit| unit.chunks),
        tokens_total: sum(|unit| unit.tokens),
        chunks_processed: sum(|unit| unit.chunks - unit.reused),
        chunks_skipped: sum(|unit| unit.reused),
        chunks_error: 0,
    }
}
