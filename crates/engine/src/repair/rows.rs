//! Rows of the catalog, as the rest of what is stored proves them.

use std::collections::BTreeSet;

use catalog::{
    ActivationCause, DocumentHead, Dossier, Mend, RunFacts, RunFile, Served, UnderWay,
    VersionFacts, VersionState,
};
use chrono::{DateTime, Utc};
use index::Space;
use model::{DocumentId, RunId, RunStatus, SourceOrder, SourceUri, TenantId, VersionId};

use crate::objects::Key;
use crate::verify::{Remedy, recorded};
use crate::{Engine, Error};

impl Engine {
    /// Puts the rows of a document right and says which versions must be made again.
    pub(super) async fn mend_rows(
        &self,
        tenant: TenantId,
        document: DocumentId,
        remedies: &[Remedy],
    ) -> Result<BTreeSet<VersionId>, Error> {
        let dossier = self.parts.catalog.dossier(tenant, document).await?;
        let served = recorded(&dossier);
        let mut mends = Vec::new();
        let mut remade = BTreeSet::new();
        // First: everything else is told of a row by its own id.
        for remedy in remedies {
            if let Remedy::Renamed(one) = remedy {
                mends.push(Mend::Renamed(*one));
            }
        }
        if remedies.contains(&Remedy::LedgerOwner) {
            mends.push(Mend::LedgerOwner);
        }
        if remedies.contains(&Remedy::Document) {
            mends.extend(head(&dossier));
        }
        let other = remedies.iter().find_map(|remedy| match remedy {
            Remedy::Reunion(other) => Some(*other),
            _ => None,
        });
        mends.extend(other.and_then(|with| reunion(&dossier, with)));
        for version in versions(remedies) {
            let told = served.iter().rev().find(|one| one.version == version);
            let facts = self.facts(tenant, &dossier, version, told).await?;
            match dossier.runs.iter().find(|run| run.id == facts.run) {
                None => mends.extend(run(&dossier, &facts)),
                Some(run) if run.content_hash != facts.content_hash => {
                    let content_hash = facts.content_hash;
                    let run = run.clone();
                    mends.push(Mend::Run(RunFile {
                        content_hash,
                        ..run
                    }));
                }
                Some(_) => {}
            }
            // Of what never answered nothing was made that anybody asks for.
            if dossier.version(version).is_none() && is_finished(facts.state) {
                remade.insert(version);
            }
            mends.push(Mend::Version(facts));
        }
        // Before all that is made of what they tell.
        let noted = remedies.iter().filter_map(|remedy| match remedy {
            Remedy::Witnessed(version) => Some(*version),
            _ => None,
        });
        mends.extend(
            noted
                .collect::<BTreeSet<_>>()
                .into_iter()
                .map(Mend::Witnessed),
        );
        for version in under_way(remedies) {
            mends.extend(self.under_way(tenant, &dossier, version).await?);
        }
        for remedy in remedies {
            match remedy {
                Remedy::Run(version) => mends.extend(run_of(&dossier, *version)),
                Remedy::NotedRun(run) => mends.push(Mend::NotedRun(*run)),
                Remedy::Claim(version) => mends.extend(claim_of(&dossier, *version)),
                Remedy::Removal => mends.push(Mend::Removal(dossier.removal_told())),
                Remedy::Filterable(version) => mends.push(Mend::Filterable(*version)),
                Remedy::Order(version) => mends.extend(order(&dossier, *version)),
                _ => {}
            }
        }
        // After the claim its run tells of, and after all that notes would be made of.
        for remedy in remedies {
            match remedy {
                Remedy::Claims(version) => mends.push(Mend::Claims(*version)),
                Remedy::Witness(version) => mends.push(Mend::Witness(*version)),
                Remedy::Work(version) => mends.push(Mend::Work(*version)),
                _ => {}
            }
        }
        // After what the ledger tells of its removal.
        if remedies.contains(&Remedy::Noted) {
            mends.push(Mend::Noted);
        }
        // Last: they take number, chunks and flush from the versions' rows. Written again for a
        // version only where the ledger tells that it answered.
        let answered = |version: &VersionId| served.iter().any(|one| one.version == *version);
        let rows = remedies.contains(&Remedy::Activations) || remade.iter().any(answered);
        let told = !dossier.ledger.is_empty() || dossier.is_of_strays();
        if rows && told || other.is_some() {
            mends.push(Mend::Activations);
        }
        if !mends.is_empty() {
            let now = self.parts.clock.now();
            let catalog = &self.parts.catalog;
            catalog.mend(tenant, document, mends, now).await?;
            self.work_added();
        }
        Ok(remade)
    }

