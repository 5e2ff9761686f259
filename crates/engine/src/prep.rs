//! The first step: the original becomes normalised text, structure and units.
//!
//! Artifacts are written under the pass this Prep will open, so a second Prep of
//! the same version never changes what a unit of the first is reading.

use catalog::{Claim, Prepared};
use futures::{StreamExt, TryStreamExt, stream};
use model::{FollowUps, Parsed, Unit};
use parse::Hints;

use crate::figures::Timed;
use crate::objects::Key;
use crate::reading::Structure;
use crate::{Engine, Error, Objects, Stage};

/// Artifacts of one version written at the same time.
const WRITES_IN_FLIGHT: usize = 8;

impl Engine {
    pub(crate) async fn prep(&self, claim: &Claim) -> Result<FollowUps, Error> {
        let version = self
            .parts
            .catalog
            .version(claim.tenant, claim.step.version())
            .await?;
        self.pass(claim, Stage::Parsing);
        let original = Key::original(claim.tenant, &version.content_hash);
        let bytes = self.parts.objects.get(&original).await?;
        let hints = Hints {
            filename: Some(version.filename.clone()),
            media_type: version.media_type.clone(),
        };
        let parsing = self.parts.sandbox.parse(bytes, hints);
        let parsed = self.timed(Timed::Parse, parsing).await?;
        let (parsed, units) = tokio::task::spawn_blocking(move || {
            let units = pipeline::units::units(&parsed);
            (parsed, units)
        })
        .await
        .map_err(|_| Error::StageStopped)?;

        let pass = version.pass + 1;
        self.write_artifacts(claim, pass, &parsed, &units).await?;

        let prepared = Prepared {
            units: units.iter().map(|u| (u.name.clone(), u.index)).collect(),
            title: parsed.title,
            language: parsed.language,
            media_type: Some(parsed.media_type),
            pages: parsed.pages,
            gaps: parsed.gaps,
            warnings: parsed.warnings,
        };
        let now = self.parts.clock.now();
        let (opened, follow_ups) = self.parts.catalog.prepared(claim, prepared, now).await?;
        if opened == pass {
            Ok(follow_ups)
        } else {
            Err(Error::PassMoved {
                opened,
                written: pass,
            })
        }
    }

    async fn write_artifacts(
        &self,
        claim: &Claim,
        pass: u32,
        parsed: &Parsed,
        units: &[Unit],
    ) -> Result<(), Error> {
        let (tenant, version) = (claim.tenant, claim.step.version());
        let objects = &self.parts.objects;
        let text = parsed.text.clone().into_bytes();
        objects
            .put(&Key::text(tenant, version, pass), text.into())
            .await?;
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
        objects
            .put_json(&Key::parsed(tenant, version, pass), &structure)
            .await?;
        let writes: Vec<_> = units
            .iter()
            .map(|unit| write_unit(objects, Key::unit(tenant, version, pass, &unit.name), unit))
            .collect();
        stream::iter(writes)
            .buffer_unordered(WRITES_IN_FLIGHT)
            .try_collect::<()>()
            .await?;
        Ok(())
    }
}

async fn write_unit(objects: &Objects, key: Key, unit: &Unit) -> Result<(), Error> {
    Ok(objects.put_json(&key, unit).await?)
}
