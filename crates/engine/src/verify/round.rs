//! One pass over the stores of a tenant: a view of the index, and each document held against it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use catalog::{Dossier, Kb, NotedKb, Served, VersionFile};
use index::{Space, SpaceAudit, VersionAudit};
use model::{DocumentId, KbId, TenantId, VersionId};

use super::{Disagreement, Remedy, digest, index_side, rows};
use crate::{Engine, Error};

/// What a document's rows, records and objects came to.
pub(super) struct Looked {
    pub(super) lines: Vec<Vec<u8>>,
    pub(super) chunks: u64,
    pub(super) found: Vec<Disagreement>,
    /// The flush of a version that was finished after the view was taken: of what the index holds
    /// nothing is said.
    pub(super) late: Option<u64>,
}

/// What to make of a version that tells of more than the view holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    /// It was finished meanwhile: it is looked at again.
    LookAgain,
    /// The index never came so far.
    IsWrong,
}

/// One pass over the stores of a tenant.
pub(super) struct Round<'a> {
    engine: &'a Engine,
    tenant: TenantId,
    kbs: HashMap<KbId, Kb>,
    flush: u64,
    audits: BTreeMap<Space, SpaceAudit>,
    /// What each space holds of which nothing was asked yet.
    unasked: BTreeMap<Space, BTreeSet<VersionId>>,
    /// What any row tells of, finished or not.
    known: BTreeSet<VersionId>,
}

impl<'a> Round<'a> {
    pub(super) async fn begin(
        engine: &'a Engine,
        tenant: TenantId,
        kbs: HashMap<KbId, Kb>,
        at_least: u64,
    ) -> Result<Self, Error> {
        let snapshot = engine.view(at_least).await?;
        let mut audits = BTreeMap::new();
        let mut unasked = BTreeMap::new();
        for space in snapshot.spaces().await? {
            if space.tenant != tenant {
                continue;
            }
            let audit = match snapshot.audit(space).await {
                // Its generation was retired since; whoever takes that for a loss looks again.
                Err(index::Error::ForgottenSpace) => continue,
                audit => audit?,
            };
            unasked.insert(space, audit.versions().await?);
            audits.insert(space, audit);
        }
        Ok(Self {
            engine,
            tenant,
            kbs,
            flush: snapshot.flush().0,
            audits,
            unasked,
            known: BTreeSet::new(),
        })
    }

