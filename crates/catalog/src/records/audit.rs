//! Everything the catalog holds of a document, as `verify` reads it, and what `repair` puts
//! in its place.
//!
//! Read leniently: a row that refers to another that is gone is still shown.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use model::{
    ContentHash, DocumentId, Gap, GenerationId, JobId, KbId, PageSize, RunId, RunStatus, SourceId,
    SourceOrder, SourceUri, Step, UnitName, UserId, VersionId, Warning,
};

use super::{
    ActivationCause, Artifacts, ClaimSum, DocumentFacts, Facts, LedgerEntry, LedgerKind,
    NotedRemovals, NotedRun, Now, Renamed, RunFacts, RunType, Told, UnderWay, UnitState,
    VersionState, Witness, WorkFile, replay, words,
};

/// All rows of one document, whichever of them are there.
#[derive(Debug, Clone, PartialEq)]
pub struct Dossier {
    pub document: DocumentId,
    pub head: Option<DocumentHead>,
    /// What is noted of its row, as it is; `None` where there is none that can be read.
    pub facts: Option<DocumentFacts>,
    /// What was noted.
    pub noted: Option<Told<DocumentFacts>>,
    /// Besides, something is noted as its own that names another row.
    pub noted_astray: bool,
    /// The parts jobs have in its removals.
    pub noted_removals: Vec<NotedRemovals>,
    /// By number.
    pub versions: Vec<VersionFile>,
    /// Those whose rows are there, and nobody can read them.
    pub unread: Vec<VersionId>,
    /// Oldest first.
    pub activations: Vec<ActivationFile>,
    /// Oldest first.
    pub ledger: Vec<LedgerEntry>,
    /// How many of its entries say they are another tenant's.
    pub ledger_astray: usize,
    /// Oldest first.
    pub runs: Vec<RunFile>,
    /// Those and any that were noted, whether or not their rows are there.
    pub noted_runs: Vec<NotedRun>,
    /// Those of its rows that go by another id than they were given.
    pub renamed: Vec<Renamed>,
    /// Steps that are still to be done.
    pub work: Vec<WorkFile>,
    /// What its source calls it.
    pub source_keys: Vec<String>,
    /// Who has its address now, where its own row is gone.
    pub successor: Option<DocumentId>,
    /// Tables that have a row of this document nobody can read.
    pub unreadable: Vec<&'static str>,
}

impl Dossier {
    pub fn new(document: DocumentId) -> Self {
        Self {
            document,
            head: None,
            facts: None,
            noted: None,
            noted_astray: false,
            noted_removals: Vec::new(),
            versions: Vec::new(),
            unread: Vec::new(),
            activations: Vec::new(),
            ledger: Vec::new(),
            ledger_astray: 0,
            runs: Vec::new(),
            noted_runs: Vec::new(),
            renamed: Vec::new(),
            work: Vec::new(),
            source_keys: Vec::new(),
            successor: None,
            unreadable: Vec::new(),
        }
    }

    pub fn version(&self, id: VersionId) -> Option<&VersionFile> {
        self.versions.iter().find(|version| version.id == id)
    }

    /// Whether a newer version than this has come in its generation: copies come after what they
    /// are made of, and are not newer.
    pub fn is_outdated(&self, version: VersionId) -> bool {
        let Some(known) = self.version(version) else {
            return false;
        };
        let came = |run: RunId| {
            let told = self.noted_runs.iter().find(|one| one.run == run);
            let facts = told.and_then(NotedRun::told);
            facts.is_some_and(|facts| facts.run_type != RunType::Reindex)
        };
        let mut versions = self.versions.iter();
        versions.any(|one| {
            one.generation == known.generation && one.number > known.number && came(one.run)
        })
    }

