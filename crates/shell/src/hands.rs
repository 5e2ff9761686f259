//! What carries a claimed step to the engine, however its delivery came.
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
use model::{RunId, StepKind, TraceContext};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::Settings;
use crate::lease::Held;
use crate::verdict::{Verdict, verdict};

/// Claimed in one go: a claim is a transaction, and a batch costs little more than one.
pub(crate) const CLAIM_BATCH: usize = 64;

#[derive(Clone)]
pub(crate) struct Hands {
    pub engine: Arc<Engine>,
    pub settings: Settings,
    pub held: Held,
    pub deliveries: TaskTracker,
    pub stop: CancellationToken,
}

/// Of which steps some are claimed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of {
    Kind(StepKind),
    Run(RunId),
}

impl Hands {
    pub async fn claim(&self, of: Of, worker: &str, max: usize) -> Vec<Claim> {
        let now = self.engine.parts().clock.now();
        let catalog = &self.engine.parts().catalog;
        let lease = self.settings.lease;
        let claimed = match of {
            Of::Kind(kind) => catalog.claim(&[kind], worker, max, lease, now).await,
            Of::Run(run) => catalog.claim_run(run, worker, max, lease, now).await,
        };
        let claims = claimed.unwrap_or_else(|error| {
            tracing::warn!(%error, ?of, "cannot claim work");
            Vec::new()
        });
        for claim in claims.iter().filter(|claim| claim.unanswered > 0) {
            self.engine.taken_over(claim);
        }
        claims
    }

    /// Carries a claim to the engine and records the answer; ends early when the lease is
    /// lost. The lease is kept from the moment this is called.
    pub fn carry(&self, claim: Claim) -> impl Future<Output = ()> + Send + use<> {
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
        };
        work.instrument(span)
    }
}

pub(crate) async fn give_back(engine: &Engine, claim: &Claim) {
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
            let told = error.message.clone();
            catalog.fail_run(claim, error, now).await?;
            tracing::info!(run_id = %claim.run, doc_id = %claim.document, error = told, "run failed");
            Ok(())
        }
        // Told once it is so: of work that a cancel took away meanwhile nothing is set aside.
        Verdict::SetAside(error) => {
            let told = error.message.clone();
            catalog.set_aside(claim, error, now).await?;
            tracing::error!(run_id = %claim.run, step = %claim.step.key(), error = told, "work set aside");
            Ok(())
        }
        Verdict::Stop(why) => catalog.stop_run(claim, why, now).await,
    }
}
