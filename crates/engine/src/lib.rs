//! Runs a step of a document's way: calls the stages, awaits the seams, returns
//! what follows as data.
//!
//! Every method may be killed at any instruction and run again. The order inside
//! each is the contract: durable, then done, then sent, then acknowledged. The
//! engine knows no shell; a shell turns its kind of delivery into one call here.

mod aside;
pub mod ask;
pub mod backup;
pub mod bucket;
pub mod citation;
pub mod clock;
mod compaction;
pub mod damaged_index;
pub mod delegation;
mod embedding;
mod error;
pub mod figures;
pub mod generations;
pub mod guard;
pub mod inspect;
pub mod intake;
pub mod janitor;
pub mod jobs;
mod leftovers;
mod models;
mod neighbours;
pub mod objects;
pub mod pages;
mod query_line;
mod question;
pub mod reading;
mod removal;
mod repair;
pub mod rerank;
pub mod retry;
pub mod search;
mod stage;
mod synced_folder;
mod verify;

mod prep;

mod pieces;

mod extract;

mod finalize;

use std::sync::{Arc, Mutex, MutexGuard};

use catalog::{Catalog, Claim, Kb};
use index::Index;
use model::{FollowUps, Gate, Step, gate};
use providers::{Embedder, Reranker};
use sandbox::Sandbox;
use tokio::sync::{RwLock, broadcast, watch};

pub use clock::{Clock, ManualClock, SystemClock};
pub use error::{CHUNKS_LOST, Disposition, Error};
pub use figures::Figures;
pub use leftovers::clear_unfinished;
pub use objects::Objects;
pub use pieces::{Reads, Said};
pub use removal::{Purged, Residue};
pub use repair::{Kept, Outcome, Repaired};
pub use stage::{Passing, Stage};
pub use synced_folder::SyncedFolder;
pub use verify::{Disagreement, OfTenant, Verified};

use embedding::Embeddings;
use figures::Timed;
use generations::Readers;
use models::Model;
use pages::{Ahead, Artist};

/// What can be tuned: plain values from configuration.
#[derive(Debug, Clone)]
pub struct Settings {
    pub embedding: embedding::Settings,
    pub rerank: rerank::Settings,
    pub retry: retry::Policy,
    pub guard: guard::Settings,
    pub janitor: janitor::Settings,
    pub pages: pages::Settings,
    /// The largest file a folder source takes in.
    pub file_limit: u64,
    /// Where the stores lie, if on this machine.
    pub local: Option<backup::Local>,
    /// A bug on purpose, for the proof that `crash-test` would notice; no release has one.
    #[cfg(debug_assertions)]
    pub plant: Option<Plant>,
}

/// An effect out of order.
#[cfg(debug_assertions)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plant {
    /// Units are marked done before their chunks are durable.
    MarksTooEarly,
    /// A job's cursor is moved past a batch before the batch is admitted.
    MovesCursorTooEarly,
}

#[cfg(debug_assertions)]
impl Plant {
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "marks_too_early" => Some(Self::MarksTooEarly),
            "moves_cursor_too_early" => Some(Self::MovesCursorTooEarly),
            _ => None,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            embedding: embedding::Settings::default(),
            rerank: rerank::Settings::default(),
            retry: retry::Policy::default(),
            guard: guard::Settings::default(),
            janitor: janitor::Settings::default(),
            pages: pages::Settings::default(),
            file_limit: 50 << 20,
            local: None,
            #[cfg(debug_assertions)]
            plant: None,
        }
    }
}

/// What does the work: handed in by the binary, or by a test.
pub struct Parts {
    pub catalog: Arc<dyn Catalog>,
    pub index: Index,
    pub objects: Objects,
    /// Embeds what is new; see [`Engine::also`] for others.
    pub embedder: Arc<dyn Embedder>,
    pub sandbox: Arc<Sandbox>,
    pub clock: Arc<dyn Clock>,
    pub figures: Figures,
}

pub struct Engine {
    settings: Settings,
    parts: Parts,
    first: Model,
    others: Vec<Model>,
    reranker: Option<Arc<dyn Reranker>>,
    reranks: Mutex<rerank::Counts>,
    reads: Mutex<Reads>,
    readers: Readers,
    artist: Arc<Artist>,
    ahead: Ahead,
    news: watch::Sender<u64>,
    passings: broadcast::Sender<Passing>,
    /// Read while an original is counted on before the catalog knows of it; written while
    /// originals nobody refers to are deleted.
    door: RwLock<()>,
    /// Read while something is removed for good; written while a repair or a backup counts
    /// on everything staying where it is.
    still: Arc<RwLock<()>>,
    /// What guard and janitor have done since the start.
    kept: Mutex<Housekeeping>,
}

/// What guard and janitor have done since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Housekeeping {
    pub guarded: guard::Guarded,
    pub tidied: janitor::Tidied,
}

impl Engine {
    pub fn new(settings: Settings, parts: Parts) -> Self {
        let first = Model {
            embedder: parts.embedder.clone(),
            embeddings: Embeddings::start(settings.embedding, parts.embedder.clone()),
        };
        let artist = Arc::new(Artist::new(&parts));
        Self {
            ahead: Ahead::start(settings.pages, artist.clone()),
            artist,
            settings,
            parts,
            first,
            others: Vec::new(),
            reranker: None,
            reranks: Mutex::default(),
            reads: Mutex::default(),
            readers: Readers::default(),
            news: watch::Sender::new(0),
            passings: broadcast::Sender::new(stage::BEHIND),
            door: RwLock::new(()),
            still: Arc::default(),
            kept: Mutex::default(),
        }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Performs one claimed step. Running it twice changes nothing.
    pub async fn perform(&self, claim: &Claim) -> Result<FollowUps, Error> {
        self.ask_gate(claim).await?;
        let follow_ups = match &claim.step {
            Step::Prep { .. } => self.prep(claim).await?,
            Step::Extract { pass, unit, .. } => self.extract(claim, *pass, unit).await?,
            Step::Finalize { pass, .. } => {
                let finalizing = self.finalize(claim, *pass);
                self.timed(Timed::Finalize, finalizing).await?
            }
        };
        if !follow_ups.is_empty() {
            self.work_added();
        }
        Ok(follow_ups)
    }

    /// Asked before each step and each window of passages to embed, never inside one.
    pub(crate) async fn ask_gate(&self, claim: &Claim) -> Result<(), Error> {
        if claim.job.is_none() {
            return Ok(());
        }
        match gate(self.parts.catalog.job_gate(claim).await?) {
            Gate::Go => Ok(()),
            Gate::Wait(why) => Err(Error::Paused { why }),
            Gate::Stop(why) => Err(Error::CalledOff { why }),
        }
    }

    pub fn housekeeping(&self) -> Housekeeping {
        *self.kept()
    }

    pub(crate) fn kept(&self) -> MutexGuard<'_, Housekeeping> {
        self.kept
            .lock()
            .expect("nothing panics while it holds the counts")
    }

    /// Tells whoever waits for work in this process that there is some.
    pub(crate) fn work_added(&self) {
        self.news.send_modify(|count| *count += 1);
    }

    /// Changes whenever this process has added work; a shell elsewhere polls as well.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// What a run was made with, kept on its row.
    pub(crate) fn run_config(&self, kb: &Kb) -> serde_json::Value {
        serde_json::json!({
            "model": kb.serving.spec.model,
            "policy": kb.serving.spec.policy,
        })
    }
}
