//! A version made again from its stored original, in place.
//!
//! It is read as Prep reads it, in pieces where it is large, and its artifacts are written under a
//! pass of their own, beside those there were: killed or refused in between, it is as it was. From
//! them everything is cut and embedded before anything is taken away. Then the index scours the
//! version and takes it anew under a fresh fence, it is sealed, the catalog is told which pass it is
//! in now, and those before it go. The version answers with what it has throughout.
//!
//! What is read today must hold all that was read before: a reading with a gap that is new is
//! refused, as the text it lacks may be in the index still.
//!
//! Of a retired generation the index keeps nothing: there only what citations are proved by is
//! made again, and no vector.

use bytes::Bytes;
use catalog::{Dossier, GenerationState, Mend, Prepared, Reworked, ReworkedUnit, Version};
use index::{Fence, IndexedChunk, Space, UnitPlace};
use model::{ContentHash, Gap, TenantId, Unit, UnitName, VersionId};

use super::gaps;
use crate::extract::Cut;
use crate::objects::{self, Key};
use crate::reading::Structure;
use crate::verify::recorded;
use crate::{Engine, Error, pieces};

/// A unit ready for the index.
struct Made {
    name: UnitName,
    position: u32,
    tokens: u64,
    chunks: Vec<IndexedChunk>,
}

/// What the catalog is to be told of a version that was made again.
struct Anew {
    units: Vec<ReworkedUnit>,
    root_hash: ContentHash,
    flush: u64,
}

