//! What dead processes left in the catalog is taken over by the living.
//!
//! Waiting is never failed here: the guard gives work back, it ends none.

use std::time::Duration;

use catalog::{Claim, Untouched};

use crate::{Engine, Error};

/// When the guard steps in.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// A queued run without any work, and untouched for this long, gets its work back.
    pub queued: Duration,
    /// As does a running one not heard from for this long.
    pub running: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            queued: Duration::from_secs(60 * 60),
            running: Duration::from_secs(15 * 60),
        }
    }
}

/// What one round did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Guarded {
    pub runs_recreated: u64,
    pub cancels_finished: u64,
    /// Originals deleted that were left by an interrupted removal, or by a listing that died.
    pub originals_deleted: u64,
    /// Jobs whose counters were not as their rows have it, put right.
    pub jobs_recounted: u64,
    /// Leases of a process that died, ended at the start of the next.
    pub leases_ended: u64,
    /// Steps whose worker was not heard from, taken over under a new fence.
    pub steps_taken_over: u64,
    /// Leases given by a clock that was ahead, which end no later than one given now.
    pub leases_bounded: u64,
    /// Steps put off by a clock that was ahead, due at once since it was set back.
    pub steps_hastened: u64,
}

impl Engine {
    /// Ends every lease, so that what a process held when it died goes on at once rather
    /// than when its lease runs out, and takes away what it staged for a backup. Only for
    /// whoever holds the data folder alone; were an old holder alive after all, the fence
    /// would keep its writes out.
    pub async fn take_over(&self) -> Result<u64, Error> {
        let now = self.parts.clock.now();
        let ended = self.parts.catalog.expire_leases(now).await?;
        if ended > 0 {
            tracing::info!(leases = ended, "took over what a process before held");
        }
        self.kept().guarded.leases_ended += ended;
        self.drop_second_names().await?;
        Ok(ended)
    }

    /// An index that lacks flushes the catalog has recorded was lost, or put back from another
    /// time.
    pub async fn refuse_an_older_index(&self) -> Result<(), Error> {
        let newest = self.parts.catalog.newest_flush().await?;
        self.view(newest).await.map(|_| ())
    }

    /// Notes that a step was claimed whose worker before was not heard from. Its old claim
    /// can write nothing any more.
    pub fn taken_over(&self, claim: &Claim) {
        let (run_id, step) = (claim.run, claim.step.key());
        let unanswered = claim.unanswered;
        tracing::warn!(%run_id, %step, unanswered, "took over from a worker not heard from");
        self.kept().guarded.steps_taken_over += 1;
    }

    /// One round: work that went missing is recreated, jobs whose counters are wrong are put
    /// right, cancels and removals that were interrupted end. Each is counted as it is done, and one that
    /// fails keeps no other from its turn. No lease that is given here is longer than
    /// `longest_lease`.
    pub async fn guard(&self, longest_lease: Duration) -> Result<Guarded, Error> {
        let mut guarded = Guarded::default();
        let parts = [
            self.recreate_work(&mut guarded.runs_recreated).await,
            self.bound_leases(longest_lease, &mut guarded.leases_bounded)
                .await,
            self.hasten(&mut guarded.steps_hastened).await,
            self.recount_jobs(&mut guarded.jobs_recounted).await,
            self.finish_cancels(&mut guarded.cancels_finished).await,
            self.delete_freed(&mut guarded.originals_deleted).await,
        ];
        let mut kept = self.kept();
        kept.guarded.runs_recreated += guarded.runs_recreated;
        kept.guarded.leases_bounded += guarded.leases_bounded;
        kept.guarded.steps_hastened += guarded.steps_hastened;
        kept.guarded.jobs_recounted += guarded.jobs_recounted;
        kept.guarded.cancels_finished += guarded.cancels_finished;
        kept.guarded.originals_deleted += guarded.originals_deleted;
        drop(kept);
        let ended: Result<(), Error> = parts.into_iter().collect();
        ended.map(|()| guarded)
    }

    async fn recreate_work(&self, recreated: &mut u64) -> Result<(), Error> {
        let Settings { queued, running } = self.settings.guard;
        let untouched = Untouched { queued, running };
        let now = self.parts.clock.now();
        let catalog = &self.parts.catalog;
        let runs = catalog.recreate_missing_work(untouched, now).await?;
        for run in &runs {
            tracing::warn!(run_id = %run, "a run had no work left; it was given back");
        }
        if !runs.is_empty() {
            self.work_added();
        }
        *recreated += runs.len() as u64;
        Ok(())
    }

    async fn bound_leases(&self, longest: Duration, bounded: &mut u64) -> Result<(), Error> {
        let now = self.parts.clock.now();
        let leases = self.parts.catalog.bound_leases(longest, now).await?;
        if leases > 0 {
            tracing::warn!(
                leases,
                "the clock was set back; leases given by it are shortened"
            );
        }
        *bounded += leases;
        Ok(())
    }

    async fn hasten(&self, hastened: &mut u64) -> Result<(), Error> {
        let now = self.parts.clock.now();
        let steps = self.parts.catalog.hasten(now).await?;
        if steps > 0 {
            tracing::warn!(steps, "the clock was set back; steps put off by it are due");
            self.work_added();
        }
        *hastened += steps;
        Ok(())
    }

    async fn finish_cancels(&self, finished: &mut u64) -> Result<(), Error> {
        let mut ended = Ok(());
        for (tenant, job) in self.parts.catalog.canceling().await? {
            match self.finish_cancel(tenant, job).await {
                Ok(_) => {
                    tracing::info!(tenant_id = %tenant, job_id = %job, "finished an interrupted cancel");
                    *finished += 1;
                }
                Err(error) => ended = ended.and(Err(error)),
            }
        }
        ended
    }

    /// A job ends when its counter says so. Were the counter ever wrong, the job would wait
    /// for ever: that is a fault of ours, and loud, but no reason to wait.
    async fn recount_jobs(&self, put_right: &mut u64) -> Result<(), Error> {
        let now = self.parts.clock.now();
        let recounted = self.parts.catalog.recount_jobs(now).await?;
        for job in &recounted {
            tracing::warn!(
                tenant_id = %job.tenant, job_id = %job.job, counted = job.counted,
                live = job.live, completed = job.completed,
                "a job had counted its open runs wrongly; it was put right"
            );
        }
        *put_right += recounted.len() as u64;
        Ok(())
    }
}
