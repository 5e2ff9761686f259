//! A version made again from its stored original, in place.
//!
//! Everything is read, parsed, cut and embedded before anything is taken away. Then the
//! index scours the version and takes it anew under a fresh fence, it is sealed, and the
//! catalog is told. The version answers with what it has throughout.

use catalog::{Mend, Reworked, ReworkedUnit, Version, replay};
use index::{Fence, IndexedChunk, Space, UnitPlace};
use model::{ContentHash, Parsed, TenantId, Unit, UnitName, VersionId};

use crate::objects::{self, Key};
use crate::{Engine, Error};

/// A unit ready for the index.
struct Made {
    name: UnitName,
    position: u32,
    tokens: u64,
    chunks: Vec<IndexedChunk>,
}

impl Engine {
    /// Says what was done.
    pub(super) async fn rework(
        &self,
        tenant: TenantId,
        id: VersionId,
    ) -> Result<&'static str, Error> {
        let version = self.parts.catalog.version(tenant, id).await?;
        self.model(&version.generation)?;
        self.check_original(&version).await?;
        let (parsed, units) = self.parse(&version).await?;
        let made = self.make_units(&version, &parsed, units.clone()).await?;
        let artifacts = self
            .write_artifacts(&version, version.pass, &parsed, &units)
            .await?;
        let units = made.iter().map(reworked).collect();
        let (root_hash, flush) = self.put_anew(&version, made).await?;
        let dossier = self.parts.catalog.dossier(tenant, version.document).await?;
        let recorded = replay(&dossier.ledger);
        let recorded = recorded.iter().rev().find(|one| one.version == id);
        let differs = recorded.is_some_and(|one| one.root_hash != Some(root_hash));
        let reworked = Reworked {
            version: id,
            units,
            artifacts,
            pages: parsed.pages,
            title: parsed.title,
            language: parsed.language,
            media_type: parsed.media_type,
            root_hash,
            flush,
            differs,
        };
        let mend = vec![Mend::Reworked(Box::new(reworked))];
        let now = self.parts.clock.now();
        let catalog = &self.parts.catalog;
        catalog.mend(tenant, version.document, mend, now).await?;
        Ok(match differs {
            false => "made it again from its original",
            true => {
                "made it again from its original, into other chunks than before: it is read \
                 differently today, and the ledger says so"
            }
        })
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

    async fn make_units(
        &self,
        version: &Version,
        parsed: &Parsed,
        units: Vec<Unit>,
    ) -> Result<Vec<Made>, Error> {
        let mut made = Vec::with_capacity(units.len());
        for unit in units {
            let (name, position) = (unit.name.clone(), unit.index);
            let cuts = self.chunk(unit, &version.generation).await?;
            let tokens = cuts.iter().map(|cut| cut.tokens as u64).sum();
            let language = parsed.language.as_deref();
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

fn reworked(made: &Made) -> ReworkedUnit {
    ReworkedUnit {
        name: made.name.clone(),
        position: made.position,
        chunks: made.chunks.len() as u64,
        tokens: made.tokens,
    }
}
