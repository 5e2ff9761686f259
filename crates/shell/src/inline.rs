//! Workers as tasks of this process, fed by the queue in the catalog.
//!
//! Queue and catalog share a database, so a step's follow-ups are written in the
//! transaction that marks it done and its row is gone with it: sending and
//! acknowledging are that commit. What is left to do here is to claim, to keep
//! leases alive, and to record what the engine's error asks for.

use std::sync::Arc;
use std::time::Duration;

use catalog::{Claim, Wait};
use chrono::TimeDelta;
use engine::{Engine, Stage};
use model::{StepKind, TraceContext};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::generations;
use crate::housekeeping;
use crate::jobs;
use crate::lease::{Held, beat};
use crate::verdict::{Verdict, verdict};

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

/// Running workers. Dropped without [`Workers::stop`], their leases run out.
pub struct Workers {
    stop: CancellationToken,
    loops: Vec<JoinHandle<()>>,
    deliveries: TaskTracker,
    held: Held,
    engine: Arc<Engine>,
}

/// Claimed in one go: a claim is a transaction, and a batch costs little more than one.
const CLAIM_BATCH: usize = 64;

impl Workers {
    pub fn start(engine: Arc<Engine>, settings: Settings) -> Self {
        let stop = CancellationToken::new();
        let deliveries = TaskTracker::new();
        let held = Held::default();
        let lanes = [
            (StepKind::Prep, settings.prep_slots),
            (StepKind::Extract, settings.extract_slots),
            (StepKind::Finalize, settings.finalize_slots),
        ];
        let mut loops: Vec<_> = lanes
            .into_iter()
            .map(|(kind, slots)| {
                let lane = Lane {
                    engine: engine.clone(),
                    kind,
                    slots: Arc::new(Semaphore::new(slots)),
                    settings,
                    held: held.clone(),
                    deliveries: deliveries.clone(),
                    stop: stop.clone(),
                };
                tokio::spawn(lane.run())
            })
            .collect();
        let beating = beat(
            engine.clone(),
            held.clone(),
            settings.heartbeat,
            settings.lease,
        );
        loops.push(tokio::spawn(beating));
        loops.push(tokio::spawn(jobs::run(
            engine.clone(),
            settings,
            deliveries.clone(),
            stop.clone(),
        )));
        loops.push(tokio::spawn(generations::run(
            engine.clone(),
            settings,
            stop.clone(),
        )));
        loops.push(tokio::spawn(housekeeping::run(
            engine.clone(),
            settings,
            stop.clone(),
        )));
        Self {
            stop,
            loops,
            deliveries,
            held,
            engine,
        }
    }

    /// Claims nothing more, lets what runs end within `grace`, and gives the rest back.
    pub async fn stop(self, grace: Duration) {
        self.stop.cancel();
        self.deliveries.close();
        let drained = tokio::time::timeout(grace, self.deliveries.wait()).await;
        if drained.is_err() {
            for claim in self.held.claims() {
                give_back(&self.engine, &claim).await;
            }
        }
        // Joined, so that nothing of ours touches the stores once this returns.
        for task in self.loops {
            task.abort();
            drop(task.await);
        }
    }
}

async fn give_back(engine: &Engine, claim: &Claim) {
    let now = engine.parts().clock.now();
    let catalog = &engine.parts().catalog;
    let wait = Wait {
        not_before: now,
        why: "the server is restarting".to_owned(),
    };
    let given = catalog.release(claim, wait, now);
    if let Err(error) = given.await {
        tracing::warn!(%error, step = %claim.step.key(), "could not give work back; its lease will run out");
    }
}

/// The deliveries of one kind of step, as many at a time as there are slots.
struct Lane {
    engine: Arc<Engine>,
    kind: StepKind,
    slots: Arc<Semaphore>,
    settings: Settings,
    held: Held,
    deliveries: TaskTracker,
    stop: CancellationToken,
}

impl Lane {
    async fn run(self) {
        let worker = format!("{}-{}", std::process::id(), self.kind.as_str());
        let mut news = self.engine.news();
        while !self.stop.is_cancelled() {
            // Seen before the claim, so work added while we look is not slept through.
            news.borrow_and_update();
            let Some(permits) = self.free_slots().await else {
                return;
            };
            let claimed = self.claim(&worker, permits.len()).await;
            let idle = claimed.len() < permits.len();
            for (claim, permit) in claimed.into_iter().zip(permits) {
                if claim.unanswered > 0 {
                    self.engine.taken_over(&claim);
                }
                self.deliver(claim, permit);
            }
            if idle {
                tokio::select! {
                    () = self.stop.cancelled() => return,
                    changed = news.changed() => if changed.is_err() { return },
                    () = tokio::time::sleep(self.settings.poll) => {}
                }
            }
        }
    }

