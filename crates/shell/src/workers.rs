//! Everything that works in this process, started and stopped together.

use std::sync::Arc;
use std::time::Duration;

use engine::Engine;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::dispatch::Dispatcher;
use crate::hands::{Hands, give_back};
use crate::http::Delegated;
use crate::lease::{Held, beat};
use crate::post::Post;
use crate::{generations, housekeeping, inline, jobs};

#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Documents between original and units at the same time. More than are parsed at
    /// once, which the sandbox bounds: the others wait for their artifacts to be synced.
    pub prep_slots: usize,
    /// Units waiting for embeddings at the same time: enough for batches to fill
    /// across documents.
    pub extract_slots: usize,
    /// Versions waiting for their seal at the same time: all of them share one flush.
    pub finalize_slots: usize,
    /// Runs brought by deliveries of their own and carried through at the same time.
    pub run_slots: usize,
    pub lease: Duration,
    pub heartbeat: Duration,
    /// How often to look for work that another process added.
    pub poll: Duration,
    /// How often the guard makes its round.
    pub guard_every: Duration,
    /// How often the janitor makes its.
    pub janitor_every: Duration,
    /// How often queue and flushes are looked at for the history of figures.
    pub load_every: Duration,
    /// How often what each tenant has is counted for it.
    pub holdings_every: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            prep_slots: 8,
            extract_slots: 192,
            finalize_slots: 192,
            run_slots: 3,
            lease: Duration::from_secs(60),
            heartbeat: Duration::from_secs(5),
            poll: Duration::from_millis(500),
            guard_every: Duration::from_secs(60),
            janitor_every: Duration::from_secs(60 * 60),
            load_every: Duration::from_secs(10),
            holdings_every: Duration::from_secs(60),
        }
    }
}

/// How runs find their worker.
pub enum Runtime {
    /// Tasks of this process take what is due.
    Inline,
    /// Each is posted to a worker, which may be this very process.
    Http(Post),
}

/// Running workers. Dropped without [`Workers::stop`], their leases run out.
pub struct Workers {
    hands: Hands,
    delegated: Delegated,
    loops: Vec<JoinHandle<()>>,
}

impl Workers {
    pub fn start(engine: Arc<Engine>, settings: Settings) -> Self {
        Self::start_as(Runtime::Inline, engine, settings)
    }

    /// Jobs, generations and housekeeping go on alike, whoever processes runs.
    pub fn start_as(runtime: Runtime, engine: Arc<Engine>, settings: Settings) -> Self {
        let hands = Hands {
            engine,
            settings,
            held: Held::default(),
            deliveries: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        let delegated = Delegated::new(hands.clone());
        let mut loops: Vec<_> = match runtime {
            Runtime::Inline => inline::start(&hands).collect(),
            Runtime::Http(post) => {
                let freed = delegated.freed();
                let dispatcher = Dispatcher::new(hands.clone(), post, freed);
                vec![tokio::spawn(dispatcher.run())]
            }
        };
        loops.extend(keep_house(&hands));
        Self {
            hands,
            delegated,
            loops,
        }
    }

    /// Takes runs that others bring.
    pub fn delegated(&self) -> Delegated {
        self.delegated.clone()
    }

    /// Claims nothing more, lets what runs end within `grace`, and gives the rest back.
    pub async fn stop(self, grace: Duration) {
        self.hands.stop.cancel();
        self.hands.deliveries.close();
        let drained = tokio::time::timeout(grace, self.hands.deliveries.wait()).await;
        if drained.is_err() {
            for claim in self.hands.held.claims() {
                give_back(&self.hands.engine, &claim).await;
            }
        }
        // Joined, so that nothing of ours touches the stores once this returns.
        for task in self.loops {
            task.abort();
            drop(task.await);
        }
        // A process may end before the second look, and what it did would never be told.
        housekeeping::look(&self.hands.engine).await;
    }
}

/// Heartbeats, listings of jobs, generations, guard and janitor.
fn keep_house(hands: &Hands) -> [JoinHandle<()>; 4] {
    let Hands {
        engine,
        settings,
        held,
        deliveries,
        stop,
    } = hands.clone();
    let beating = beat(engine.clone(), held, settings.heartbeat, settings.lease);
    let jobs = jobs::run(engine.clone(), settings, deliveries, stop.clone());
    let generations = generations::run(engine.clone(), settings, stop.clone());
    [
        tokio::spawn(beating),
        tokio::spawn(jobs),
        tokio::spawn(generations),
        tokio::spawn(housekeeping::run(engine, settings, stop)),
    ]
}
