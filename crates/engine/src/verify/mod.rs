//! Every store held against the ledger, and every disagreement named.
//!
//! In: the catalog's rows by document, the index's records by version, the objects. Out: one
//! digest over everything that answers, and what does not agree, by document and chunk. The
//! stores are read while others write: a document that seems wrong is read a second time,
//! from a newer view, before anything is said of it.

mod digest;

mod every;

mod index_side;

mod objects_side;

mod pending;

mod round;

mod rows;

mod under_way;

mod witness;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use catalog::{Dossier, JobCount, Miscounted, MiscountedJob, Page, Renamed, replay};
use index::{Snapshot, Space};
use model::{ContentHash, DocumentId, RunId, SourceUri, TenantId, VersionId};

use crate::objects::Key;
use crate::{Engine, Error};
use round::{Late, Looked, Round, UNKNOWN, known};

pub use every::OfTenant;
pub(crate) use rows::recorded;

/// What a verification found.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Verified {
    pub digest: ContentHash,
    pub documents: u64,
    pub chunks: u64,
    /// What was still to be done when it began, when it ended, or was done meanwhile: none where the
    /// digest is of all that was asked for.
    pub work: u64,
    pub disagreements: Vec<Disagreement>,
    /// Objects nothing refers to: no harm, and no use.
    pub leftovers: Vec<String>,
    /// Each by itself, where it was of several.
    pub tenants: Vec<OfTenant>,
    #[serde(skip)]
    pub(crate) unowned: Vec<Key>,
}

/// Two stores that do not say the same.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Disagreement {
    /// Whose it is, by name, where several were asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// `None` for what belongs to no document.
    pub source_uri: Option<SourceUri>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_id: Option<DocumentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_id: Option<VersionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<String>,
    /// A count of status, where it is one that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tally: Option<Miscounted>,
    /// A knowledge base by name, where it is its own rows that are wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kb: Option<String>,
    /// A job, where it is one that has miscounted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<MiscountedJob>,
    pub what: &'static str,
    #[serde(skip)]
    pub(crate) remedy: Remedy,
}

impl Disagreement {
    /// Nobody's yet.
    fn new(what: &'static str, remedy: Remedy) -> Self {
        Self {
            tenant: None,
            source_uri: None,
            document_id: None,
            version_id: None,
            chunk: None,
            tally: None,
            kb: None,
            job: None,
            what,
            remedy,
        }
    }

    fn of_version(version: VersionId, what: &'static str, remedy: Remedy) -> Self {
        Self {
            version_id: Some(version),
            ..Self::new(what, remedy)
        }
    }
}

/// What would put a disagreement right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// A row's own id.
    Renamed(Renamed),
    /// Nothing that is stored could.
    Nothing(&'static str),
    /// The document's row, from its runs.
    Document,
    /// The same, together with the one that came under its address since.
    Reunion(DocumentId),
    /// A version's row, from the ledger, its run and the index.
    Version(VersionId),
    Run(VersionId),
    /// Its row and its run, so that its work goes on.
    UnderWay(VersionId),
    /// A run as it was noted, or its note as the run has it.
    NotedRun(RunId),
    /// The claim of the job that brought it, as its run tells.
    Claim(VersionId),
    /// When the document was removed, from the ledger.
    Removal,
    /// The document's row and its removals as they were noted, or their notes as the rows have it.
    Noted,
    Filterable(VersionId),
    /// Where it stands in the source's order, as its sum or its run tells.
    Order(VersionId),
    /// What is noted of a version, as its rows have it.
    Witness(VersionId),
    /// A version's rows, as they were noted.
    Witnessed(VersionId),
    /// The one claim that is not as it was noted.
    Claims(VersionId),
    /// What the queue lacks of a version under way.
    Work(VersionId),
    /// Whose the ledger is.
    LedgerOwner,
    /// What answered when, from the ledger.
    Activations,
    /// The version made again from its original.
    Rework(VersionId),
    /// The text index made again from the store.
    Text(Space),
    /// The index forgets it.
    Forget(Space, VersionId),
    /// Counted anew.
    Tallies,
    Jobs,
    /// A job's row as it was noted, or its note as the row has it.
    JobRows,
    /// The rows of knowledge bases as they were noted, or their notes as the rows have it.
    KbRows,
}

