//! What is under way while the stores are read, so that a digest says whether it is of all.

use catalog::{Job, JobFilter, every};
use model::{JobStatus, TenantId};

use crate::{Engine, Error};

/// As of one moment.
pub struct Pending {
    /// Steps in the queue, and jobs that have not seen all of their source or are being canceled.
    left: u64,
    /// Runs that have ended, ever.
    ended: u64,
}

impl Pending {
    /// What a reading between the two may have missed: something that came and went in between is
    /// as little of one state as what is left.
    pub fn until(&self, after: &Self) -> u64 {
        let meanwhile = self.ended.abs_diff(after.ended);
        self.left.max(after.left).max(meanwhile)
    }
}

impl Engine {
    pub(super) async fn pending(&self, tenant: TenantId) -> Result<Pending, Error> {
        let catalog = &self.parts.catalog;
        // Before the queue: what is listed meanwhile is in there by then.
        let mut open = 0;
        for status in [JobStatus::Running, JobStatus::Paused, JobStatus::Canceled] {
            let filter = JobFilter {
                status: Some(status),
                ..JobFilter::default()
            };
            let jobs = every(|page| catalog.jobs(tenant, filter.clone(), page)).await?;
            // Once its cancel is through, a job has not started.
            let is_open = |job: &&Job| status == JobStatus::Canceled || !job.exhausted;
            open += jobs.iter().filter(is_open).count() as u64;
        }
        let status = catalog.status(tenant, self.parts.clock.now()).await?;
        let queue = status.queue;
        Ok(Pending {
            left: open + queue.ready + queue.leased + queue.waiting,
            ended: status.runs_succeeded + status.runs_failed + status.runs_canceled,
        })
    }
}
