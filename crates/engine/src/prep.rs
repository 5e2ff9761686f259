//! The first step: the original becomes normalised text, structure and units.
//!
//! Artifacts are written under the pass this Prep will open, so a second Prep of
//! the same version never changes what a unit of the first is reading.

use catalog::{Artifacts, Claim, Prepared, Version};
use futures::{StreamExt, TryStreamExt, future, stream};
use model::{ContentHash, FollowUps, Parsed, Unit, UnitName};
use parse::Hints;

use crate::aside::aside;
use crate::figures::Timed;
use crate::objects::{self, Key};
use crate::reading::Structure;
use crate::{Engine, Error, Objects, Stage};

/// Artifacts of one version written at the same time.
pub(crate) const WRITES_IN_FLIGHT: usize = 8;

impl Engine {
    pub(crate) async fn prep(&self, claim: &Claim) -> Result<FollowUps, Error> {
        let version = self
            .parts
            .catalog
            .version(claim.tenant, claim.step.version())
            .await?;
        self.pass(claim, Stage::Parsing);
        let pass = version.pass + 1;
        let prepared = self.read_original(&version, pass).await?;
        let now = self.parts.clock.now();
        Ok(self.parts.catalog.prepared(claim, prepared, now).await?)
    }

    /// The original read, and the artifacts of a pass written.
    pub(crate) async fn read_original(
        &self,
        version: &Version,
        pass: u32,
    ) -> Result<Prepared, Error> {
        match self.prep_in_pieces(version, pass).await? {
            Some(prepared) => Ok(prepared),
            None => self.prep_whole(version, pass).await,
        }
    }

    async fn prep_whole(&self, version: &Version, pass: u32) -> Result<Prepared, Error> {
        let (parsed, units) = self.parse(version).await?;
        let artifacts = self.write_artifacts(version, pass, &parsed, &units).await?;
        Ok(Prepared {
            pass,
            units: units.iter().map(|u| (u.name.clone(), u.index)).collect(),
            artifacts,
            title: parsed.title,
            language: parsed.language,
            media_type: Some(parsed.media_type),
            pages: parsed.pages,
            gaps: parsed.gaps,
            warnings: parsed.warnings,
        })
    }

    /// What the stored original says, in a confined child.
    async fn parse(&self, version: &Version) -> Result<(Parsed, Vec<Unit>), Error> {
        let original = Key::original(version.tenant, &version.content_hash);
        let bytes = self.parts.objects.get(&original).await?;
        // What was changed since it was stored is not what anybody brought.
        if ContentHash::of(&bytes) != version.content_hash {
            return Err(objects::Error::Changed { key: original }.into());
        }
        let hints = Hints {
            filename: Some(version.filename.clone()),
            media_type: version.media_type.clone(),
        };
        let parsing = self.parts.sandbox.parse(bytes, hints);
        let parsed = self.timed(Timed::Parse, parsing).await?;
        aside(parsed.text.len(), move || {
            let units = pipeline::units::units(&parsed);
            (parsed, units)
        })
        .await
    }

    async fn write_artifacts(
        &self,
        of: &Version,
        pass: u32,
        parsed: &Parsed,
        units: &[Unit],
    ) -> Result<Artifacts, Error> {
        let (tenant, version) = (of.tenant, of.id);
        let objects = &self.parts.objects;
        let text = parsed.text.clone().into_bytes();
        let text_hash = ContentHash::of(&text);
        let structure = Structure {
            media_type: parsed.media_type.clone(),
            atoms: parsed.atoms.clone(),
            pages: parsed.pages.clone(),
            title: parsed.title.clone(),
            language: parsed.language.clone(),
            properties: parsed.properties.clone(),
            gaps: parsed.gaps.clone(),
            warnings: parsed.warnings.clone(),
            sections: pipeline::structure::sections(parsed),
        };
        let text_key = Key::text(tenant, version, pass);
        let parsed_key = Key::parsed(tenant, version, pass);
        let writes: Vec<_> = units
            .iter()
            .map(|unit| write_unit(objects, Key::unit(tenant, version, pass, &unit.name), unit))
            .collect();
        // At the same time: one sync of the disk settles what several wait for.
        let ((), parsed_hash, units) = future::try_join3(
            objects.put(&text_key, text.into()),
            objects.put_json(&parsed_key, &structure),
            stream::iter(writes)
                .buffer_unordered(WRITES_IN_FLIGHT)
                .try_collect(),
        )
        .await?;
        Ok(Artifacts {
            text: Some(text_hash),
            parsed: Some(parsed_hash),
            units,
        })
    }
}

pub(crate) async fn write_unit(
    objects: &Objects,
    key: Key,
    unit: &Unit,
) -> Result<(UnitName, ContentHash), objects::Error> {
    Ok((unit.name.clone(), objects.put_json(&key, unit).await?))
}
