//! What disagrees is put right from what can be proven, and what cannot is said.
//!
//! Rows come back from the ledger, the runs and the index; everything made of an original
//! is made again from it; the text index is made again from the store; what the catalog
//! does not know is forgotten; what status tells is counted anew. Nothing is taken away to be
//! deleted while this goes on. May be interrupted anywhere and asked again.

mod every;

mod gaps;

mod rework;

mod rows;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use index::Space;
use model::{DocumentId, TenantId, VersionId};

use crate::janitor::delta;
use crate::objects::Key;
use crate::verify::Remedy;
use crate::{Disagreement, Engine, Error, Verified};

/// What a repair did.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Repaired {
    pub findings: Vec<Outcome>,
    /// Objects nobody referred to that were deleted.
    pub leftovers_deleted: u64,
    /// Originals nobody refers to that are too young to be deleted: a document that lost all its
    /// rows could still be ingested from its own.
    pub leftovers_kept: Vec<Kept>,
    /// How things stand now.
    pub after: Verified,
}

/// An object that is left alone for now.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Kept {
    pub object: String,
    /// When it is old enough to be deleted.
    pub until: DateTime<Utc>,
}

/// What became of one disagreement.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Outcome {
    #[serde(flatten)]
    pub finding: Disagreement,
    /// Whether a second verification no longer finds it.
    pub mended: bool,
    /// What was done, or why nothing could be.
    pub done: String,
}

/// What was done about a disagreement, or why that failed.
type Told = Result<String, String>;

impl Outcome {
    fn of(mended: bool, told: Told, finding: Disagreement) -> Self {
        let done = match told {
            Ok(done) => done,
            // What failed here may have been done by then, or was done with something else.
            Err(_) if mended => "came right with the rest".to_owned(),
            Err(why) => format!("cannot be mended: {why}"),
        };
        Self {
            mended,
            done,
            finding,
        }
    }
}

/// What was done about each document and each space, to be told per finding.
#[derive(Default)]
struct Log {
    documents: BTreeMap<DocumentId, Result<(), String>>,
    reworked: BTreeMap<VersionId, Result<&'static str, String>>,
    texts: BTreeMap<Space, Result<(), String>>,
    forgotten: BTreeMap<VersionId, Result<(), String>>,
    tallies: Option<Result<(), String>>,
    jobs: Option<Result<(), String>>,
    job_rows: Option<Result<(), String>>,
    kb_rows: Option<Result<(), String>>,
}

/// How often what came to light by mending is mended in its turn. A document that has lost
/// everything shows the rest of it row by row.
const ROUNDS: usize = 8;

impl Engine {
    /// Verifies, mends what can be mended, and verifies again, until nothing new comes to light.
    pub async fn repair(&self, tenant: TenantId) -> Result<Repaired, Error> {
        let _still = self.still.write().await;
        let mut after = self.verify(tenant).await?;
        let mut told: Vec<(Disagreement, Told)> = Vec::new();
        let mut before = Vec::new();
        for _ in 0..ROUNDS {
            let found = after.disagreements.clone();
            let in_vain = |one: &Disagreement| {
                let known = told.iter().any(|(told, _)| told == one);
                known && matches!(one.remedy, Remedy::Nothing(_))
            };
            // What else was tried before is tried again where something has come right since: that
            // may have been in its way.
            if found == before || found.iter().all(in_vain) {
                break;
            }
            before.clone_from(&found);
            let log = self.mend_all(tenant, &found).await;
            for one in found {
                if !told.iter().any(|(told, _)| *told == one) {
                    let done = log.told(&one);
                    told.push((one, done));
                }
            }
            after = self.verify(tenant).await?;
        }
        // Last: what a row that is whole again refers to is nobody's no more.
        if !after.disagreements.is_empty() {
            // What is still wrong may have lost the row by which one of them is somebody's.
            after.unowned.retain(|key| key.original_hash().is_none());
        }
        let leftovers_deleted = self.delete_unowned(tenant, &after.unowned).await?;
        let leftovers_kept = self.young_originals(tenant).await?;
        let deleted = |object: &String| after.unowned.iter().any(|key| key.to_string() == *object);
        after.leftovers.retain(|object| !deleted(object));
        let outcome = |(finding, told): (Disagreement, Told)| {
            Outcome::of(!after.disagreements.contains(&finding), told, finding)
        };
        let findings: Vec<Outcome> = told.into_iter().map(outcome).collect();
        let mended = findings.iter().filter(|one| one.mended).count();
        if !findings.is_empty() {
            tracing::info!(tenant_id = %tenant, found = findings.len(), mended, "repaired");
        }
        Ok(Repaired {
            findings,
            leftovers_deleted,
            leftovers_kept,
            after,
        })
    }

    /// Whatever is done about each of them; what fails is told with it.
    async fn mend_all(&self, tenant: TenantId, found: &[Disagreement]) -> Log {
        let mut log = Log::default();
        // First: everything else is of one of them.
        self.mend_kbs(tenant, found, &mut log).await;
        // Before the documents: whose claim is missing is looked for among the jobs there are.
        self.mend_jobs(tenant, found, &mut log).await;
        self.mend_documents(tenant, found, &mut log).await;
        self.mend_index(found, &mut log).await;
        // After the rows they count.
        self.recount(tenant, found, &mut log).await;
        log
    }

