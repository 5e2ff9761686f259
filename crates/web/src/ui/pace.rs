//! How fast a job goes, and how long it will take at that.

use catalog::Job;
use chrono::{DateTime, Utc};
use model::JobStatus;

use super::shown::{duration, figure};

/// Below this much time a rate says more about the clock than about the job.
const TOO_SHORT: f64 = 0.5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    pub documents: String,
    pub chunks: String,
    /// Only of a job that runs and has listed all there is: before that nobody knows.
    pub left: Option<String>,
}

impl Pace {
    /// `None` before there is anything to measure.
    pub fn of(job: &Job, now: DateTime<Utc>) -> Option<Self> {
        let started = job.started_at?;
        let until = match job.status {
            JobStatus::Running => now,
            _ => job.finished_at.unwrap_or(job.updated_at),
        };
        let seconds = (until - started).num_milliseconds() as f64 / 1e3;
        let counters = &job.counters;
        let left = counters.runs_open + counters.runs_awaited;
        let done = counters.docs_seen.saturating_sub(left);
        if seconds < TOO_SHORT || done == 0 {
            return None;
        }
        let (documents, chunks) = (done as f64 / seconds, counters.chunks_seen as f64 / seconds);
        let open = left as f64;
        let known = job.status == JobStatus::Running && job.exhausted && open > 0.0;
        Some(Self {
            documents: figure(documents),
            chunks: figure(chunks),
            left: known.then(|| duration((open / documents).max(1.0).round())),
        })
    }
}

#[cfg(test)]
mod tests {
    use catalog::JobCounters;
    use chrono::TimeDelta;
    use model::{JobId, KbId, TenantId};
    use uuid::Uuid;

    use super::*;

    fn job(status: JobStatus, exhausted: bool) -> Job {
        let start = DateTime::UNIX_EPOCH;
        Job {
            lease_until: None,
            id: JobId::from_uuid(Uuid::nil()),
            tenant: TenantId::from_uuid(Uuid::nil()),
            kb: KbId::from_uuid(Uuid::nil()),
            source: None,
            status,
            config: serde_json::Value::Null,
            cursor: None,
            exhausted,
            counters: JobCounters {
                docs_seen: 100,
                runs_open: 60,
                chunks_seen: 400,
                ..JobCounters::default()
            },
            initiated_by: None,
            error: None,
            created_at: start,
            started_at: Some(start),
            updated_at: start + TimeDelta::seconds(10),
            finished_at: None,
            heartbeat_at: None,
        }
    }

    #[test]
    fn time_left_is_told_only_when_it_can_be_known() {
        let after = |seconds| DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
        let pace = Pace::of(&job(JobStatus::Running, true), after(20)).unwrap();
        assert_eq!(pace.documents, "2");
        assert_eq!(pace.chunks, "20");
        assert_eq!(pace.left.as_deref(), Some("30 s"));
        let listing = Pace::of(&job(JobStatus::Running, false), after(20)).unwrap();
        assert_eq!(listing.left, None);
        let paused = Pace::of(&job(JobStatus::Paused, true), after(1000)).unwrap();
        assert_eq!((paused.documents.as_str(), paused.left), ("4", None));
        assert_eq!(Pace::of(&job(JobStatus::Running, true), after(0)), None);
    }
}
