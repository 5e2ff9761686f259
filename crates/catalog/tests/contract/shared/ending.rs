//! Everything asked for is finished, and what jobs have counted is held against the rows.

use std::collections::BTreeSet;

use catalog::{Error, Job, JobFilter, Page, Run, RunFilter};
use model::{JobStatus, RunStatus, SourceUri};

use super::{Hand, LISTED};
use crate::World;
use crate::world::LEASE;

impl Hand<'_> {
    /// Everything asked for is finished, and nothing goes wrong any more.
    pub(super) async fn settle(&mut self) {
        self.forget().await.unwrap();
        for _ in 0..20 {
            self.world.clock.pass(LEASE * 2);
            self.finish_cancels().await;
            if self.finish_jobs().await {
                return;
            }
            self.world.work_off().await;
        }
        let jobs = self.world.jobs().await.unwrap();
        panic!("a job does not end: {jobs:#?}, after {:?}", self.done);
    }

    async fn finish_cancels(&mut self) {
        let catalog = &self.world.catalog;
        for (tenant, job) in catalog.canceling().await.unwrap() {
            loop {
                let now = self.world.clock.now();
                let some = catalog.cancel_some(tenant, job, 9, now).await.unwrap();
                if some.is_empty() {
                    break;
                }
                self.removing.extend(some);
                self.forget().await.unwrap();
            }
            let now = self.world.clock.now();
            while catalog.reinstate_some(tenant, job, 9, now).await.unwrap() > 0 {}
            catalog.finish_cancel(tenant, job, now).await.unwrap();
        }
    }

    /// Whether every job had ended, and every run.
    async fn finish_jobs(&mut self) -> bool {
        let (catalog, tenant) = (&self.world.catalog, self.world.place.tenant);
        let mut ended = true;
        for job in self.world.jobs().await.unwrap() {
            let now = self.world.clock.now();
            match job.status {
                JobStatus::Paused => drop(catalog.resume_job(tenant, job.id, now).await.unwrap()),
                JobStatus::Failed => drop(catalog.start_job(tenant, job.id, now).await.unwrap()),
                _ => {}
            }
            ended &= matches!(job.status, JobStatus::Completed | JobStatus::NotStarted);
        }
        let now = self.world.clock.now();
        while let Some(claim) = catalog.claim_job("last", LEASE, now).await.unwrap() {
            let nth = self.listings.len();
            self.listings.push(claim);
            while !self.batch(nth).await.unwrap() {}
        }
        let runs = self.world.runs().await.unwrap();
        ended && runs.iter().all(|run| run.finished_at.is_some())
    }
}

impl World {
    pub(super) async fn jobs(&self) -> Result<Vec<Job>, Error> {
        let page = Page::first(Page::MAX);
        let jobs = self
            .catalog
            .jobs(self.place.tenant, JobFilter::default(), page);
        Ok(jobs.await?.items)
    }

    pub(super) async fn runs(&self) -> Result<Vec<Run>, Error> {
        let (mut runs, mut page) = (Vec::new(), Page::first(Page::MAX));
        loop {
            let filter = RunFilter::default();
            let listed = self.catalog.runs(self.place.tenant, filter, page).await?;
            runs.extend(listed.items);
            match listed.next {
                Some(next) => page = Page::following(next, Page::MAX),
                None => return Ok(runs),
            }
        }
    }

    /// Nothing is left to do; every job has met all there was, or has left nothing.
    pub(super) async fn has_ended(&self) {
        assert_eq!(self.catalog.next_due().await.unwrap(), None);
        for job in self.jobs().await.unwrap() {
            assert_eq!((job.counters.runs_open, job.counters.runs_awaited), (0, 0));
            if job.status == JobStatus::Completed {
                assert_eq!(job.counters.docs_seen, LISTED as u64, "{job:#?}");
                continue;
            }
            assert_eq!(job.counters, Default::default());
            let page = Page::first(9);
            let left = self.catalog.job_documents(self.place.tenant, job.id, page);
            assert_eq!(left.await.unwrap().items.len(), 0, "{job:#?}");
        }
    }

    pub(super) async fn all_is_proven(&self) {
        self.is_as_noted("in the end").await;
        let runs = self.runs().await.unwrap();
        let documents: BTreeSet<_> = runs.iter().map(|run| run.document).collect();
        for document in documents {
            self.is_proven(document).await;
        }
    }

    /// What ended before a job last began anew was counted then.
    pub(super) async fn counted_what_rows_tell(&self) {
        let runs = self.runs().await.unwrap();
        let jobs = self.jobs().await.unwrap();
        for job in jobs.iter().filter(|j| j.status == JobStatus::Completed) {
            let of = |run: &&Run| run.job == Some(job.id) && run.finished_at >= job.started_at;
            let of: Vec<_> = runs.iter().filter(of).collect();
            let sum = |part: fn(&Run) -> u64| of.iter().map(|run| part(run)).sum::<u64>();
            let claimed = self
                .catalog
                .job_documents(self.place.tenant, job.id, Page::first(99));
            let claimed = claimed.await.unwrap().items;
            let others_failed = |run: &&Run| {
                run.job != Some(job.id)
                    && run.status == RunStatus::Failed
                    && run.finished_at >= job.started_at
            };
            let others = runs.iter().filter(others_failed);
            let met = others
                .clone()
                .filter(|run| claimed.iter().any(|one| one.run == run.id));
            // A purge takes the claim with it, and leaves what the job has counted.
            let purged = others.filter(|run| run.source_uri == SourceUri::purged().as_str());
            let failed = sum(|run| u64::from(run.status == RunStatus::Failed)) + met.count() as u64;
            let told = job.counters.runs_failed;
            let most = failed + purged.count() as u64;
            assert!(
                (failed..=most).contains(&told),
                "{failed} to {most}: {job:#?}"
            );
            let rows = [
                sum(|run| run.stats.chunks_processed),
                sum(|run| run.stats.chunks_skipped),
                sum(|run| run.stats.chunks_error),
            ];
            let counted = [
                job.counters.chunks_processed,
                job.counters.chunks_skipped,
                job.counters.chunks_error,
            ];
            assert_eq!(counted, rows, "{job:#?}");
        }
    }
}
