//! What is asked of jobs, and what their listings bring.

use std::time::Duration;

use catalog::{Batch, Error, Job, NewJob, NewSource};
use model::{JobId, JobStatus};
use rand::Rng;
use rand::seq::IndexedRandom;
use serde_json::json;

use super::deck::Move;
use super::{FILES, Hand, LISTED};
use crate::world::LEASE;

const JOBS: usize = 3;

impl Hand<'_> {
    pub(super) async fn begin(&mut self) -> Result<(), Error> {
        let jobs = self.world.jobs().await?;
        let live = jobs
            .iter()
            .filter(|job| job.status != JobStatus::Completed)
            .count();
        if live >= JOBS {
            return Ok(());
        }
        let (tenant, kb, now) = (
            self.world.place.tenant,
            self.world.place.kb,
            self.world.clock.now(),
        );
        let catalog = &self.world.catalog;
        let source = NewSource {
            kb,
            kind: "folder".into(),
            name: format!("files {}", self.random.random::<u64>()),
            config: json!({}),
        };
        let source = catalog.create_source(tenant, source, now).await?;
        let first = self.random.random_range(0..=FILES - LISTED);
        let job = NewJob {
            kb,
            source: Some(source.id),
            config: json!({ "first": first }),
            initiated_by: None,
        };
        let job = catalog.create_job(tenant, job, now).await?;
        catalog.start_job(tenant, job.id, now).await.map(drop)
    }

    async fn any_job(&mut self, fits: impl Fn(&Job) -> bool) -> Result<Option<JobId>, Error> {
        let jobs = self.world.jobs().await?;
        let fitting: Vec<_> = jobs.iter().filter(|job| fits(job)).collect();
        Ok(fitting.choose(&mut self.random).map(|job| job.id))
    }

    pub(super) async fn steer(&mut self, next: Move) -> Result<(), Error> {
        let Some(job) = self.any_job(|_| true).await? else {
            return Ok(());
        };
        let (catalog, tenant) = (&self.world.catalog, self.world.place.tenant);
        let now = self.world.clock.now();
        match next {
            Move::StartAgain => catalog.start_job(tenant, job, now).await,
            Move::Pause => catalog.pause_job(tenant, job, now).await,
            _ => catalog.resume_job(tenant, job, now).await,
        }
        .map(drop)
    }

    pub(super) async fn cancel(&mut self, next: Move) -> Result<(), Error> {
        let canceled = next != Move::BeginCancel;
        let fits = |job: &Job| !canceled || job.status == JobStatus::Canceled;
        let Some(job) = self.any_job(fits).await? else {
            return Ok(());
        };
        let (catalog, tenant) = (&self.world.catalog, self.world.place.tenant);
        let now = self.world.clock.now();
        match next {
            Move::BeginCancel => drop(catalog.begin_cancel(tenant, job, now).await?),
            Move::CancelSome => {
                let some = catalog.cancel_some(tenant, job, 2, now).await?;
                self.removing.extend(some);
            }
            Move::Reinstate => drop(catalog.reinstate_some(tenant, job, 2, now).await?),
            _ => drop(catalog.finish_cancel(tenant, job, now).await?),
        }
        Ok(())
    }

    pub(super) async fn forget(&mut self) -> Result<(), Error> {
        let versions: Vec<_> = self.removing.iter().map(|one| one.version).collect();
        let tenant = self.world.place.tenant;
        self.world
            .catalog
            .forget_versions(tenant, &versions)
            .await?;
        self.removing.clear();
        Ok(())
    }

    pub(super) async fn list(&mut self) -> Result<(), Error> {
        let (catalog, now) = (&self.world.catalog, self.world.clock.now());
        let Some(claim) = catalog.claim_job("lister", LEASE, now).await? else {
            return self.list_late().await;
        };
        let nth = self.listings.len();
        self.listings.push(claim);
        for _ in 0..self.random.random_range(0..4) {
            if self.batch(nth).await? {
                return Ok(());
            }
        }
        if self.random.random_bool(0.5) {
            catalog.release_job(&self.listings[nth]).await?;
        }
        Ok(())
    }

    /// By whoever held the listing once, from where they were.
    pub(super) async fn list_late(&mut self) -> Result<(), Error> {
        if self.listings.is_empty() {
            return Ok(());
        }
        let late = self.random.random_range(0..self.listings.len());
        self.batch(late).await.map(drop)
    }

    /// One or two files more, and the cursor past them; whether they were the last.
    pub(super) async fn batch(&mut self, nth: usize) -> Result<bool, Error> {
        let claim = self.listings[nth].clone();
        let at = |value: &serde_json::Value, key: &str| {
            usize::try_from(value[key].as_u64().unwrap_or(0)).expect("a small number")
        };
        let first = at(&claim.config, "first");
        let listed = claim.cursor.as_ref().map_or(0, |cursor| at(cursor, "at"));
        let next = (listed + self.random.random_range(1..=2)).min(LISTED);
        let now = self.world.clock.pass(Duration::from_secs(1));
        let admissions = (listed..next).map(|nth| {
            let (name, text) = self.file(first + nth);
            let mut admission = self.world.place.file(&name, &text, now);
            (admission.job, admission.source) = (Some(claim.job), claim.source);
            admission
        });
        let batch = Batch {
            admissions: admissions.collect(),
            seen: Vec::new(),
            problems: Vec::new(),
            cursor: json!({ "at": next }),
            exhausted: next == LISTED,
        };
        let catalog = &self.world.catalog;
        catalog.admit_batch(&claim, batch.clone(), now).await?;
        self.listings[nth].cursor = Some(batch.cursor);
        Ok(batch.exhausted)
    }

    /// As it is just now.
    fn file(&mut self, nth: usize) -> (String, String) {
        let text = self.random.random_range(0..3);
        (format!("file-{nth}"), format!("text {text}"))
    }

    /// By whoever holds the listing, or held it once.
    pub(super) async fn remove_missing(&mut self) -> Result<(), Error> {
        let Some(claim) = self.listings.choose(&mut self.random) else {
            return Ok(());
        };
        let (catalog, now) = (&self.world.catalog, self.world.clock.now());
        let missing = catalog.unseen(claim, None, 2).await?;
        catalog.remove_missing(claim, missing, now).await.map(drop)
    }

    pub(super) async fn fail_listing(&mut self) -> Result<(), Error> {
        let Some(claim) = self.listings.choose(&mut self.random) else {
            return Ok(());
        };
        let (catalog, now) = (&self.world.catalog, self.world.clock.now());
        catalog.fail_job(claim, "no such folder", now).await
    }

    pub(super) async fn upload(&mut self) -> Result<(), Error> {
        let nth = self.random.random_range(0..FILES);
        let (name, text) = self.file(nth);
        let now = self.world.clock.now();
        let admission = self.world.place.file(&name, &text, now);
        self.world.catalog.admit(admission, now).await.map(drop)
    }
}