    /// Everything of one document, as it is now. Of a version that was finished since the view was
    /// taken, a newer view tells.
    pub(super) async fn look_closely(&mut self, document: DocumentId) -> Result<Looked, Error> {
        let (engine, tenant) = (self.engine, self.tenant);
        let catalog = &engine.parts.catalog;
        loop {
            let dossier = catalog.dossier(tenant, document).await?;
            // After its rows, so that what they are in is known; and after the view, for of a
            // generation that was retired before that the index may have forgotten all.
            self.kbs = known(&catalog.noted_kbs(tenant).await?, tenant);
            let seen = self.look(&dossier, Late::LookAgain).await?;
            let Some(needed) = seen.late else {
                return Ok(seen);
            };
            match Self::begin(engine, tenant, HashMap::new(), needed).await {
                Ok(newer) => *self = newer,
                Err(Error::Index(index::Error::Behind { .. })) => {
                    return self.look(&dossier, Late::IsWrong).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Everything of one document.
    pub(super) async fn look(&mut self, dossier: &Dossier, late: Late) -> Result<Looked, Error> {
        let mut looked = Looked {
            lines: Vec::new(),
            chunks: 0,
            found: rows::check(dossier),
            late: None,
        };
        self.known.extend(rows_of(dossier));
        let served = rows::recorded(dossier);
        for version in &dossier.versions {
            let engine = self.engine;
            let content = engine.content_of(self.tenant, dossier, version.id).await?;
            let content = content.unwrap_or(version.content_hash);
            let original = engine.check_original_of(self.tenant, version, content);
            let original = original.await?;
            looked.found.extend(original);
            // Of what is under way no store need have anything yet.
            if version.is_finished() && !dossier.is_under_way(version) {
                self.look_at_version((dossier, &served), version, late, &mut looked)
                    .await?;
            }
        }
        if dossier.kb().is_some_and(|kb| !self.kbs.contains_key(&kb)) {
            let what = "its knowledge base is gone, or has nothing to serve it";
            let remedy = Remedy::Nothing("nothing tells what it was: restore a backup");
            looked.found.push(Disagreement::new(what, remedy));
        }
        let uri = dossier.source_uri();
        for one in &mut looked.found {
            one.source_uri.clone_from(&uri);
            one.document_id = Some(dossier.document);
        }
        Ok(looked)
    }

    async fn look_at_version(
        &mut self,
        (dossier, served): (&Dossier, &[Served]),
        version: &VersionFile,
        late: Late,
        looked: &mut Looked,
    ) -> Result<(), Error> {
        let missed = version.needs_flush.filter(|flush| *flush > self.flush);
        if late == Late::LookAgain {
            looked.late = looked.late.max(missed);
        }
        let space = Space {
            tenant: self.tenant,
            kb: version.kb,
            generation: version.generation,
        };
        let audited = self.ask(space, version.id).await?;
        let kb = self.kbs.get(&version.kb);
        // Of a retired generation the index keeps nothing.
        let indexed = kb.is_none_or(|kb| {
            kb.serving.id == version.generation || kb.building_id() == Some(version.generation)
        });
        if looked.late.is_none() && indexed {
            let mut found = index_side::check(served, version, space, &audited);
            if missed.is_some() && found.is_empty() {
                let what = "it waits for something the index never wrote";
                let remedy = Remedy::Rework(version.id);
                found.push(Disagreement::of_version(version.id, what, remedy));
            }
            looked.found.extend(found);
        }
        let engine = self.engine;
        let found = engine
            .check_objects(self.tenant, version, &audited.chunks)
            .await?;
        looked.found.extend(found);
        let serving = kb.filter(|kb| kb.serving.id == version.generation);
        let answers = dossier.activations.iter().any(|row| {
            row.version == version.id
                && row.closed_at.is_none()
                && row.generation == version.generation
        });
        if let (Some(kb), Some(head), true) = (serving, &dossier.head, answers) {
            looked.chunks += audited.chunks.len() as u64;
            let line = digest::line(&kb.name, &head.source_uri, version, &audited.chunks);
            looked.lines.push(line);
        }
        Ok(())
    }

    async fn ask(&mut self, space: Space, version: VersionId) -> Result<VersionAudit, Error> {
        if let Some(unasked) = self.unasked.get_mut(&space) {
            unasked.remove(&version);
        }
        match self.audits.get_mut(&space) {
            Some(audit) => Ok(audit.version(version).await?),
            None => Ok(VersionAudit {
                version,
                number: None,
                sealed: false,
                chunks: Vec::new(),
                faults: Vec::new(),
            }),
        }
    }

    /// What the index holds besides: of versions under way, of versions nobody knows, and
    /// what has no chunk at all.
    pub(super) async fn finish(mut self) -> Result<Vec<Disagreement>, Error> {
        let mut found = Vec::new();
        for (space, versions) in std::mem::take(&mut self.unasked) {
            for version in versions {
                // Asked so that what it holds is not taken for strays.
                self.ask(space, version).await?;
                if !self.known.contains(&version) {
                    found.push(astray(space, Some(version), None, UNKNOWN));
                }
            }
        }
        for (space, audit) in std::mem::take(&mut self.audits) {
            for fault in audit.strays().await? {
                let chunk = index_side::chunk_of(&fault);
                let mut one = astray(space, fault.version, chunk, fault.what.as_str());
                if fault.what.is_of_text() {
                    one.remedy = Remedy::Text(space);
                }
                found.push(one);
            }
        }
        Ok(found)
    }
}

/// Versions a row is there of: their own, which nobody need be able to read, or one of the queue.
fn rows_of(dossier: &Dossier) -> impl Iterator<Item = VersionId> {
    let versions = dossier.versions.iter().map(|version| version.id);
    let unread = dossier.unread.iter().copied();
    let work = dossier.work.iter().map(|step| step.version);
    versions.chain(unread).chain(work)
}

/// As they were noted: a changed row must not make everything else look wrong.
pub(super) fn known(noted: &[NotedKb], tenant: TenantId) -> HashMap<KbId, Kb> {
    let known = noted.iter().filter_map(|one| one.known(tenant));
    known.map(|kb| (kb.id, kb)).collect()
}

pub(super) const UNKNOWN: &str = "the index holds a version the catalog does not know";

fn astray(
    space: Space,
    version: Option<VersionId>,
    chunk: Option<String>,
    what: &'static str,
) -> Disagreement {
    let remedy = match version {
        Some(version) => Remedy::Forget(space, version),
        None => Remedy::Nothing("nothing says whose it is"),
    };
    Disagreement {
        version_id: version,
        chunk,
        ..Disagreement::new(what, remedy)
    }
}