    /// The bytes a version was made of, as most tell that know of them: its row, its run, what was
    /// noted of that, and the ledger. Several where as many tell of each, its own row's first.
    pub fn contents_of(&self, version: VersionId) -> Vec<ContentHash> {
        let served = replay(&self.ledger);
        let served = served.iter().rev().find(|one| one.version == version);
        let noted = self.noted_runs.iter().filter_map(|one| match &one.noted {
            Some(Told::Was(facts)) if facts.version == version => Some(facts.content_hash),
            _ => None,
        });
        let row = self.version(version).map(|version| version.content_hash);
        let told: Vec<ContentHash> = row
            .into_iter()
            .chain(self.run_of(version).map(|run| run.content_hash))
            .chain(served.and_then(|one| one.content_hash))
            .chain(noted)
            .collect();
        let votes = |hash: &ContentHash| told.iter().filter(|other| *other == hash).count();
        let most = told.iter().map(votes).max();
        let mut right: Vec<ContentHash> = Vec::new();
        for hash in &told {
            if Some(votes(hash)) == most && !right.contains(hash) {
                right.push(*hash);
            }
        }
        right
    }

    /// What is told of the newest run of a version, by its note or its row.
    pub fn told_of(&self, version: VersionId) -> Option<(RunId, &RunFacts)> {
        let told = |one: &'_ NotedRun| one.told().is_some_and(|facts| facts.version == version);
        let runs = self.noted_runs.iter().filter(|one| told(one));
        let newest = runs.max_by_key(|one| one.run)?;
        Some((newest.run, newest.told()?))
    }

    /// Versions that have never answered and are not there, though a run tells of them.
    pub fn lost(&self) -> BTreeSet<VersionId> {
        let lost = |one: &&NotedRun| {
            // A row may tell of a version that is not its own, where that knows better.
            let another = self.versions.iter().any(|version| version.run == one.run);
            one.is_noted() || !another
        };
        let told = self
            .noted_runs
            .iter()
            .filter(lost)
            .filter_map(NotedRun::told);
        told.filter(|facts| facts.keeps_its_original() && !self.let_go(facts))
            .map(|facts| facts.version)
            .filter(|id| self.version(*id).is_none() && !self.unread.contains(id))
            .filter(|id| !self.is_renamed(*id))
            .collect()
    }

    fn let_go(&self, facts: &RunFacts) -> bool {
        self.ledger.iter().any(|entry| match entry.kind {
            LedgerKind::Purged => entry.at >= facts.created_at,
            LedgerKind::Removed => entry.version == Some(facts.version),
            _ => false,
        })
    }

    /// Whether there is nothing of it but rows that say when versions of others answered.
    pub fn is_of_strays(&self) -> bool {
        let strange = |row: &ActivationFile| row.owner.is_some_and(|owner| owner != self.document);
        let known = self.head.is_some() || !self.versions.is_empty() || !self.unread.is_empty();
        let told = !self.ledger.is_empty() || !self.runs.is_empty();
        !known && !told && self.activations.iter().all(strange)
    }

    /// Whether there is nothing of it but its ledger.
    pub(crate) fn is_ledger_alone(&self) -> bool {
        let known = self.head.is_some() || !self.versions.is_empty() || !self.unread.is_empty();
        let told = !self.runs.is_empty() || !self.activations.is_empty();
        !known && !told && !self.ledger.is_empty()
    }

    /// When the ledger says it was removed, where nothing that was written there since may have
    /// changed that.
    pub fn removal_told(&self) -> Option<DateTime<Utc>> {
        let tells = |entry: &&LedgerEntry| {
            !matches!(entry.kind, LedgerKind::Activated | LedgerKind::Repaired)
        };
        let last = self.ledger.iter().rev().find(tells)?;
        (last.kind == LedgerKind::Deactivated).then_some(last.at)
    }

    /// Versions, each with its run, of which one is here alone and nothing was noted here: a healthy
    /// document has none. One that was canceled is missed nowhere else.
    pub(crate) fn doubtful(&self) -> Vec<(VersionId, RunId)> {
        let run_is_here = |run| self.noted_runs.iter().any(|one| one.run == run);
        let versions = self
            .versions
            .iter()
            .filter(|version| version.state != VersionState::Canceled && !run_is_here(version.run));
        let runs = self
            .noted_runs
            .iter()
            .filter_map(|one| match (&one.now, &one.noted) {
                (Now::Is(facts), None) if facts.source_uri != SourceUri::purged() => {
                    Some((facts.version, one.run))
                }
                _ => None,
            });
        let version_is_here = |id| self.version(id).is_some() || self.unread.contains(&id);
        versions
            .map(|version| (version.id, version.run))
            .chain(runs.filter(|(version, _)| !version_is_here(*version)))
            .collect()
    }

