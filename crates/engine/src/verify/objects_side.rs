//! The bytes a version was made of, what was made of them, and what nobody refers to.

use std::collections::BTreeSet;

use catalog::{Dossier, VersionFile};
use chrono::TimeDelta;
use index::StoredChunk;
use model::{ContentHash, TenantId, VersionId};

use super::{Disagreement, Recorded, Remedy};
use crate::objects::{self, Key};
use crate::reading::Structure;
use crate::{Engine, Error};

const NO_ORIGINAL: &str = "the original is not stored any more: ingest the file again";

impl Engine {
    /// The bytes a version was made of. Where those who tell of them are divided, it is what is
    /// stored.
    pub(crate) async fn content_of(
        &self,
        tenant: TenantId,
        dossier: &Dossier,
        version: VersionId,
    ) -> Result<Option<ContentHash>, Error> {
        let told = dossier.contents_of(version);
        if told.len() > 1 {
            for hash in &told {
                let stored = self.object(&Key::original(tenant, hash)).await?;
                if stored.is_some_and(|bytes| ContentHash::of(&bytes) == *hash) {
                    return Ok(Some(*hash));
                }
            }
        }
        Ok(told.first().copied())
    }

    /// It was stored before its version was admitted and stays while that refers to it, read
    /// or not: a run that failed is tried again from it.
    pub(super) async fn check_original_of(
        &self,
        tenant: TenantId,
        version: &VersionFile,
        content: ContentHash,
    ) -> Result<Option<Disagreement>, Error> {
        // Where the version's row tells of other bytes, that is named, and these are still there.
        let original = Key::original(tenant, &content);
        let what = match self.object(&original).await? {
            None => "the original is gone",
            Some(bytes) if ContentHash::of(&bytes) != content => {
                "the original is not what was ingested"
            }
            Some(bytes) if bytes.len() as u64 != version.size => {
                let what = "the original has another size than the catalog tells";
                let remedy = Remedy::Version(version.id);
                return Ok(Some(Disagreement::of_version(version.id, what, remedy)));
            }
            Some(_) => return Ok(None),
        };
        let remedy = Remedy::Nothing(NO_ORIGINAL);
        Ok(Some(Disagreement::of_version(version.id, what, remedy)))
    }

    /// What was made of a finished version.
    pub(super) async fn check_objects(
        &self,
        tenant: TenantId,
        version: &VersionFile,
        stored: &[StoredChunk],
    ) -> Result<Vec<Disagreement>, Error> {
        let mut found = Vec::new();
        let mut name = |what, chunk: Option<String>, remedy| {
            found.push(Disagreement {
                chunk,
                ..Disagreement::of_version(version.id, what, remedy)
            });
        };
        let rework = Remedy::Rework(version.id);
        let text = self
            .object(&Key::text(tenant, version.id, version.pass))
            .await?;
        match text.as_deref() {
            None => name("the text is gone", None, rework),
            Some(bytes) if is_other(bytes, version.artifacts.text) => {
                name("the text was changed", None, rework);
            }
            Some(bytes) => {
                let text = std::str::from_utf8(bytes).unwrap_or_default();
                let differs = |s: &&StoredChunk| {
                    text.get(s.chunk.span.bytes()) != Some(s.chunk.text.as_str())
                };
                stored.iter().filter(differs).for_each(|s| {
                    name(
                        "the text has something else there",
                        Some(s.id.to_string()),
                        rework,
                    );
                });
            }
        }
        let parsed = self
            .object(&Key::parsed(tenant, version.id, version.pass))
            .await?;
        match parsed.as_deref() {
            None => name("the structure is gone", None, rework),
            Some(bytes) if is_other(bytes, version.artifacts.parsed) => {
                name("the structure was changed", None, rework);
            }
            Some(bytes) => {
                let structure = serde_json::from_slice::<Structure>(bytes).ok();
                if let Some(what) = structure.and_then(|s| otherwise(version, &s)) {
                    name(what, None, rework);
                }
            }
        }
        for unit in &version.units {
            let key = Key::unit(tenant, version.id, version.pass, &unit.name);
            let hash = version.artifacts.units.get(&unit.name).copied();
            let place = Some(format!("{}:{}", version.id, unit.name));
            match self.object(&key).await? {
                None => name("the artifact of a unit is gone", place, rework),
                Some(bytes) if is_other(&bytes, hash) => {
                    name("the artifact of a unit was changed", place, rework);
                }
                Some(_) => {}
            }
        }
        Ok(found)
    }

    pub(crate) async fn object(&self, key: &Key) -> Result<Option<bytes::Bytes>, Error> {
        match self.parts.objects.get(key).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(objects::Error::Missing { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Objects made of and drawn for versions the catalog does not know, and old originals nothing
    /// refers to. A version's row is there before anything is made of it, so the first are nobody's.
    /// What a ledger or a run still tells of is kept for repair.
    pub(super) async fn unowned(
        &self,
        tenant: TenantId,
        recorded: &Recorded,
    ) -> Result<Vec<Key>, Error> {
        let objects = &self.parts.objects;
        let mut made = objects.list_below(&Key::versions(tenant)).await?;
        made.extend(objects.list_below(&Key::all_cached(tenant)).await?);
        let kept = objects.list_below(&Key::originals(tenant)).await?;
        let held = self.parts.catalog.held(tenant).await?;
        let mut versions: BTreeSet<_> = held.iter().map(|held| held.version).collect();
        let mut originals: BTreeSet<_> = held.iter().filter_map(|held| held.content_hash).collect();
        versions.extend(&recorded.versions);
        originals.extend(&recorded.originals);
        let age = TimeDelta::from_std(self.settings.janitor.orphans).unwrap_or(TimeDelta::MAX);
        let before = self.parts.clock.now() - age;
        let nobodys = |key: &Key| key.owner().is_none_or(|owner| !versions.contains(&owner));
        let made = made.into_iter().map(|(key, _)| key).filter(nobodys);
        let old = kept
            .into_iter()
            .filter(|(_, meta)| meta.last_modified < before);
        let old = old.filter_map(|(key, _)| key.original_hash());
        let old: Vec<_> = old.filter(|hash| !originals.contains(hash)).collect();
        let free = self.parts.catalog.unreferenced(tenant, &old).await?;
        let free = free.iter().map(|hash| Key::original(tenant, hash));
        Ok(made.chain(free).collect())
    }
}

/// What the catalog tells in another way than the structure.
fn otherwise(version: &VersionFile, structure: &Structure) -> Option<&'static str> {
    if structure.pages != version.pages {
        return Some("the catalog has other pages than the structure");
    }
    if structure.language != version.language {
        return Some("the catalog has another language than the structure");
    }
    if has_other_gaps(version, structure) {
        return Some("the catalog has other gaps than the structure");
    }
    let media_type = version.media_type.as_deref();
    (media_type != Some(&*structure.media_type))
        .then_some("the catalog has another media type than the structure")
}

/// Where a row is not as it was noted, that is named, and put right by the note.
fn has_other_gaps(version: &VersionFile, structure: &Structure) -> bool {
    let Some(row) = &version.facts else {
        return false;
    };
    let noted = version.told();
    let as_noted = noted.is_none_or(|noted| noted.gaps == row.gaps);
    let gaps = serde_json::to_value(&structure.gaps).expect("gaps are plain data");
    as_noted && row.gaps != gaps
}

/// Whether bytes are not those that were written; unknown for versions made long ago.
fn is_other(bytes: &[u8], hash: Option<ContentHash>) -> bool {
    hash.is_some_and(|hash| ContentHash::of(bytes) != hash)
}