impl Engine {
    /// Says what was done.
    pub(super) async fn rework(
        &self,
        tenant: TenantId,
        id: VersionId,
    ) -> Result<&'static str, Error> {
        let version = self.parts.catalog.version(tenant, id).await?;
        if version.generation.state != GenerationState::Retired {
            self.model(&version.generation)?;
        }
        self.check_original(&version).await?;
        let dossier = self.parts.catalog.dossier(tenant, version.document).await?;
        let pass = self.unused_pass(&version).await?;
        let (prepared, anew) = match self.make_beside(&version, &dossier, pass).await {
            Ok(made) => made,
            Err(error) => {
                self.drop_passes(&version, |other| other == pass).await?;
                return Err(error);
            }
        };
        let recorded = root_told(&dossier, id);
        let differs = recorded.is_some_and(|root_hash| root_hash != Some(anew.root_hash));
        let reworked = Reworked {
            version: id,
            pass,
            units: anew.units,
            artifacts: prepared.artifacts,
            pages: prepared.pages,
            title: prepared.title,
            language: prepared.language,
            media_type: prepared.media_type.expect("reading tells it"),
            gaps: prepared.gaps,
            warnings: prepared.warnings,
            root_hash: anew.root_hash,
            flush: anew.flush,
            differs,
        };
        let mend = vec![Mend::Reworked(Box::new(reworked))];
        let now = self.parts.clock.now();
        let catalog = &self.parts.catalog;
        catalog.mend(tenant, version.document, mend, now).await?;
        if version.size >= pieces::LARGE {
            let progress = Key::progress(tenant, id, pass);
            self.parts.objects.delete(&progress).await?;
        }
        self.drop_passes(&version, |other| other != pass).await?;
        Ok(match differs {
            false => "made it again from its original",
            true => {
                "made it again from its original, into other chunks than before: it is read \
                 differently today, and the ledger says so"
            }
        })
    }

    /// One that nothing was ever written under: its row may tell another than it was in.
    async fn unused_pass(&self, version: &Version) -> Result<u32, Error> {
        let key = Key::version(version.tenant, version.id);
        let made = self.parts.objects.list_below(&key).await?;
        let newest = made.iter().filter_map(|(key, _)| key.pass()).max();
        Ok(newest.unwrap_or(0).max(version.pass).saturating_add(1))
    }

    async fn drop_passes(
        &self,
        version: &Version,
        is_dropped: impl Fn(u32) -> bool,
    ) -> Result<(), Error> {
        let key = Key::version(version.tenant, version.id);
        for (key, _) in self.parts.objects.list_below(&key).await? {
            if key.pass().is_some_and(&is_dropped) {
                self.parts.objects.delete(&key).await?;
            }
        }
        Ok(())
    }

    /// Reads the original under this pass, and brings to the index what comes of that.
    async fn make_beside(
        &self,
        version: &Version,
        dossier: &Dossier,
        pass: u32,
    ) -> Result<(Prepared, Anew), Error> {
        let prepared = self.read_original(version, pass).await?;
        self.refuse_new_gaps(version, dossier, &prepared).await?;
        let anew = match version.generation.state == GenerationState::Retired {
            false => self.make_indexed(version, &prepared).await?,
            true => self.make_unindexed(version, &prepared).await?,
        };
        Ok((prepared, anew))
    }

    async fn refuse_new_gaps(
        &self,
        version: &Version,
        dossier: &Dossier,
        prepared: &Prepared,
    ) -> Result<(), Error> {
        if prepared.gaps.is_empty() {
            return Ok(());
        }
        let known = self.known_gaps(version, dossier).await?;
        let Some(gap) = gaps::new(&known, &prepared.gaps) else {
            return Ok(());
        };
        // Nothing may tell of a gap any more; with the chunks it had then it is no new one.
        let recorded = root_told(dossier, version.id).unwrap_or(version.root_hash);
        let cut = self.cut_units(version, prepared).await.ok();
        if cut.is_some_and(|(_, root_hash)| recorded == Some(root_hash)) {
            return Ok(());
        }
        Err(gaps::refused(gap))
    }

    /// As its row tells them, what was noted of it, and the structure that was stored.
    async fn known_gaps(&self, version: &Version, dossier: &Dossier) -> Result<Vec<Gap>, Error> {
        let mut known = version.gaps.clone();
        let Some(row) = dossier.version(version.id) else {
            return Ok(known);
        };
        let noted = row.told();
        let noted = noted.and_then(|facts| serde_json::from_value::<Vec<Gap>>(facts.gaps).ok());
        known.extend(noted.into_iter().flatten());
        let key = Key::parsed(version.tenant, version.id, version.pass);
        let stored = self.object(&key).await?;
        let is_whole = |bytes: &Bytes| {
            let hash = row.artifacts.parsed;
            hash.is_none_or(|hash| ContentHash::of(bytes) == hash)
        };
        let stored = stored.filter(is_whole);
        let stored = stored.and_then(|bytes| serde_json::from_slice::<Structure>(&bytes).ok());
        known.extend(stored.into_iter().flat_map(|structure| structure.gaps));
        Ok(known)
    }

    async fn check_original(&self, version: &Version) -> Result<(), Error> {
        let key = Key::original(version.tenant, &version.content_hash);
        match self.object(&key).await? {
            Some(bytes) if ContentHash::of(&bytes) == version.content_hash => Ok(()),
            Some(_) => Err(Error::BadRequest {
                what: "the original",
                why: "it is not what was ingested; ingest the file again".to_owned(),
            }),
            None => Err(objects::Error::Missing { key }.into()),
        }
    }

    async fn make_indexed(&self, version: &Version, prepared: &Prepared) -> Result<Anew, Error> {
        let made = self.make_units(version, prepared).await?;
        let units = made.iter().map(reworked).collect();
        let (root_hash, flush) = self.put_anew(version, made).await?;
        Ok(Anew {
            units,
            root_hash,
            flush,
        })
    }

    async fn make_unindexed(&self, version: &Version, prepared: &Prepared) -> Result<Anew, Error> {
        let (units, root_hash) = match self.model(&version.generation) {
            Ok(_) => self.cut_units(version, prepared).await?,
            Err(without) => match self.recorded_units(version, prepared).await? {
                Some(recorded) => recorded,
                None => {
                    // What citations are proved by comes back all the same, where it was.
                    self.read_original(version, version.pass).await?;
                    return Err(without);
                }
            },
        };
        Ok(Anew {
            units,
            root_hash,
            // Nobody waits for what the index has forgotten.
            flush: version.needs_flush.unwrap_or_default(),
        })
    }

    async fn cut_units(
        &self,
        version: &Version,
        prepared: &Prepared,
    ) -> Result<(Vec<ReworkedUnit>, ContentHash), Error> {
        let mut counted = Vec::with_capacity(prepared.units.len());
        let mut texts = Vec::new();
        for (name, position) in prepared.units.iter().cloned() {
            let unit = self.written_unit(version, prepared.pass, &name).await?;
            let cuts = self.chunk(unit, &version.generation).await?;
            counted.push(ReworkedUnit {
                name: name.clone(),
                position,
                chunks: cuts.len() as u64,
                tokens: cuts.iter().map(|cut| cut.tokens as u64).sum(),
            });
            let text = |cut: &Cut| (name.clone(), cut.chunk.ordinal, cut.chunk.text_hash());
            texts.extend(cuts.iter().map(text));
        }
        Ok((counted, pipeline::link::root_hash(texts.into_iter())))
    }

    /// As the catalog has them, if it has all of them: without its model they cannot be cut.
    async fn recorded_units(
        &self,
        version: &Version,
        prepared: &Prepared,
    ) -> Result<Option<(Vec<ReworkedUnit>, ContentHash)>, Error> {
        let catalog = &self.parts.catalog;
        let rows = catalog.units(version.tenant, version.id).await?;
        let recorded = |(name, position): &(UnitName, u32)| {
            let row = rows.iter().find(|row| row.name == *name)?;
            Some(ReworkedUnit {
                name: name.clone(),
                position: *position,
                chunks: row.chunks,
                tokens: row.tokens,
            })
        };
        let units: Option<Vec<_>> = prepared.units.iter().map(recorded).collect();
        Ok(units.zip(version.root_hash))
    }

    /// One of those that have just been written; all at once might be too many to hold.
    async fn written_unit(
        &self,
        version: &Version,
        pass: u32,
        name: &UnitName,
    ) -> Result<Unit, Error> {
        let key = Key::unit(version.tenant, version.id, pass, name);
        Ok(self.parts.objects.get_json(&key).await?)
    }

    async fn make_units(&self, version: &Version, prepared: &Prepared) -> Result<Vec<Made>, Error> {
        let mut made = Vec::with_capacity(prepared.units.len());
        for (name, position) in prepared.units.iter().cloned() {
            let unit = self.written_unit(version, prepared.pass, &name).await?;
            let cuts = self.chunk(unit, &version.generation).await?;
            let tokens = cuts.iter().map(|cut| cut.tokens as u64).sum();
            let language = prepared.language.as_deref();
            let (chunks, _reused) = self.embed(None, version, &name, cuts, language).await?;
            made.push(Made {
                name,
                position,
                tokens,
                chunks,
            });
        }
        Ok(made)
    }

    async fn put_anew(
        &self,
        version: &Version,
        made: Vec<Made>,
    ) -> Result<(ContentHash, u64), Error> {
        let index = &self.parts.index;
        let space = Space {
            tenant: version.tenant,
            kb: version.kb,
            generation: version.generation.id,
        };
        let fence = Fence(self.parts.catalog.fence().await?);
        index.scour(space, version.id).await?;
        let chunks = made.iter().flat_map(|unit| &unit.chunks);
        let inputs: Vec<ContentHash> = chunks.map(|chunk| chunk.input_hash).collect();
        for unit in made {
            let place = UnitPlace {
                space,
                version: version.id,
                number: version.number,
                unit: unit.name,
            };
            let model = &version.generation.spec.model;
            index.replace_unit(place, fence, model, unit.chunks).await?;
        }
        let sealed = index.seal(space, version.id).await?;
        let flush = sealed.durable().await?;
        let embeddings = &self.model(&version.generation)?.embeddings;
        embeddings.indexed(version.tenant, &inputs);
        let stored = index.snapshot(flush).await?;
        let texts = stored.texts_of(space, version.id).await?;
        Ok((pipeline::link::root_hash(texts.into_iter()), flush.0))
    }
}

/// What the ledger tells last of a version's chunks, if it tells of the version.
fn root_told(dossier: &Dossier, version: VersionId) -> Option<Option<ContentHash>> {
    let recorded = recorded(dossier);
    let last = recorded.iter().rev().find(|one| one.version == version);
    last.map(|one| one.root_hash)
}

fn reworked(made: &Made) -> ReworkedUnit {
    ReworkedUnit {
        name: made.name.clone(),
        position: made.position,
        chunks: made.chunks.len() as u64,
        tokens: made.tokens,
    }
}
