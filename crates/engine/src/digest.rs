//! One hash over everything that answers, computed from the stores themselves.
//!
//! Free of ids and times, so two runs over the same files can be compared. Where
//! a store lacks what another says it should hold, that is named, not hashed over.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use catalog::{ActiveVersion, Page};
use index::{Space, StoredChunk};
use model::{ChunkId, ContentHash, KbId, SourceUri, TenantId};

use crate::{Engine, Error};

#[derive(Debug, Clone, serde::Serialize)]
pub struct Digest {
    pub digest: ContentHash,
    pub documents: u64,
    pub chunks: u64,
    pub disagreements: Vec<Disagreement>,
}

/// Two stores that do not say the same.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Disagreement {
    pub source_uri: SourceUri,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<String>,
    pub what: &'static str,
}

impl Engine {
    /// Of one tenant, or of the whole data folder.
    pub async fn digest(&self, tenant: Option<TenantId>) -> Result<Digest, Error> {
        let active = self.all_active(tenant).await?;
        let newest = active.iter().map(|v| v.needs_flush).max().unwrap_or(0);
        let kb_names = self.kb_names(&active).await?;
        let snapshot = self.view(newest).await?;
        let mut lines = Vec::with_capacity(active.len());
        let mut disagreements = Vec::new();
        let mut chunks = 0;
        for version in &active {
            let space = Space {
                tenant: version.tenant,
                kb: version.kb,
                generation: version.generation,
            };
            let stored = snapshot.chunks_of(space, version.version).await?;
            chunks += stored.len() as u64;
            disagreements.extend(compare(version, &stored));
            disagreements.extend(self.verify_objects(version, &stored).await?);
            lines.push(line(&kb_names[&version.kb], version, &stored));
        }
        let tenants: BTreeSet<_> = match tenant {
            Some(tenant) => [tenant].into(),
            None => active.iter().map(|version| version.tenant).collect(),
        };
        for tenant in tenants {
            disagreements.extend(self.verify_ledgers(tenant, &active).await?);
        }
        lines.sort_unstable();
        let digest = ContentHash::of_fields(lines.iter().map(Vec::as_slice));
        Ok(Digest {
            digest,
            documents: active.len() as u64,
            chunks,
            disagreements,
        })
    }

    async fn all_active(&self, tenant: Option<TenantId>) -> Result<Vec<ActiveVersion>, Error> {
        let mut active = Vec::new();
        let mut page = Page::first(Page::MAX);
        loop {
            let listed = self.parts.catalog.all_active(tenant, page).await?;
            active.extend(listed.items);
            match listed.next {
                Some(cursor) => page = Page::following(cursor, Page::MAX),
                None => return Ok(active),
            }
        }
    }

    async fn kb_names(&self, active: &[ActiveVersion]) -> Result<HashMap<KbId, String>, Error> {
        let mut names = HashMap::new();
        for version in active {
            if let Entry::Vacant(missing) = names.entry(version.kb) {
                let kb = self.parts.catalog.kb(version.tenant, version.kb).await?;
                missing.insert(kb.name);
            }
        }
        Ok(names)
    }
}

/// Everything of one document that the digest covers.
fn line(kb: &str, version: &ActiveVersion, stored: &[StoredChunk]) -> Vec<u8> {
    let head = format!("{kb}\n{}\n{}\n", version.source_uri, version.content_hash);
    let chunks = stored.iter().map(|s| {
        let span = s.chunk.span;
        format!(
            "{} {} {}-{} {} {} {}\n",
            s.id.unit,
            s.id.ordinal,
            span.byte_start,
            span.byte_end,
            s.chunk.text_hash(),
            s.has_vector,
            s.has_text,
        )
    });
    std::iter::once(head)
        .chain(chunks)
        .collect::<String>()
        .into()
}

fn compare(version: &ActiveVersion, stored: &[StoredChunk]) -> Vec<Disagreement> {
    let name = |what, chunk: Option<&ChunkId>| Disagreement {
        source_uri: version.source_uri.clone(),
        chunk: chunk.map(ToString::to_string),
        what,
    };
    let mut found = Vec::new();
    for chunk in stored {
        if !chunk.has_vector {
            found.push(name("the chunk has no vector", Some(&chunk.id)));
        }
        if !chunk.has_text {
            found.push(name("the chunk is not in the text index", Some(&chunk.id)));
        }
    }
    let places = stored
        .iter()
        .map(|s| (s.id.unit.clone(), s.id.ordinal, s.chunk.text_hash()));
    if pipeline::link::root_hash(places) != version.root_hash {
        found.push(name("the chunks are not those the ledger recorded", None));
    }
    found
}
