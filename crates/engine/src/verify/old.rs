//! Every store held against the ledger, and every disagreement named.
//!
//! The digest compares the index with the recorded root hash. Here the rest is read:
//! the chain of each document's ledger, the original under its hash, and the normalised
//! text each chunk was cut from.

use std::collections::HashMap;

use catalog::{Active, ActiveVersion, DocumentFilter, LedgerEntry, LedgerKind, Page};
use index::StoredChunk;
use model::{ContentHash, DocumentId, TenantId};

use crate::objects::{self, Key};
use crate::{Disagreement, Engine, Error};

impl Engine {
    /// The ledger of every document of the tenant, whether or not it answers.
    pub(crate) async fn verify_ledgers(
        &self,
        tenant: TenantId,
        active: &[ActiveVersion],
    ) -> Result<Vec<Disagreement>, Error> {
        let catalog = &self.parts.catalog;
        let answering: HashMap<DocumentId, &ActiveVersion> =
            active.iter().map(|v| (v.document, v)).collect();
        let mut found = Vec::new();
        let mut page = Page::first(Page::MAX);
        loop {
            let filter = DocumentFilter {
                active: Active::All,
                ..DocumentFilter::default()
            };
            let listed = catalog.documents(tenant, filter, page).await?;
            for document in &listed.items {
                let answers = answering.get(&document.id).copied();
                let wrong = self.verify_ledger(tenant, document.id, answers).await?;
                found.extend(wrong.map(|what| Disagreement {
                    source_uri: document.source_uri.clone(),
                    chunk: None,
                    what,
                }));
            }
            match listed.next {
                Some(cursor) => page = Page::following(cursor, Page::MAX),
                None => return Ok(found),
            }
        }
    }

    async fn verify_ledger(
        &self,
        tenant: TenantId,
        document: DocumentId,
        active: Option<&ActiveVersion>,
    ) -> Result<Option<&'static str>, Error> {
        let entries = self.parts.catalog.ledger(tenant, document).await?;
        Ok(broken_chain(&entries).or_else(|| contradicted(&entries, active)))
    }

    /// The bytes a version was made of, and the text its chunks were cut from.
    pub(crate) async fn verify_objects(
        &self,
        version: &ActiveVersion,
        stored: &[StoredChunk],
    ) -> Result<Vec<Disagreement>, Error> {
        let mut found = Vec::new();
        let mut name = |what, chunk: Option<String>| {
            found.push(Disagreement {
                source_uri: version.source_uri.clone(),
                chunk,
                what,
            });
        };
        let original = Key::original(version.tenant, &version.content_hash);
        match self.object(&original).await? {
            None => name("the original is gone", None),
            Some(bytes) if ContentHash::of(&bytes) != version.content_hash => {
                name("the original is not what was ingested", None);
            }
            Some(_) => {}
        }
        let row = self.parts.catalog.version(version.tenant, version.version);
        let text = Key::text(version.tenant, version.version, row.await?.pass);
        let text = self.object(&text).await?;
        match text.as_deref().map(std::str::from_utf8) {
            None => name("the text is gone", None),
            Some(Err(_)) => name("the text is not text", None),
            Some(Ok(text)) => stored
                .iter()
                .filter(|s| text.get(s.chunk.span.bytes()) != Some(s.chunk.text.as_str()))
                .for_each(|s| name("the text has something else there", Some(s.id.to_string()))),
        }
        Ok(found)
    }

    async fn object(&self, key: &Key) -> Result<Option<bytes::Bytes>, Error> {
        match self.parts.objects.get(key).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(objects::Error::Missing { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn broken_chain(entries: &[LedgerEntry]) -> Option<&'static str> {
    let mut before: Option<ContentHash> = None;
    for (at, entry) in entries.iter().enumerate() {
        if entry.seq != at as u64 + 1 {
            return Some("the ledger lacks an entry");
        }
        if entry.prev != before {
            return Some("the ledger's chain is broken");
        }
        if entry.hash != entry.computed_hash() {
            return Some("an entry of the ledger was changed");
        }
        before = Some(entry.hash);
    }
    None
}

/// Whether the ledger recorded what the catalog says answers. Not as its last entry: the
/// version before answers again when a canceled job takes its own away.
fn contradicted(entries: &[LedgerEntry], active: Option<&ActiveVersion>) -> Option<&'static str> {
    let active = active?;
    let opens = |kind| matches!(kind, LedgerKind::Activated | LedgerKind::RolledBack);
    let recorded = entries
        .iter()
        .rev()
        .find(|entry| opens(entry.kind) && entry.version == Some(active.version));
    let Some(entry) = recorded else {
        return Some("it answers, and the ledger does not say so");
    };
    let same = entry.content_hash == Some(active.content_hash)
        && entry.root_hash == Some(active.root_hash);
    (!same).then_some("it answers with something else than the ledger recorded")
}
