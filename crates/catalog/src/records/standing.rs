//! Where a run or a job stands, in one word and a sentence: waiting is not failing.
//!
//! Pure: what the rows say and the time come in, words for a person come out.

use chrono::{DateTime, Utc};
use model::{JobId, JobStatus, RunStatus};
use serde::Serialize;

use super::{Awaits, Job, JobProgress, Run, words};

words! {
    State {
        NotStarted = "not_started",
        /// Nobody has taken it, and nobody seems to be at work.
        Queued = "queued",
        /// Due, and every worker is at something else.
        WaitingForSlot = "waiting_for_slot",
        /// Told to pause; what is under way goes on to its next gate.
        Pausing = "pausing",
        Paused = "paused",
        /// It failed and is tried again at a time.
        BackingOff = "backing_off",
        /// For something else, such as a provider that asked us to slow down.
        Waiting = "waiting",
        Running = "running",
        /// Its worker is not heard from any more; the next one takes over.
        Stalled = "stalled",
        Succeeded = "succeeded",
        Superseded = "superseded",
        Completed = "completed",
        Failed = "failed",
        Canceling = "canceling",
        Canceled = "canceled",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standing {
    pub state: State,
    /// What it waits for, or why it failed and what to do, for a person.
    pub detail: Option<String>,
    /// When it goes on by itself, where that is known.
    pub until: Option<DateTime<Utc>>,
    pub heartbeat_age_seconds: Option<u64>,
}

impl Standing {
    fn of(state: State) -> Self {
        Self {
            state,
            detail: None,
            until: None,
            heartbeat_age_seconds: None,
        }
    }

    /// Until a time, and after a failure if that is why.
    fn held_back(why: &str, until: DateTime<Utc>) -> Self {
        let state = match why.starts_with(ATTEMPT) {
            true => State::BackingOff,
            false => State::Waiting,
        };
        Self {
            until: Some(until),
            ..Self::of(state)
        }
    }

    fn told(self, detail: impl Into<String>) -> Self {
        let detail = Some(detail.into());
        Self { detail, ..self }
    }

    fn heard(self, at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Self {
        let heartbeat_age_seconds = at.map(|at| age(at, now));
        Self {
            heartbeat_age_seconds,
            ..self
        }
    }
}

fn age(at: DateTime<Utc>, now: DateTime<Utc>) -> u64 {
    (now - at).num_seconds().max(0).unsigned_abs()
}

/// Begins what a run waits with after a failure; the rest is the failure.
pub(crate) const ATTEMPT: &str = "attempt ";

impl Run {
    /// `busy` is whether any step of anybody's is under way.
    pub fn standing(&self, busy: bool, now: DateTime<Utc>) -> Standing {
        match self.status {
            RunStatus::Queued | RunStatus::Running => self.live_standing(busy, now),
            RunStatus::Succeeded if self.superseded => Standing::of(State::Superseded),
            RunStatus::Succeeded => Standing::of(State::Succeeded),
            RunStatus::Canceled => Standing::of(State::Canceled),
            RunStatus::Failed => match &self.error {
                None => Standing::of(State::Failed),
                Some(error) => {
                    let hint = error.hint.as_deref().map(|hint| format!("; {hint}"));
                    let hint = hint.unwrap_or_default();
                    Standing::of(State::Failed).told(format!("{}{hint}", error.message))
                }
            },
        }
    }

    fn live_standing(&self, busy: bool, now: DateTime<Utc>) -> Standing {
        match self.leased_until {
            Some(until) if until > now => {
                return Standing::of(State::Running).heard(self.heartbeat_at, now);
            }
            Some(_) => {
                return Standing::of(State::Stalled)
                    .told("its worker is not heard from; another takes it over")
                    .heard(self.heartbeat_at, now);
            }
            None => {}
        }
        if self.job_status == Some(JobStatus::Paused) {
            let told = self.job.map(paused).unwrap_or_default();
            return Standing::of(State::Paused).told(told);
        }
        match (&self.waiting, self.waiting_until) {
            (Some(why), Some(until)) if until > now => {
                Standing::held_back(why, until).told(why.as_str())
            }
            _ => in_line(busy, self.started_at.is_some()),
        }
    }
}

fn in_line(busy: bool, was_taken: bool) -> Standing {
    let (state, told) = match (busy, was_taken) {
        (true, _) => (State::WaitingForSlot, "every worker is at something else"),
        (false, false) => (State::Queued, "no worker has taken it yet"),
        (false, true) => (State::Queued, "due again, and no worker has taken it since"),
    };
    Standing::of(state).told(told)
}

impl Job {
    pub fn standing(&self, progress: &JobProgress, now: DateTime<Utc>) -> Standing {
        match self.status {
            JobStatus::NotStarted if self.error.is_some() => {
                Standing::of(State::Canceled).told(self.error.as_deref().unwrap_or_default())
            }
            JobStatus::NotStarted => Standing::of(State::NotStarted),
            JobStatus::Canceled => self.canceled_standing(now),
            JobStatus::Failed => Standing::of(State::Failed).told(format!(
                "{}; mend the cause, then `gristmill jobs start {}`",
                self.error
                    .as_deref()
                    .unwrap_or("its source cannot be listed"),
                self.id
            )),
            JobStatus::Completed => self.completed_standing(),
            JobStatus::Paused if progress.leased_until > Some(now) => Standing::of(State::Pausing)
                .told(format!(
                    "{} under way, up to the next gate",
                    steps(progress.under_way)
                )),
            // A listing that is told to wait gives its lease back.
            JobStatus::Paused if self.is_listed(now) => {
                Standing::of(State::Pausing).told("a batch of files is being taken in")
            }
            JobStatus::Paused => Standing::of(State::Paused).told(paused(self.id)),
            JobStatus::Running => self.running_standing(progress, now),
        }
    }

    /// Completed is not all well, nor all over: a replayed dead letter begins its run again.
    fn completed_standing(&self) -> Standing {
        let counters = &self.counters;
        let mut told = Vec::new();
        if counters.runs_failed > 0 {
            let failed = documents(counters.runs_failed);
            told.push(format!(
                "{failed} failed; `gristmill runs --status failed` tells why"
            ));
        }
        if counters.docs_refused > 0 {
            let refused = files(counters.docs_refused);
            let job = self.id;
            told.push(format!(
                "{refused} refused; `gristmill jobs show {job}` tells why"
            ));
        }
        let again = counters.runs_open + counters.runs_awaited;
        if again > 0 {
            told.push(format!("{} begun again", documents(again)));
        }
        match told.is_empty() {
            true => Standing::of(State::Completed),
            false => Standing::of(State::Completed).told(told.join("; ")),
        }
    }

    /// Whoever removes what it brought beats for it, as whoever lists it did before.
    fn canceled_standing(&self, now: DateTime<Utc>) -> Standing {
        let standing = if self.lease_until > Some(now) {
            Standing::of(State::Canceling).told("what it brought is being removed")
        } else {
            Standing::of(State::Stalled).told(format!(
                "its cancel was interrupted, and nobody removes the rest: `gristmill jobs cancel \
                 {}` does, and so does `gristmill serve`",
                self.id
            ))
        };
        standing.heard(self.heartbeat_at, now)
    }

    fn running_standing(&self, progress: &JobProgress, now: DateTime<Utc>) -> Standing {
        let heard = self.heartbeat_at.max(progress.heartbeat_at);
        let standing = if progress.leased_until > Some(now) {
            let left = documents(self.counters.runs_open + self.counters.runs_awaited);
            Standing::of(State::Running).told(format!("{left} to go"))
        } else if self.is_listed(now) {
            Standing::of(State::Running).told("its source is being listed")
        } else if let Some(why) = self.backs_off(now) {
            let until = self.lease_until;
            let standing = Standing::of(State::BackingOff);
            return Standing { until, ..standing }
                .told(format!("listing its source failed: {why}"));
        } else if progress.under_way > 0 {
            let steps = steps(progress.under_way);
            Standing::of(State::Stalled).told(format!(
                "whoever took {steps} is not heard from; the next worker takes over"
            ))
        } else if self.exhausted {
            self.idle_standing(progress, now)
        } else if self.lease_until.is_some() && self.waiting.is_none() {
            Standing::of(State::Stalled)
                .told("whoever lists its source is not heard from; the next worker takes over")
        } else {
            return Standing::of(State::Queued).told("no worker lists its source yet");
        };
        standing.heard(heard, now)
    }

    fn is_listed(&self, now: DateTime<Utc>) -> bool {
        !self.exhausted && self.waiting.is_none() && self.lease_until > Some(now)
    }

    /// Why nobody lists its source until the lease runs out.
    fn backs_off(&self, now: DateTime<Utc>) -> Option<&str> {
        let why = self.waiting.as_deref();
        why.filter(|_| !self.exhausted && self.lease_until > Some(now))
    }

    /// Everything was listed, and nobody is at any of it.
    fn idle_standing(&self, progress: &JobProgress, now: DateTime<Utc>) -> Standing {
        if let Some(awaits) = progress.awaits.filter(|_| self.counters.runs_open == 0) {
            return Standing::of(State::Waiting).told(awaits.words());
        }
        let wait = waiting(self.counters.runs_open);
        match &progress.first {
            Some(first) if first.until > now => Standing::held_back(&first.why, first.until)
                .told(format!("{wait}, the first because {}", first.why)),
            _ => Standing::of(State::Queued).told(format!("{wait}; no worker is at any of them")),
        }
    }
}

impl Awaits {
    fn words(&self) -> String {
        let wait = waiting(self.runs);
        match self.job {
            None => format!("{wait} for a run that is under way already"),
            Some(job) if self.paused => {
                format!("{wait} for job {job}, which is paused and {}", paused(job))
            }
            Some(job) => format!("{wait} for job {job}, which met the same files first"),
        }
    }
}

/// What a paused job and everything of it does.
pub(crate) fn paused(job: JobId) -> String {
    format!("waits for `gristmill jobs resume {job}`")
}

fn waiting(n: u64) -> String {
    format!("{} wait{}", documents(n), if n == 1 { "s" } else { "" })
}

fn documents(n: u64) -> String {
    format!("{n} document{}", if n == 1 { "" } else { "s" })
}

fn files(n: u64) -> String {
    format!("{n} file{}", if n == 1 { "" } else { "s" })
}

fn steps(n: u64) -> String {
    format!("{n} step{}", if n == 1 { "" } else { "s" })
}
