//! What is under way while the stores are read, so that a digest says whether it is of all.

use catalog::{JobFilter, every};
use model::{JobStatus, TenantId};

use crate::{Engine, Error};

/// As of one moment.
pub struct Pending {
    /// Steps in the queue, and jobs that have not seen all of their source.
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
        let running = JobFilter {
            status: Some(JobStatus::Running),
            ..JobFilter::default()
        };
        // Before the queue: what is listed meanwhile is in there by then.
        let jobs = every(|page| catalog.jobs(tenant, running.clone(), page)).await?;
        let listing = jobs.iter().filter(|job| !job.exhausted).count() as u64;
        let status = catalog.status(tenant, self.parts.clock.now()).await?;
        let queue = status.queue;
        Ok(Pending {
            left: listing + queue.ready + queue.leased + queue.waiting,
            ended: status.runs_succeeded + status.runs_failed + status.runs_canceled,
        })
    }
}