    async fn under_way(
        &self,
        tenant: TenantId,
        dossier: &Dossier,
        version: VersionId,
    ) -> Result<Option<Mend>, Error> {
        let Some((kb, source_uri)) = dossier.kb().zip(dossier.source_uri()) else {
            return Ok(None);
        };
        let kb = self.parts.catalog.kb(tenant, kb).await?;
        Ok(Some(Mend::UnderWay(UnderWay {
            version,
            source_uri,
            config: self.run_config(&kb),
        })))
    }

    /// What is known of a version: the ledger's word first, then its run's, then its own. Of the
    /// bytes it was made of the most that tell are right.
    async fn facts(
        &self,
        tenant: TenantId,
        dossier: &Dossier,
        id: VersionId,
        told: Option<&Served>,
    ) -> Result<VersionFacts, Error> {
        let row = dossier.version(id);
        let run = dossier.run_of(id);
        let noted = dossier.told_of(id);
        let lost = |what| Error::BadRequest {
            what: "the version",
            why: format!("nothing tells its {what} any more"),
        };
        let content_hash = match told.and_then(|told| told.content_hash) {
            Some(hash) => Some(hash),
            None => self.content_of(tenant, dossier, id).await?,
        };
        let content_hash = content_hash.ok_or_else(|| lost("content"))?;
        let kb = dossier.kb().ok_or_else(|| lost("knowledge base"))?;
        let generation = told
            .map(|told| told.generation)
            .or(noted.map(|(_, noted)| noted.generation))
            .or(run.map(|run| run.generation))
            .ok_or_else(|| lost("generation"))?;
        let space = Space {
            tenant,
            kb,
            generation,
        };
        let number = self.number_of(dossier, space, id).await?;
        if number.is_none() && told.is_some() {
            return Err(lost("number"));
        }
        let created_at = noted.map(|(_, noted)| noted.created_at);
        let created_at = created_at.or(run.map(|run| run.created_at));
        let created_at = created_at.or(told.map(|told| told.opened_at));
        let created_at = created_at.ok_or_else(|| lost("time"))?;
        let original = self.object(&Key::original(tenant, &content_hash)).await?;
        let size = original.map(|bytes| bytes.len() as u64);
        let uri = dossier.source_uri();
        Ok(VersionFacts {
            id,
            kb,
            generation,
            run: run
                .map(|run| run.id)
                .or(noted.map(|(run, _)| run))
                .unwrap_or_else(|| RunId::from_uuid(uuid::Uuid::now_v7())),
            number,
            content_hash,
            size: size.or(row.map(|row| row.size)).unwrap_or_default(),
            filename: row.map_or_else(|| filename(uri.as_ref()), |row| row.filename.clone()),
            order: run
                .and_then(|run| run.order.clone())
                .unwrap_or_else(|| SourceOrder::of_time(created_at)),
            state: match told {
                // It came too late to answer, and was rolled back to.
                Some(told) if told.cause == ActivationCause::Rollback => row
                    .map(|row| row.state)
                    .filter(|state| *state == VersionState::Superseded)
                    .unwrap_or(VersionState::Ready),
                Some(_) => VersionState::Ready,
                // Where it was noted that it has ended, its run tells how.
                None => row
                    .filter(|row| row.told().is_none() || !row.state.is_under_way())
                    .map_or_else(|| stands(noted), |row| row.state),
            },
            root_hash: match told {
                Some(told) => told.root_hash,
                None => row.and_then(|row| row.root_hash),
            },
            created_at,
        })
    }

    /// The number it has in the index, or answered by.
    async fn number_of(
        &self,
        dossier: &Dossier,
        space: Space,
        id: VersionId,
    ) -> Result<Option<u32>, Error> {
        let snapshot = self.view(0).await?;
        let held = snapshot.number_of(space, id).await?;
        let mut activations = dossier.activations.iter();
        let answered = activations.find(|row| row.version == id);
        let row = dossier.version(id).map(|row| row.number);
        Ok(held.or(answered.map(|row| row.number)).or(row))
    }
}

/// How a version stands that has never answered, as its run does.
fn stands(run: Option<(RunId, &RunFacts)>) -> VersionState {
    match run.map(|(_, run)| run.status) {
        Some(RunStatus::Queued | RunStatus::Running) => VersionState::Pending,
        Some(RunStatus::Failed) => VersionState::Failed,
        Some(RunStatus::Canceled) => VersionState::Canceled,
        Some(RunStatus::Succeeded) | None => VersionState::Superseded,
    }
}

fn is_finished(state: VersionState) -> bool {
    matches!(state, VersionState::Ready | VersionState::Superseded)
}

fn versions(remedies: &[Remedy]) -> BTreeSet<VersionId> {
    let of = |remedy: &Remedy| match remedy {
        Remedy::Version(version) => Some(*version),
        _ => None,
    };
    remedies.iter().filter_map(of).collect()
}