    async fn mend_kbs(&self, tenant: TenantId, found: &[Disagreement], log: &mut Log) {
        if found.iter().any(|one| one.remedy == Remedy::KbRows) {
            let written = self.parts.catalog.mend_kbs(tenant).await;
            let written = written.map_err(|error| Error::from(error).explain());
            log.kb_rows = Some(written);
        }
    }

    async fn mend_jobs(&self, tenant: TenantId, found: &[Disagreement], log: &mut Log) {
        if found.iter().any(|one| one.remedy == Remedy::JobRows) {
            let written = self.parts.catalog.recount_met(tenant).await;
            let written = written.map_err(|error| Error::from(error).explain());
            log.job_rows = Some(written);
        }
    }

    async fn recount(&self, tenant: TenantId, found: &[Disagreement], log: &mut Log) {
        let asked = |remedy| found.iter().any(|one| one.remedy == remedy);
        let catalog = &self.parts.catalog;
        let explained = |error| Error::from(error).explain();
        if asked(Remedy::Jobs) || asked(Remedy::JobRows) {
            let now = self.parts.clock.now();
            let counted = match catalog.recount_met(tenant).await {
                Ok(()) => catalog.recount_jobs(now).await.map(drop),
                Err(error) => Err(error),
            };
            log.jobs = Some(counted.map_err(explained));
        }
        if asked(Remedy::Tallies) {
            let counted = catalog.recount_tallies().await;
            log.tallies = Some(counted.map(drop).map_err(explained));
        }
    }

    /// Each document by itself: one that cannot be mended keeps no other from it.
    async fn mend_documents(&self, tenant: TenantId, found: &[Disagreement], log: &mut Log) {
        let mut by_document: BTreeMap<DocumentId, Vec<Remedy>> = BTreeMap::new();
        for one in found {
            if let Some(document) = one.document_id {
                by_document.entry(document).or_default().push(one.remedy);
            }
        }
        for (document, remedies) in by_document {
            let rows = self.mend_rows(tenant, document, &remedies).await;
            let mut versions = wanted(&remedies);
            match rows {
                Ok(remade) => {
                    versions.extend(remade);
                    log.documents.insert(document, Ok(()));
                }
                Err(error) => {
                    log.documents.insert(document, Err(error.explain()));
                }
            }
            for version in versions {
                let done = match log.documents.get(&document) {
                    // What it ends with notes the rows as they are, for what they should be.
                    Some(Err(why)) => Err(format!("its rows could not be put right: {why}")),
                    _ => {
                        let done = self.rework(tenant, version).await;
                        done.map_err(|error| error.explain())
                    }
                };
                log.reworked.insert(version, done);
            }
        }
    }

    async fn mend_index(&self, found: &[Disagreement], log: &mut Log) {
        let remedies: Vec<Remedy> = found.iter().map(|one| one.remedy).collect();
        for remedy in &remedies {
            if let Remedy::Forget(space, version) = remedy
                && !log.forgotten.contains_key(version)
            {
                let gone = self.forget_in_index(*space, *version).await;
                let gone = gone.map_err(|error| error.explain());
                log.forgotten.insert(*version, gone);
            }
        }
        let texts = remedies.iter().filter_map(|remedy| match remedy {
            Remedy::Text(space) => Some(*space),
            _ => None,
        });
        for space in texts.collect::<BTreeSet<_>>() {
            let made = self.rebuild_text(space).await;
            log.texts
                .insert(space, made.map_err(|error| error.explain()));
        }
    }

    async fn rebuild_text(&self, space: Space) -> Result<(), Error> {
        self.parts
            .index
            .rebuild_text(space)
            .await?
            .durable()
            .await?;
        Ok(())
    }

    /// Scoured first: what is damaged may not be found by its own records.
    async fn forget_in_index(&self, space: Space, version: VersionId) -> Result<(), Error> {
        // It may have got its row back with its document, or have been admitted since.
        if !self.is_unknown(space.tenant, version).await? {
            return Ok(());
        }
        let index = &self.parts.index;
        index.scour(space, version).await?;
        index.forget(space, version).await?.durable().await?;
        Ok(())
    }

    /// Originals the janitor would leave alone, too.
    async fn young_originals(&self, tenant: TenantId) -> Result<Vec<Kept>, Error> {
        let catalog = &self.parts.catalog;
        let (now, age) = (self.parts.clock.now(), delta(self.settings.janitor.orphans));
        let all = self
            .parts
            .objects
            .list_below(&Key::originals(tenant))
            .await?;
        let held = catalog.held(tenant).await?;
        let held: BTreeSet<_> = held.iter().filter_map(|held| held.content_hash).collect();
        let young = all.into_iter().filter_map(|(key, meta)| {
            let hash = key.original_hash().filter(|hash| !held.contains(hash))?;
            let until = meta.last_modified.checked_add_signed(age);
            let until = until.unwrap_or(DateTime::<Utc>::MAX_UTC);
            (until > now).then_some((hash, until))
        });
        let young: BTreeMap<_, _> = young.collect();
        let hashes: Vec<_> = young.keys().copied().collect();
        // With the door shut none of them is on its way in.
        let _shut = self.door.write().await;
        let free = catalog.unreferenced(tenant, &hashes).await?;
        let kept = free.iter().map(|hash| Kept {
            object: Key::original(tenant, hash).to_string(),
            until: young[hash],
        });
        Ok(kept.collect())
    }

