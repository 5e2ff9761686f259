//! How fast a job goes, and how long it will take at that.
//!
//! Pure, and the only place where it is reckoned: whoever shows it shows the same.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{Job, State};

/// On the average since the job began, without the time it was paused.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    pub documents_per_second: f64,
    pub chunks_per_second: f64,
    /// Only while somebody is at it and all there is was listed: otherwise nobody knows.
    pub seconds_left: Option<u64>,
}

/// Below this much time a rate says more about the clock than about the job.
const TOO_SHORT_MS: u64 = 500;

impl Job {
    /// `None` before there is anything to measure; `stands` is where it stands at that time.
    pub fn pace(&self, stands: State, now: DateTime<Utc>) -> Option<Pace> {
        let until = match stands {
            State::Running => now,
            // Nobody is at it: what it has done it had done by then.
            _ => self.finished_at.unwrap_or(self.updated_at),
        };
        let passed = (until - self.started_at?).num_milliseconds();
        let at_work = u64::try_from(passed).ok()?.checked_sub(self.paused_ms)?;
        let left = self.counters.runs_open + self.counters.runs_awaited;
        let done = self.counters.docs_seen.saturating_sub(left);
        if at_work < TOO_SHORT_MS || done == 0 {
            return None;
        }
        let seconds = at_work as f64 / 1e3;
        let documents = done as f64 / seconds;
        let is_known = stands == State::Running && self.exhausted && left > 0;
        Some(Pace {
            documents_per_second: documents,
            chunks_per_second: self.counters.chunks_seen as f64 / seconds,
            seconds_left: is_known.then(|| (left as f64 / documents).max(1.0).round() as u64),
        })
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use model::{JobId, JobStatus, KbId, TenantId};
    use uuid::Uuid;

    use super::*;
    use crate::JobCounters;

    fn job(exhausted: bool) -> Job {
        let start = DateTime::UNIX_EPOCH;
        Job {
            lease_until: None,
            id: JobId::from_uuid(Uuid::nil()),
            tenant: TenantId::from_uuid(Uuid::nil()),
            kb: KbId::from_uuid(Uuid::nil()),
            source: None,
            status: JobStatus::Running,
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
            paused_ms: 0,
            waiting: None,
            heartbeat_at: None,
        }
    }

    fn after(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    #[test]
    fn time_left_is_told_only_when_it_can_be_known() {
        let pace = job(true).pace(State::Running, after(20)).unwrap();
        let rates = (pace.documents_per_second, pace.chunks_per_second);
        assert_eq!((rates, pace.seconds_left), ((2.0, 20.0), Some(30)));
        let listing = job(false).pace(State::Running, after(20)).unwrap();
        assert_eq!(listing.seconds_left, None);
        for idle in [State::Paused, State::Waiting, State::Stalled, State::Queued] {
            let pace = job(true).pace(idle, after(1000)).unwrap();
            assert_eq!((pace.documents_per_second, pace.seconds_left), (4.0, None));
        }
        assert_eq!(job(true).pace(State::Running, after(0)), None);
    }

    #[test]
    fn a_pause_slows_nothing_down() {
        let job = Job {
            paused_ms: 3_600_000,
            ..job(true)
        };
        let pace = job.pace(State::Running, after(3_620)).unwrap();
        assert_eq!(
            (pace.documents_per_second, pace.seconds_left),
            (2.0, Some(30))
        );
        assert_eq!(
            job.pace(State::Running, after(60)),
            None,
            "a clock set back"
        );
    }
}
