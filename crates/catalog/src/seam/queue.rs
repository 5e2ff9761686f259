use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::{FollowUps, JobStatus, RunId, StepKind};

use crate::{Claim, Completion, Error, Prepared, Retried, RunError, Unattended, UnitDone, Wait};

/// Work under fenced leases.
///
/// A method that takes a [`Claim`] answers [`Error::Fenced`] and changes nothing when a
/// later claim holds the work or the work is gone, unless this very call was answered
/// before and only its answer was lost: then it gives that answer again.
#[async_trait]
pub trait Queue {
    /// Takes up to `max` due steps for `lease`, kind by kind as they are named, the longest due of
    /// each first. Never hands out a step whose lease is running.
    async fn claim(
        &self,
        kinds: &[StepKind],
        worker: &str,
        max: usize,
        lease: Duration,
        now: DateTime<Utc>,
    ) -> Result<Vec<Claim>, Error>;

    /// As [`Queue::claim`], of steps of one run, whatever their kind.
    async fn claim_run(
        &self,
        run: RunId,
        worker: &str,
        max: usize,
        lease: Duration,
        now: DateTime<Utc>,
    ) -> Result<Vec<Claim>, Error>;

    /// Runs of all tenants that have a step that is due while nobody is at any of theirs, and
    /// whose job is not paused, the longest due first; up to `limit`, and fewer where one of them
    /// has many such steps. Steps of paused jobs that are met on the way fall due when those are
    /// resumed.
    async fn unattended(&self, limit: u32, now: DateTime<Utc>) -> Result<Vec<Unattended>, Error>;

    /// Shows on every unattended run why nobody takes it, and when somebody is asked again.
    async fn await_worker(&self, wait: Wait, now: DateTime<Utc>) -> Result<(), Error>;

    /// Ends a run that nobody is at among the dead letters, as one that nobody began; `false`
    /// where somebody is at it after all, its job is paused, or it has ended.
    async fn bury_unattended(
        &self,
        run: RunId,
        error: RunError,
        now: DateTime<Utc>,
    ) -> Result<bool, Error>;

    /// Prolongs the leases still held and says which those are.
    async fn heartbeat(
        &self,
        claims: &[Claim],
        lease: Duration,
        now: DateTime<Utc>,
    ) -> Result<Vec<bool>, Error>;

    /// The state of the job the step belongs to, for the gate; `None` where there is none.
    async fn job_gate(&self, claim: &Claim) -> Result<Option<JobStatus>, Error>;

    /// Prep's transaction: the pass it wrote artifacts for with its units open, one Extract
    /// for each (Finalize when there are none), and Prep itself gone from the queue. Fenced
    /// when another Prep has opened that pass.
    async fn prepared(
        &self,
        claim: &Claim,
        prepared: Prepared,
        now: DateTime<Utc>,
    ) -> Result<FollowUps, Error>;

    /// Extract's transaction: the unit's marker, the version's counter, Finalize from the
    /// unit that is last, and the step itself gone from the queue.
    async fn complete_unit(
        &self,
        claim: &Claim,
        done: UnitDone,
        now: DateTime<Utc>,
    ) -> Result<Completion, Error>;

    /// Gives the step back to wait; nothing is counted against it.
    /// A step of a paused job waits for its job to be resumed, however soon it asked to be
    /// looked at.
    async fn release(&self, claim: &Claim, wait: Wait, now: DateTime<Utc>) -> Result<(), Error>;

    /// Gives the step back after a failure that may pass. With attempts used up, dead
    /// letter and failed run are one transaction.
    async fn retry_later(
        &self,
        claim: &Claim,
        error: RunError,
        not_before: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<Retried, Error>;

    /// The fault is ours and will not pass by itself: a dead letter at once.
    async fn set_aside(
        &self,
        claim: &Claim,
        error: RunError,
        now: DateTime<Utc>,
    ) -> Result<(), Error>;

    /// The document is at fault: its run has failed and has no work left.
    async fn fail_run(
        &self,
        claim: &Claim,
        error: RunError,
        now: DateTime<Utc>,
    ) -> Result<(), Error>;

    /// The run is canceled and has no work left.
    async fn stop_run(&self, claim: &Claim, why: &str, now: DateTime<Utc>) -> Result<(), Error>;

    /// Every lease ends now, those on listings included; says how many did. For whoever
    /// knows that nobody else is at work: a claim made before is fenced by the next one.
    async fn expire_leases(&self, now: DateTime<Utc>) -> Result<u64, Error>;

    /// Leases that end later than `longest` from now, which no clock that goes right could have
    /// given, end by then, those on listings included; says how many. Whoever holds one and is
    /// alive prolongs it in time, as any other.
    async fn bound_leases(&self, longest: Duration, now: DateTime<Utc>) -> Result<u64, Error>;

    /// Steps put off by a clock that was ahead, and has been set back since, are due now;
    /// says how many. What waits for a time of its own goes on waiting.
    async fn hasten(&self, now: DateTime<Utc>) -> Result<u64, Error>;

    /// Whether a step of anybody's is held.
    async fn busy(&self, now: DateTime<Utc>) -> Result<bool, Error>;

    /// When the next step falls due, leases included; `None` when the queue is empty.
    async fn next_due(&self) -> Result<Option<DateTime<Utc>>, Error>;
}