    /// All of them are old: verification leaves out originals the janitor would leave alone.
    async fn delete_unowned(&self, tenant: TenantId, unowned: &[Key]) -> Result<u64, Error> {
        let _shut = self.door.write().await;
        let mut deleted = 0;
        for key in unowned {
            // With the door shut an original nobody refers to stays that way.
            let free = match key.original_hash() {
                None => true,
                Some(hash) => !self
                    .parts
                    .catalog
                    .unreferenced(tenant, &[hash])
                    .await?
                    .is_empty(),
            };
            if free {
                self.parts.objects.delete(key).await?;
                tracing::info!(tenant_id = %tenant, %key, "deleted an object nobody refers to");
                deleted += 1;
            }
        }
        Ok(deleted)
    }
}

fn wanted(remedies: &[Remedy]) -> BTreeSet<VersionId> {
    let rework = |remedy: &Remedy| match remedy {
        Remedy::Rework(version) => Some(*version),
        _ => None,
    };
    remedies.iter().filter_map(rework).collect()
}

impl Log {
    fn told(&self, finding: &Disagreement) -> Told {
        let rows = |done: &str| {
            let document = finding.document_id.and_then(|id| self.documents.get(&id));
            told(document.map(|result| result.as_ref().map(|()| done)))
        };
        match finding.remedy {
            Remedy::Nothing(why) => Err(why.to_owned()),
            Remedy::Renamed(_) => rows("gave it back the id by which all else knows it"),
            Remedy::Document => rows("wrote its row again, as its runs tell"),
            Remedy::Reunion(_) => rows("wrote its row again; what came in its place is its own"),
            Remedy::Version(_) => rows("wrote its row again, as ledger, run and index tell"),
            Remedy::Run(_) => rows("wrote its run again, as its version tells"),
            Remedy::UnderWay(_) => rows("wrote its rows again, so that its work goes on"),
            Remedy::NotedRun(_) => rows("wrote its run again, as it was noted, or noted it again"),
            Remedy::Claim(_) => rows("wrote the job's claim again, as its run tells"),
            Remedy::Witness(_) => rows("noted it again, as its rows tell"),
            Remedy::Witnessed(_) => rows("wrote its rows again, as they were noted"),
            Remedy::Claims(_) => rows("looked for the one claim that makes all as they were noted"),
            Remedy::Work(_) => rows("put what is to be done for it into the queue again"),
            Remedy::Removal => rows("wrote again when it was removed, as the ledger tells"),
            Remedy::Noted => rows("wrote its row again, as it was noted, or noted it again"),
            Remedy::Filterable(_) => rows("wrote again what filters look up"),
            Remedy::Order(_) => rows("wrote its place again, as two of row, sum and run tell"),
            Remedy::LedgerOwner => rows("wrote again whose its ledger is"),
            Remedy::Activations => rows("wrote again when it answered, as the ledger tells"),
            Remedy::Rework(version) => {
                let made = self.reworked.get(&version);
                told(made.map(|result| result.as_ref().map(|done| *done)))
            }
            Remedy::Text(space) => {
                let made = self.texts.get(&space);
                told(made.map(|r| {
                    r.as_ref()
                        .map(|()| "made the text index again from the store")
                }))
            }
            Remedy::Tallies => {
                let counted = self.tallies.as_ref();
                told(counted.map(|result| result.as_ref().map(|()| "counted the rows anew")))
            }
            Remedy::Jobs => {
                let counted = self.jobs.as_ref();
                told(counted.map(|result| result.as_ref().map(|()| "counted it anew")))
            }
            Remedy::JobRows => {
                let written = self.job_rows.as_ref();
                let done = "wrote its row again, as it was noted, or noted it again";
                told(written.map(|result| result.as_ref().map(|()| done)))
            }
            Remedy::KbRows => {
                let written = self.kb_rows.as_ref();
                let done = "wrote its rows again, as they were noted, or noted them again";
                told(written.map(|result| result.as_ref().map(|()| done)))
            }
            Remedy::Forget(_, version) => {
                let gone = self.forgotten.get(&version);
                told(gone.map(|r| r.as_ref().map(|()| "the index has forgotten it")))
            }
        }
    }
}

fn told(done: Option<Result<&str, &String>>) -> Told {
    match done {
        Some(Ok(done)) => Ok(done.to_owned()),
        Some(Err(why)) => Err(why.clone()),
        None => Ok("left as it is".to_owned()),
    }
}