fn wrong_with(job: &MiscountedJob) -> &'static str {
    match (job.of, job.told, job.counted) {
        (JobCount::Chunks, ..) => "a job has counted other chunks than its runs",
        (JobCount::Documents, ..) => "a job has counted other documents than it met",
        (JobCount::Failed, ..) => "a job has counted other failures than its runs",
        (JobCount::Runs, ..) => "a job waits for other runs than there are",
        (JobCount::Row, 0, _) => "a job's row is gone",
        (JobCount::Row, _, 0) => "what was noted of a job is gone, or was changed",
        (JobCount::Row, ..) => "a job is not as it was noted",
    }
}

/// What ledgers say is there, whether or not the catalog's rows do.
#[derive(Default)]
struct Recorded {
    versions: BTreeSet<VersionId>,
    originals: BTreeSet<ContentHash>,
}

fn own_ids(dossier: &Dossier) -> impl Iterator<Item = VersionId> {
    dossier.renamed.iter().filter_map(|one| match one {
        Renamed::Version { was, .. } => Some(*was),
        Renamed::Run { .. } => None,
    })
}

impl Engine {
    /// Reads everything of a tenant from the stores themselves.
    pub async fn verify(&self, tenant: TenantId) -> Result<Verified, Error> {
        let before = self.pending(tenant).await?;
        let noted = self.parts.catalog.noted_kbs(tenant).await?;
        let mut round = Round::begin(self, tenant, known(&noted, tenant), 0).await?;
        let mut looked: BTreeMap<DocumentId, Looked> = BTreeMap::new();
        let mut recorded = Recorded::default();
        let mut page = Page::first(Page::MAX);
        loop {
            let listed = self.parts.catalog.dossiers(tenant, page).await?;
            for dossier in listed.items {
                for one in replay(&dossier.ledger) {
                    recorded.versions.insert(one.version);
                    recorded.originals.extend(one.content_hash);
                }
                // What was made of one that goes by another id is nobody else's.
                recorded.versions.extend(own_ids(&dossier));
                let seen = round.look(&dossier, Late::LookAgain).await?;
                looked.insert(dossier.document, seen);
            }
            match listed.next {
                Some(cursor) => page = Page::following(cursor, Page::MAX),
                None => break,
            }
        }
        let astray = round.finish().await?;
        self.look_again(tenant, &mut looked).await?;
        let astray = self.confirm(tenant, astray, &looked).await?;
        let nameless = self.parts.catalog.nameless(tenant).await?;
        let unowned = match nameless.is_empty() {
            true => self.unowned(tenant, &recorded).await?,
            // Any of them may be what such a row is of.
            false => Vec::new(),
        };
        let mut others: Vec<Disagreement> = noted.iter().filter_map(witness::kb).collect();
        others.extend(nameless.into_iter().map(rows::nameless));
        others.extend(astray);
        others.extend(self.miscounted(tenant).await?);
        let after = self.pending(tenant).await?;
        Ok(Verified {
            work: before.until(&after),
            ..sum_up(looked, others, unowned)
        })
    }

    /// What status and jobs tell, against the rows they count, both as of one moment.
    async fn miscounted(&self, tenant: TenantId) -> Result<Vec<Disagreement>, Error> {
        let miscounted = self.parts.catalog.miscounted(tenant).await?;
        let jobs = self.parts.catalog.miscounted_jobs(tenant).await?;
        let name = |tally| Disagreement {
            tally: Some(tally),
            ..Disagreement::new(
                "a count of status is not as its rows have it",
                Remedy::Tallies,
            )
        };
        let name_job = |job: MiscountedJob| Disagreement {
            job: Some(job),
            ..Disagreement::new(
                wrong_with(&job),
                match job.of {
                    JobCount::Row => Remedy::JobRows,
                    JobCount::Chunks | JobCount::Documents | JobCount::Runs | JobCount::Failed => {
                        Remedy::Jobs
                    }
                },
            )
        };
        let jobs = jobs.into_iter().map(name_job);
        Ok(miscounted.into_iter().map(name).chain(jobs).collect())
    }

