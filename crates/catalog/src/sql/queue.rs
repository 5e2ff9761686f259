//! The queue's methods, each given its transaction.

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::{FollowUps, JobStatus, RunId, StepKind};

use super::cells::micros;
use super::claim::{self, Wanted};
use super::dialect::Dialect;
use super::{Sql, steps, unattended, waits};
use crate::{
    Claim, Completion, Error, Prepared, Queue, Retried, RunError, Unattended, UnitDone, Wait,
};

#[async_trait]
impl<DB: Dialect> Queue for Sql<DB> {
    async fn claim(
        &self,
        kinds: &[StepKind],
        worker: &str,
        max: usize,
        lease: Duration,
        now: DateTime<Utc>,
    ) -> Result<Vec<Claim>, Error> {
        let wanted = Wanted {
            kinds: kinds.to_vec(),
            run: None,
            worker: worker.to_owned(),
            max,
            lease,
        };
        let limits = self.limits;
        // Most who ask were told of work that is not theirs: for them nothing is written.
        let kinds = kinds.to_vec();
        let due = self.look_up("catalog.claim", move |c| {
            Box::pin(async move { claim::due::<DB>(c, &kinds, micros(now)).await })
        });
        if !due.await? {
            return Ok(Vec::new());
        }
        self.write("catalog.claim", move |c| {
            Box::pin(claim::claim::<DB>(c, wanted, limits, micros(now)))
        })
        .await
    }

    async fn claim_run(
        &self,
        run: RunId,
        worker: &str,
        max: usize,
        lease: Duration,
        now: DateTime<Utc>,
    ) -> Result<Vec<Claim>, Error> {
        let wanted = Wanted::of_run(run, worker, max, lease);
        let limits = self.limits;
        self.write("catalog.claim_run", move |c| {
            Box::pin(claim::claim::<DB>(c, wanted, limits, micros(now)))
        })
        .await
    }

    async fn unattended(&self, limit: u32, now: DateTime<Utc>) -> Result<Vec<Unattended>, Error> {
        let now = micros(now);
        loop {
            let found = self.read("catalog.unattended", move |c| {
                Box::pin(unattended::list::<DB>(c, limit, now))
            });
            let (runs, paused) = found.await?;
            if !paused {
                return Ok(runs);
            }
            let put_off = self.write("catalog.put_off_paused", move |c| {
                Box::pin(waits::put_off_paused::<DB>(c, now))
            });
            // Others hold them, and are about to move them.
            if put_off.await? == 0 {
                return Ok(runs);
            }
        }
    }

    async fn await_worker(&self, wait: Wait, now: DateTime<Utc>) -> Result<(), Error> {
        let wait = Wait {
            not_before: micros(wait.not_before),
            ..wait
        };
        self.write("catalog.await_worker", move |c| {
            Box::pin(async move { unattended::show::<DB>(c, &wait, micros(now)).await })
        })
        .await
    }

    async fn bury_unattended(
        &self,
        run: RunId,
        error: RunError,
        now: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let limits = self.limits;
        self.write("catalog.bury_unattended", move |c| {
            Box::pin(unattended::bury::<DB>(c, run, error, limits, micros(now)))
        })
        .await
    }

    async fn heartbeat(
        &self,
        claims: &[Claim],
        lease: Duration,
        now: DateTime<Utc>,
    ) -> Result<Vec<bool>, Error> {
        let claims = claims.to_vec();
        self.write("catalog.heartbeat", move |c| {
            Box::pin(async move { claim::heartbeat::<DB>(c, &claims, lease, micros(now)).await })
        })
        .await
    }

    async fn job_gate(&self, claim: &Claim) -> Result<Option<JobStatus>, Error> {
        let claim = claim.clone();
        self.look_up("catalog.job_gate", move |c| {
            Box::pin(async move { waits::job_gate::<DB>(c, &claim).await })
        })
        .await
    }

    async fn prepared(
        &self,
        claim: &Claim,
        prepared: Prepared,
        now: DateTime<Utc>,
    ) -> Result<FollowUps, Error> {
        let claim = claim.clone();
        self.write("catalog.prepared", move |c| {
            Box::pin(async move { steps::prepared::<DB>(c, &claim, &prepared, micros(now)).await })
        })
        .await
    }

    async fn complete_unit(
        &self,
        claim: &Claim,
        done: UnitDone,
        now: DateTime<Utc>,
    ) -> Result<Completion, Error> {
        let claim = claim.clone();
        self.write("catalog.complete_unit", move |c| {
            Box::pin(async move { steps::complete_unit::<DB>(c, &claim, &done, micros(now)).await })
        })
        .await
    }

    async fn release(&self, claim: &Claim, wait: Wait, now: DateTime<Utc>) -> Result<(), Error> {
        let claim = claim.clone();
        let wait = Wait {
            not_before: micros(wait.not_before),
            ..wait
        };
        self.write("catalog.release", move |c| {
            Box::pin(async move { waits::release::<DB>(c, &claim, &wait, micros(now)).await })
        })
        .await
    }

    async fn retry_later(
        &self,
        claim: &Claim,
        error: RunError,
        not_before: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<Retried, Error> {
        let (claim, limits, not_before) = (claim.clone(), self.limits, micros(not_before));
        self.write("catalog.retry_later", move |c| {
            Box::pin(async move {
                waits::retry_later::<DB>(c, &claim, error, not_before, limits, micros(now)).await
            })
        })
        .await
    }

    async fn set_aside(
        &self,
        claim: &Claim,
        error: RunError,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        let claim = claim.clone();
        self.write("catalog.set_aside", move |c| {
            Box::pin(async move { waits::set_aside::<DB>(c, &claim, error, micros(now)).await })
        })
        .await
    }

    async fn fail_run(
        &self,
        claim: &Claim,
        error: RunError,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        let claim = claim.clone();
        self.write("catalog.fail_run", move |c| {
            Box::pin(async move { waits::fail_run::<DB>(c, &claim, error, micros(now)).await })
        })
        .await
    }

    async fn stop_run(&self, claim: &Claim, why: &str, now: DateTime<Utc>) -> Result<(), Error> {
        let (claim, why) = (claim.clone(), why.to_owned());
        self.write("catalog.stop_run", move |c| {
            Box::pin(async move { waits::stop_run::<DB>(c, &claim, &why, micros(now)).await })
        })
        .await
    }

    async fn expire_leases(&self, now: DateTime<Utc>) -> Result<u64, Error> {
        self.write("catalog.expire_leases", move |c| {
            Box::pin(claim::expire::<DB>(c, micros(now)))
        })
        .await
    }

    async fn bound_leases(&self, longest: Duration, now: DateTime<Utc>) -> Result<u64, Error> {
        self.write("catalog.bound_leases", move |c| {
            Box::pin(claim::bound::<DB>(c, micros(now) + longest))
        })
        .await
    }

    async fn hasten(&self, now: DateTime<Utc>) -> Result<u64, Error> {
        self.write("catalog.hasten", move |c| {
            Box::pin(claim::hasten::<DB>(c, micros(now)))
        })
        .await
    }

    async fn busy(&self, now: DateTime<Utc>) -> Result<bool, Error> {
        self.read("catalog.busy", move |c| {
            Box::pin(claim::busy::<DB>(c, micros(now)))
        })
        .await
    }

    async fn next_due(&self) -> Result<Option<DateTime<Utc>>, Error> {
        self.read("catalog.next_due", |c| Box::pin(claim::next_due::<DB>(c)))
            .await
    }
}