    pub(crate) fn leave(&mut self, version: VersionId, run: RunId) {
        self.versions.retain(|one| one.id != version);
        self.runs.retain(|one| one.id != run);
        self.noted_runs.retain(|one| one.run != run);
    }

    /// When it came, as was noted with its versions.
    pub fn since(&self) -> Option<DateTime<Utc>> {
        let told = |version: &VersionFile| version.told()?.document_since;
        self.versions.iter().find_map(told)
    }

    /// The newest run of a version.
    pub fn run_of(&self, version: VersionId) -> Option<&RunFile> {
        self.runs.iter().rev().find(|run| run.version == version)
    }

    /// What most witnesses call the document: its own row, its runs, its source, the name of
    /// its file. Its own row where they are divided.
    pub fn source_uri(&self) -> Option<SourceUri> {
        let head = self.head.as_ref().map(|head| &head.source_uri);
        let told = head
            .into_iter()
            .chain(self.runs.iter().map(|run| &run.source_uri));
        let mut best: Option<(usize, &SourceUri)> = None;
        for uri in told.clone() {
            let votes = told.clone().filter(|other| *other == uri).count() + self.hints_at(uri);
            if best.is_none_or(|(most, _)| votes > most) {
                best = Some((votes, uri));
            }
        }
        best.map(|(_, uri)| uri.clone())
    }

    /// Where most of its rows say it is: none ever moves to another.
    pub fn kb(&self) -> Option<KbId> {
        let versions = self.versions.iter().map(|version| version.kb);
        let head = self.head.iter().map(|head| head.kb);
        let told: Vec<KbId> = versions
            .chain(self.runs.iter().map(|run| run.kb))
            .chain(self.activations.iter().map(|row| row.kb))
            .chain(head)
            .collect();
        let votes = |kb: &&KbId| told.iter().filter(|other| *other == *kb).count();
        told.iter().rev().max_by_key(votes).copied()
    }