    async fn free_slots(&self) -> Option<Vec<OwnedSemaphorePermit>> {
        let first = tokio::select! {
            () = self.stop.cancelled() => return None,
            permit = self.slots.clone().acquire_owned() => permit.ok()?,
        };
        let mut permits = vec![first];
        while permits.len() < CLAIM_BATCH {
            match self.slots.clone().try_acquire_owned() {
                Ok(permit) => permits.push(permit),
                Err(_) => break,
            }
        }
        Some(permits)
    }

    async fn claim(&self, worker: &str, max: usize) -> Vec<Claim> {
        let now = self.engine.parts().clock.now();
        let catalog = &self.engine.parts().catalog;
        match catalog
            .claim(&[self.kind], worker, max, self.settings.lease, now)
            .await
        {
            Ok(claims) => claims,
            Err(error) => {
                tracing::warn!(%error, kind = self.kind.as_str(), "cannot claim work");
                Vec::new()
            }
        }
    }

    fn deliver(&self, claim: Claim, permit: OwnedSemaphorePermit) {
        let engine = self.engine.clone();
        let hold = self.held.hold(claim.clone());
        let span = step_span(&claim);
        let work = async move {
            tokio::select! {
                () = hold.lost() => {
                    tracing::warn!(step = %claim.step.key(), "lease lost; another worker has it");
                }
                () = on_delivery(&engine, &claim) => {}
            }
            drop(permit);
        };
        self.deliveries.spawn(work.instrument(span));
    }
}

/// A step's place in the trace of the request or event that brought its document.
fn step_span(claim: &Claim) -> tracing::Span {
    let parent: Option<TraceContext> = claim.trace.as_deref().and_then(|at| at.parse().ok());
    let here = parent.map(|parent| parent.child(rand::random()));
    tracing::info_span!(
        "step", kind = claim.step.kind().as_str(), tenant_id = %claim.tenant,
        doc_id = %claim.document, run_id = %claim.run, attempt = claim.attempt,
        trace_id = here.map(|here| here.trace_id()), span_id = here.map(|here| here.span_id()),
        parent_span_id = parent.map(|parent| parent.span_id()),
    )
}

async fn on_delivery(engine: &Engine, claim: &Claim) {
    let answer = engine.perform(claim).await;
    let policy = engine.settings().retry;
    let jitter = rand::random::<f64>();
    let recorded = record(
        engine,
        claim,
        verdict(answer, claim.attempt, &policy, jitter),
    )
    .await;
    if let Err(error) = recorded {
        // Not acknowledged, so it is delivered again when the lease runs out.
        tracing::warn!(%error, step = %claim.step.key(), "could not record the outcome");
    }
}

async fn record(engine: &Engine, claim: &Claim, verdict: Verdict) -> Result<(), catalog::Error> {
    let catalog = &engine.parts().catalog;
    let now = engine.parts().clock.now();
    let later = |after: Duration| now + TimeDelta::from_std(after).unwrap_or(TimeDelta::minutes(1));
    match verdict {
        Verdict::SendThenAck(_) | Verdict::Forget => Ok(()),
        Verdict::Wait { why, after } => {
            let not_before = later(after);
            engine.pass(claim, Stage::Waiting { why: why.clone() });
            catalog.release(claim, Wait { not_before, why }, now).await
        }
        Verdict::Retry { error, after } => {
            tracing::info!(step = %claim.step.key(), attempt = claim.attempt, error = %error.message, "will be tried again");
            let why = format!("attempt {} failed: {}", claim.attempt, error.message);
            engine.pass(claim, Stage::Waiting { why });
            catalog.retry_later(claim, error, later(after), now).await?;
            Ok(())
        }
        Verdict::FailRun(error) => {
            tracing::info!(run_id = %claim.run, doc_id = %claim.document, error = %error.message, "run failed");
            catalog.fail_run(claim, error, now).await
        }
        Verdict::SetAside(error) => {
            tracing::error!(run_id = %claim.run, step = %claim.step.key(), error = %error.message, "work set aside");
            catalog.set_aside(claim, error, now).await
        }
        Verdict::Stop(why) => catalog.stop_run(claim, why, now).await,
    }
}