    /// What seemed wrong, or was finished meanwhile, is read once more: a purge, a cancel
    /// or a repair may have come between the catalog's answer and the index's.
    async fn look_again(
        &self,
        tenant: TenantId,
        looked: &mut BTreeMap<DocumentId, Looked>,
    ) -> Result<(), Error> {
        let doubted = looked
            .iter()
            .filter(|(_, l)| l.late.is_some() || !l.found.is_empty());
        let doubted: Vec<DocumentId> = doubted.map(|(document, _)| *document).collect();
        if doubted.is_empty() {
            return Ok(());
        }
        let mut round = Round::begin(self, tenant, HashMap::new(), 0).await?;
        for document in doubted {
            let seen = round.look_closely(document).await?;
            looked.insert(document, seen);
        }
        Ok(())
    }

    /// Of what the index holds for nobody, that which it holds still; and whose it is, where
    /// it is somebody's after all.
    async fn confirm(
        &self,
        tenant: TenantId,
        astray: Vec<Disagreement>,
        looked: &BTreeMap<DocumentId, Looked>,
    ) -> Result<Vec<Disagreement>, Error> {
        // A document named for its version needs no second naming for what remains of it.
        let named = looked.values().flat_map(|looked| &looked.found);
        let named: BTreeSet<_> = named.filter_map(|one| one.version_id).collect();
        let snapshot = self.view(0).await?;
        let mut kept = Vec::new();
        for mut one in astray {
            let Some(version) = one.version_id else {
                kept.push(one);
                continue;
            };
            if named.contains(&version) {
                continue;
            }
            match (
                self.parts.catalog.version(tenant, version).await,
                one.remedy,
            ) {
                // Under way, or finished since.
                (Ok(_), Remedy::Forget(..)) if one.what == UNKNOWN => {}
                (Ok(known), remedy) => {
                    one.source_uri = Some(known.source_uri);
                    one.document_id = Some(known.document);
                    if matches!(remedy, Remedy::Forget(..)) {
                        one.remedy = Remedy::Rework(version);
                    }
                    kept.push(one);
                }
                (Err(catalog::Error::NotFound { .. }), Remedy::Forget(space, _)) => {
                    // Its own row may be there, and that of its document gone.
                    let nobodys = self.is_unknown(tenant, version).await?;
                    if nobodys && is_left(&snapshot, space, version).await? {
                        kept.push(one);
                    }
                }
                (Err(catalog::Error::NotFound { .. }), _) => kept.push(one),
                (Err(error), _) => return Err(error.into()),
            }
        }
        kept.dedup_by(|a, b| {
            a.version_id == b.version_id && a.what == b.what && a.chunk == b.chunk
        });
        Ok(kept)
    }

    /// Whether no row of a version is there, and no ledger tells of it.
    pub(crate) async fn is_unknown(
        &self,
        tenant: TenantId,
        version: VersionId,
    ) -> Result<bool, Error> {
        let catalog = &self.parts.catalog;
        let unknown = catalog.unknown_versions(tenant, &[version]).await?;
        Ok(!unknown.is_empty())
    }
}

/// Of a space that was forgotten nothing is.
async fn is_left(snapshot: &Snapshot, space: Space, version: VersionId) -> Result<bool, Error> {
    match snapshot.residue(space, version).await {
        Err(index::Error::ForgottenSpace) => Ok(false),
        left => Ok(left? != index::Residue::default()),
    }
}

fn sum_up(
    looked: BTreeMap<DocumentId, Looked>,
    others: Vec<Disagreement>,
    unowned: Vec<Key>,
) -> Verified {
    let mut lines: Vec<&[u8]> = Vec::new();
    for one in looked.values() {
        lines.extend(one.lines.iter().map(Vec::as_slice));
    }
    lines.sort_unstable();
    let digest = ContentHash::of_fields(lines.iter().copied());
    let documents = lines.len() as u64;
    let chunks = looked.values().map(|looked| looked.chunks).sum();
    let found = looked.into_values().flat_map(|looked| looked.found);
    Verified {
        digest,
        documents,
        chunks,
        work: 0,
        disagreements: found.chain(others).collect(),
        leftovers: unowned.iter().map(Key::to_string).collect(),
        tenants: Vec::new(),
        unowned,
    }
}
