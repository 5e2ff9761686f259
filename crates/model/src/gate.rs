//! May the next piece of a job's work begin?
//!
//! Asked before each batch of documents, each unit and each embedding batch,
//! never inside one. The answer is a value: inline waits, the worker releases the
//! delivery with a delay, Restate suspends. None of them decides it anew.

use crate::JobStatus;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    Go,
    Wait(&'static str),
    Stop(&'static str),
}

/// Why the work of a paused job waits.
pub const PAUSED: &str = "the job is paused";

/// A run without a job is always let through: pass `None`.
pub fn gate(job: Option<JobStatus>) -> Gate {
    match job {
        None | Some(JobStatus::Running) => Gate::Go,
        Some(JobStatus::Paused) => Gate::Wait(PAUSED),
        Some(JobStatus::NotStarted | JobStatus::Canceled) => Gate::Stop("the job was canceled"),
        // Runs a job started before it ended are finished, not dropped.
        Some(JobStatus::Completed | JobStatus::Failed) => Gate::Go,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_paused_job_waits_and_only_a_canceled_one_stops() {
        let answers = JobStatus::ALL.iter().map(|status| gate(Some(*status)));
        let waits = answers.clone().filter(|g| matches!(g, Gate::Wait(_)));
        let stops = answers.filter(|g| matches!(g, Gate::Stop(_)));
        assert_eq!((waits.count(), stops.count()), (1, 2));
        assert_eq!(gate(None), Gate::Go);
    }
}