    fn hints_at(&self, uri: &SourceUri) -> usize {
        let shown = self.source_keys.iter().any(|key| key == uri.as_str());
        let fits = |version: &VersionFile| {
            let name = uri.as_str().rsplit('/').next();
            name == Some(&version.filename) || *uri == SourceUri::of_upload(&version.content_hash)
        };
        usize::from(shown) + usize::from(self.versions.iter().any(fits))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct DocumentHead {
    pub kb: KbId,
    pub source_uri: SourceUri,
    pub source: Option<SourceId>,
    pub latest: Option<VersionId>,
    /// The last entry of its ledger; `None` if it never had one.
    pub ledger_head: Option<ContentHash>,
    /// Of that end; `None` where it has none, or nobody summed it up.
    pub ledger_sum: Option<ContentHash>,
}

impl DocumentHead {
    /// Whether the end it knows is the one that was written down; unknown where none was summed up.
    pub fn end_stands(&self, document: DocumentId) -> Option<bool> {
        end_stands(document, self.ledger_head, self.ledger_sum)
    }
}

/// What proves that a document's ledger ended here: its chain does not, where its end is gone.
pub(crate) fn sum_of_end(document: DocumentId, head: &ContentHash) -> ContentHash {
    ContentHash::of_fields([&document.as_uuid().as_bytes()[..], head.as_bytes()])
}

pub(crate) fn end_stands(
    document: DocumentId,
    head: Option<ContentHash>,
    sum: Option<ContentHash>,
) -> Option<bool> {
    let sum = sum?;
    Some(head.is_some_and(|head| sum_of_end(document, &head) == sum))
}

#[derive(Debug, Clone, PartialEq)]
pub struct VersionFile {
    pub id: VersionId,
    pub kb: KbId,
    pub generation: GenerationId,
    pub number: u32,
    pub run: RunId,
    pub content_hash: ContentHash,
    pub size: u64,
    pub filename: String,
    pub media_type: Option<String>,
    pub language: Option<String>,
    pub state: VersionState,
    pub pass: u32,
    pub units_total: u32,
    pub units_open: u32,
    pub needs_flush: Option<u64>,
    pub chunks: u64,
    pub tokens: u64,
    pub root_hash: Option<ContentHash>,
    pub artifacts: Artifacts,
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// What filters look up.
    pub filterable: Vec<(String, String)>,
    pub units: Vec<UnitFile>,
    /// What is to be done for it, as the queue has it.
    pub steps: Vec<Step>,
    /// Steps of it in the queue that nobody can read.
    pub unread_steps: u32,
    pub pages: Vec<PageSize>,
    /// What is noted of its rows, as they are; `None` where they cannot be read.
    pub facts: Option<Facts>,
    /// The jobs that claim it.
    pub claims: ClaimSum,
    /// What was noted.
    pub witness: Option<Witness>,
    pub order: SourceOrder,
    /// Of its order; `None` for versions made long ago.
    pub order_sum: Option<ContentHash>,
    pub created_at: DateTime<Utc>,
}

impl VersionFile {
    /// Whether its order is the one that was summed up; unknown where none was.
    pub fn order_stands(&self) -> Option<bool> {
        let sum = self.order_sum?;
        Some(sum == self.order.sum_for(self.id))
    }

    /// What was noted of it, if that still stands.
    pub fn told(&self) -> Option<Facts> {
        self.witness.as_ref()?.told(self.id)
    }

    /// Whether it is under way, and nothing in the queue would bring all of it to its end.
    pub fn is_stranded(&self) -> bool {
        let version = self.id;
        let queued = |step: Step| self.steps.contains(&step);
        match self.state {
            _ if queued(Step::Prep { version }) => false,
            VersionState::Pending => true,
            VersionState::Processing => {
                let pass = self.pass;
                let mut open = self.open_units().peekable();
                if !self.has_its_units() {
                    return true;
                }
                if open.peek().is_none() {
                    return !queued(Step::Finalize { version, pass });
                }
                open.any(|unit| {
                    let unit = unit.name.clone();
                    !queued(Step::Extract {
                        version,
                        pass,
                        unit,
                    })
                })
            }
            VersionState::Ready
            | VersionState::Superseded
            | VersionState::Failed
            | VersionState::Canceled => false,
        }
    }

    fn open_units(&self) -> impl Iterator<Item = &UnitFile> {
        let is_open = |unit: &&UnitFile| unit.state == UnitState::Open;
        self.units.iter().filter(is_open)
    }

    /// As many as it counts, as many of them open, and all of the pass it is in.
    fn has_its_units(&self) -> bool {
        let counts = (self.units_total as usize, self.units_open as usize);
        counts == (self.units.len(), self.open_units().count())
            && self.units.iter().all(|unit| unit.pass == self.pass)
    }

    /// Whether it was brought to its end: then every store must have all of it.
    pub fn is_finished(&self) -> bool {
        matches!(self.state, VersionState::Ready | VersionState::Superseded)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitFile {
    pub name: UnitName,
    pub pass: u32,
    pub position: u32,
    pub state: UnitState,
    pub chunks: u64,
    pub tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivationFile {
    pub id: uuid::Uuid,
    /// The one it took over from.
    pub replaced: Option<uuid::Uuid>,
    pub kb: KbId,
    pub generation: GenerationId,
    pub version: VersionId,
    /// Whose the version is, by its own row.
    pub owner: Option<DocumentId>,
    pub number: u32,
    pub needs_flush: u64,
    pub chunks: u64,
    pub cause: ActivationCause,
    pub by: Option<UserId>,
    pub opened_at: DateTime<Utc>,
    pub closed_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFile {
    pub id: RunId,
    pub version: VersionId,
    pub kb: KbId,
    pub generation: GenerationId,
    pub source_uri: SourceUri,
    pub content_hash: ContentHash,
    pub source: Option<SourceId>,
    pub status: RunStatus,
    pub superseded: bool,
    pub created_at: DateTime<Utc>,
    /// Of its version in the source; `None` for runs begun long ago.
    pub order: Option<SourceOrder>,
    pub chunks_created: u64,
    /// Put in the place of one that was gone: it knows less than that did.
    pub stands_in: bool,
    /// The job it is of, where that does not claim the version it brought.
    pub unclaimed: Option<JobId>,
}

/// What is put right in the catalog, each part in the transaction of the whole.
#[derive(Debug, Clone)]
pub enum Mend {
    /// A row's own id.
    Renamed(Renamed),
    /// The row of the document, from what its runs say of it.
    Document(DocumentHead, DateTime<Utc>),
    /// The same, where another document has come under its address since: what that brought
    /// becomes this one's, and the other is no more.
    Reunion {
        head: DocumentHead,
        created: DateTime<Utc>,
        with: DocumentId,
    },
    /// A version's row: made again where it is gone, else its facts set to these.
    Version(VersionFacts),
    /// Whose the ledger of the document is.
    LedgerOwner,
    /// Every activation of the document, as the ledger tells.
    Activations,
    /// What filters look up of a version.
    Filterable(VersionId),
    /// Where a version stands in the source's order.
    Order(VersionId, SourceOrder),
    /// The run a version belongs to.
    Run(RunFile),
    /// A version that has not come to its end, and its run.
    UnderWay(UnderWay),
    /// A run as it was noted, or, where no note stands, the note as the run has it.
    NotedRun(RunId),
    /// A job's claim to the version it brought.
    Claim(JobId, VersionId),
    /// What is noted of a version, as its rows have it.
    Witness(VersionId),
    /// A version's rows, as they were noted.
    Witnessed(VersionId),
    /// What the queue lacks of a version under way.
    Work(VersionId),
    /// The one claim that is not as it was noted, if there is but one.
    Claims(VersionId),
    /// When the document was removed, as the ledger tells.
    Removal(Option<DateTime<Utc>>),
    /// The document's row and its removals as they were noted, or, where no note stands, the notes
    /// as the rows have it.
    Noted,
    /// What parsing and cutting the original again gave.
    Reworked(Box<Reworked>),
}

/// What is known of a version from the ledger, its run and the index.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionFacts {
    pub id: VersionId,
    pub kb: KbId,
    pub generation: GenerationId,
    pub run: RunId,
    /// Where nothing tells it, its work may, or it is given a new one.
    pub number: Option<u32>,
    pub content_hash: ContentHash,
    pub size: u64,
    pub filename: String,
    pub order: SourceOrder,
    pub state: VersionState,
    pub root_hash: Option<ContentHash>,
    pub created_at: DateTime<Utc>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reworked {
    pub version: VersionId,
    /// Its artifacts were written under this one, beside those it had.
    pub pass: u32,
    pub units: Vec<ReworkedUnit>,
    pub artifacts: Artifacts,
    pub pages: Vec<PageSize>,
    pub title: Option<String>,
    pub language: Option<String>,
    pub media_type: String,
    pub gaps: Vec<Gap>,
    pub warnings: Vec<Warning>,
    pub root_hash: ContentHash,
    pub flush: u64,
    /// The chunks are others than before, and the ledger is told.
    pub differs: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReworkedUnit {
    pub name: UnitName,
    pub position: u32,
    pub chunks: u64,
    pub tokens: u64,
}

words! {
    /// What a job counts.
    JobCount {
        /// Of the runs that ended in it.
        Chunks = "chunks",
        /// It has met.
        Documents = "documents",
        /// It waits for.
        Runs = "runs",
        /// That failed, its own and those it waited for.
        Failed = "failed",
        /// Its own row, and what was noted of it: of each there is one.
        Row = "row",
    }
}

/// A job whose counters are not as its rows have them, or that is not as it was noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct MiscountedJob {
    pub job: JobId,
    pub of: JobCount,
    /// How many it says there were, by whatever came of them.
    pub told: i64,
    pub counted: i64,
}

/// What is still told of a document that was purged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToldOf {
    /// Rows that speak of it alone.
    pub rows: u64,
    /// Jobs of its knowledge base that met what was purged, and keep what they were configured
    /// with, or how far they had come: they have not ended, or others came by them.
    pub jobs: u64,
}

/// What a version refers to, for a backup and for the search for what nobody owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub version: VersionId,
    /// `None` where neither its row nor its run tells any.
    pub content_hash: Option<ContentHash>,
}
