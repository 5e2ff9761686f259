//! What workers do, in time or late, and whoever meddles with documents meanwhile.

use std::time::Duration;

use catalog::{Claim, Error, Page, Removal, Run, RunError, Untouched, Wait, every};
use model::{DocumentId, JobStatus, RunStatus};
use rand::Rng;
use rand::seq::IndexedRandom;

use super::Hand;
use super::deck::Move;
use crate::world::{ALL, LEASE};

impl Hand<'_> {
    pub(super) async fn claim(&mut self) -> Result<(), Error> {
        let max = self.random.random_range(1..5);
        let (catalog, now) = (&self.world.catalog, self.world.clock.now());
        let claims = catalog.claim(&ALL, "worker", max, LEASE, now).await?;
        self.claims.extend(claims);
        Ok(())
    }

    pub(super) async fn work(&mut self) -> Result<(), Error> {
        if self.claims.is_empty() {
            self.claim().await?;
        }
        let Some(claim) = self.claims.pop() else {
            return Ok(());
        };
        self.late.push(claim.clone());
        let (catalog, now) = (&self.world.catalog, self.world.clock.now());
        match catalog.job_gate(&claim).await? {
            Some(JobStatus::Paused) => {
                let wait = Wait {
                    not_before: now + LEASE,
                    why: "paused".into(),
                };
                catalog.release(&claim, wait, now).await
            }
            Some(JobStatus::Canceled | JobStatus::NotStarted) => {
                catalog.stop_run(&claim, "Canceled by user", now).await
            }
            _ => self.perform(&claim).await,
        }
    }

    async fn perform(&mut self, claim: &Claim) -> Result<(), Error> {
        let (catalog, now) = (&self.world.catalog, self.world.clock.now());
        let error = || RunError {
            code: "test".into(),
            message: "it went wrong".into(),
            hint: None,
        };
        match self.random.random_range(0..20) {
            0 => catalog.fail_run(claim, error(), now).await,
            1 => catalog.set_aside(claim, error(), now).await,
            2 => catalog
                .retry_later(claim, error(), now + LEASE, now)
                .await
                .map(drop),
            // Its worker is not heard from again.
            3 => Ok(()),
            _ => self.world.perform(claim).await,
        }
    }

    /// By whoever held the step once.
    pub(super) async fn work_late(&mut self) -> Result<(), Error> {
        match self.late.choose(&mut self.random).cloned() {
            Some(late) => self.perform(&late).await,
            None => Ok(()),
        }
    }

    pub(super) async fn answer_letter(&mut self, next: Move) -> Result<(), Error> {
        let (catalog, tenant) = (&self.world.catalog, self.world.place.tenant);
        let letters = catalog.dead_letters(tenant, Page::first(50)).await?.items;
        let Some(letter) = letters.choose(&mut self.random) else {
            return Ok(());
        };
        let now = self.world.clock.now();
        match next {
            Move::Drop => catalog.drop_dead_letter(tenant, letter.id).await,
            _ => catalog
                .replay_dead_letter(tenant, letter.id, now)
                .await
                .map(drop),
        }
    }

    pub(super) async fn retry(&mut self) -> Result<(), Error> {
        let ended = |run: &Run| matches!(run.status, RunStatus::Failed | RunStatus::Canceled);
        let runs = self.world.runs().await?;
        let ended: Vec<_> = runs.iter().filter(|run| ended(run)).collect();
        let Some(run) = ended.choose(&mut self.random) else {
            return Ok(());
        };
        let (catalog, now) = (&self.world.catalog, self.world.clock.now());
        catalog
            .retry_run(self.world.place.tenant, run.id, now)
            .await
            .map(drop)
    }

    pub(super) async fn meddle(&mut self, next: Move) -> Result<(), Error> {
        let runs = self.world.runs().await?;
        let Some(document) = runs.choose(&mut self.random).map(|run| run.document) else {
            return Ok(());
        };
        let (catalog, tenant) = (&self.world.catalog, self.world.place.tenant);
        let now = self.world.clock.now();
        match next {
            Move::Purge => {
                let versions = catalog.begin_purge(tenant, document, None, now).await?;
                self.removing.extend(versions);
                Ok(())
            }
            Move::Deactivate => catalog
                .deactivate(tenant, document, Removal::default(), now)
                .await
                .map(drop),
            _ => self.roll_back(document).await,
        }
    }

    async fn roll_back(&mut self, document: DocumentId) -> Result<(), Error> {
        let (catalog, tenant) = (&self.world.catalog, self.world.place.tenant);
        let versions = every(|page| catalog.versions(tenant, document, page)).await?;
        let Some(version) = versions.choose(&mut self.random) else {
            return Ok(());
        };
        let now = self.world.clock.now();
        catalog
            .rollback(tenant, document, version.id, None, now)
            .await
    }

    pub(super) async fn guard(&mut self) -> Result<(), Error> {
        let untouched = Untouched {
            queued: Duration::ZERO,
            running: Duration::ZERO,
        };
        let (catalog, now) = (&self.world.catalog, self.world.clock.now());
        catalog
            .recreate_missing_work(untouched, now)
            .await
            .map(drop)
    }
}