fn under_way(remedies: &[Remedy]) -> BTreeSet<VersionId> {
    let of = |remedy: &Remedy| match remedy {
        Remedy::UnderWay(version) => Some(*version),
        _ => None,
    };
    remedies.iter().filter_map(of).collect()
}

/// The document's row, as its newest run tells it.
fn head(dossier: &Dossier) -> Option<Mend> {
    let (head, created) = told_head(dossier)?;
    Some(Mend::Document(head, created))
}

fn reunion(dossier: &Dossier, with: DocumentId) -> Option<Mend> {
    let (head, created) = told_head(dossier)?;
    Some(Mend::Reunion {
        head,
        created,
        with,
    })
}

fn told_head(dossier: &Dossier) -> Option<(DocumentHead, DateTime<Utc>)> {
    let run = dossier.runs.last()?;
    let first = dossier.runs.first()?;
    let head = DocumentHead {
        kb: dossier.kb()?,
        source_uri: dossier.source_uri()?,
        source: run.source,
        // These are read from the other rows when this one is written.
        latest: None,
        ledger_head: None,
        ledger_sum: None,
    };
    Some((head, dossier.since().unwrap_or(first.created_at)))
}

/// A run that brought these bytes once, for a version whose own is gone.
fn run(dossier: &Dossier, facts: &VersionFacts) -> Option<Mend> {
    Some(Mend::Run(RunFile {
        id: facts.run,
        version: facts.id,
        kb: facts.kb,
        generation: facts.generation,
        source_uri: dossier.source_uri()?,
        content_hash: facts.content_hash,
        source: None,
        status: ended(facts.state, None),
        superseded: facts.state == VersionState::Superseded,
        created_at: facts.created_at,
        order: Some(facts.order.clone()),
        chunks_created: dossier.version(facts.id).map_or(0, |row| row.chunks),
        stands_in: true,
        unclaimed: None,
    }))
}

fn claim_of(dossier: &Dossier, version: VersionId) -> Option<Mend> {
    let row = dossier.version(version)?;
    let run = dossier.runs.iter().find(|run| run.id == row.run)?;
    Some(Mend::Claim(run.unclaimed?, version))
}

/// Of its row, its sum and its run two agree, or nothing can be said.
fn order(dossier: &Dossier, version: VersionId) -> Option<Mend> {
    let row = dossier.version(version)?;
    let run = dossier.runs.iter().find(|run| run.id == row.run);
    let told = run.and_then(|run| run.order.as_ref());
    let summed = |order: &&SourceOrder| Some(order.sum_for(version)) == row.order_sum;
    let agreed = || told.filter(|told| **told == row.order);
    let unsummed = || Some(&row.order).filter(|_| row.order_sum.is_none());
    let right = Some(&row.order).filter(summed).or(told.filter(summed));
    let right = right.or_else(agreed).or_else(unsummed)?;
    Some(Mend::Order(version, right.clone()))
}

fn run_of(dossier: &Dossier, version: VersionId) -> Option<Mend> {
    let row = dossier.version(version)?;
    let told = dossier
        .activations
        .iter()
        .find(|activation| activation.version == version);
    let known = dossier.runs.iter().find(|run| run.id == row.run);
    let fallback = known.map(|run| run.created_at);
    Some(Mend::Run(RunFile {
        id: row.run,
        version,
        kb: dossier.kb()?,
        generation: row.generation,
        source_uri: dossier.source_uri()?,
        content_hash: row.content_hash,
        source: dossier.head.as_ref().and_then(|head| head.source),
        status: ended(row.state, known.map(|run| run.status)),
        superseded: row.state == VersionState::Superseded,
        order: Some(row.order.clone()),
        created_at: fallback
            .or(told.map(|row| row.opened_at))
            .unwrap_or(row.created_at),
        chunks_created: row.chunks,
        stands_in: known.is_none_or(|run| run.stands_in),
        unclaimed: None,
    }))
}

/// How the run of a version stands: as the version does, and as it is known where that has not
/// come to its end.
fn ended(state: VersionState, known: Option<RunStatus>) -> RunStatus {
    match state {
        VersionState::Ready | VersionState::Superseded => RunStatus::Succeeded,
        VersionState::Canceled => RunStatus::Canceled,
        VersionState::Failed | VersionState::Pending | VersionState::Processing => {
            known.unwrap_or(RunStatus::Failed)
        }
    }
}

/// The last part of an address; what it was called before is lost with its row.
fn filename(uri: Option<&SourceUri>) -> String {
    let uri = uri.map(ToString::to_string).unwrap_or_default();
    let name = uri.rsplit(['/', ':']).next().unwrap_or_default();
    name.to_owned()
}
