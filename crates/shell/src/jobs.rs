//! Lists the sources of running jobs, one task for each job under way.

use std::sync::Arc;

use catalog::JobClaim;
use engine::jobs::Turn;
use engine::{Disposition, Engine, Error};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Settings;

/// Looks for jobs until stopped; each one found is listed in a task of its own.
pub(crate) async fn run(
    engine: Arc<Engine>,
    settings: Settings,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    let worker = format!("{}-jobs", std::process::id());
    let mut news = engine.news();
    while !stop.is_cancelled() {
        news.borrow_and_update();
        let now = engine.parts().clock.now();
        let claimed = engine
            .parts()
            .catalog
            .claim_job(&worker, settings.lease, now)
            .await;
        match claimed {
            Ok(Some(claim)) => {
                tasks.spawn(list(engine.clone(), settings, claim, stop.clone()));
                continue;
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "cannot claim jobs"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            changed = news.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(settings.poll) => {}
        }
    }
}

/// Lists one job's source under its lease.
async fn list(engine: Arc<Engine>, settings: Settings, claim: JobClaim, stop: CancellationToken) {
    let ended = tokio::select! {
        ended = turns(&engine, claim.clone()) => ended,
        () = lost(&engine, &claim, &settings) => {
            tracing::warn!(job_id = %claim.job, "lease on the job lost; another process lists it");
            return;
        }
        () = stop.cancelled() => Ok(()),
    };
    let catalog = &engine.parts().catalog;
    let recorded = match ended {
        Ok(()) => catalog.release_job(&claim).await,
        Err(error) => match error.disposition() {
            // The lease runs out and the listing goes on at its cursor.
            Disposition::Retry { .. } | Disposition::Wait { .. } | Disposition::Drop => {
                let why = error.explain();
                tracing::warn!(job_id = %claim.job, error = why, "listing interrupted");
                catalog.put_off_job(&claim, &why).await
            }
            Disposition::Reject | Disposition::Halt | Disposition::Stop { .. } => {
                let now = engine.parts().clock.now();
                catalog.fail_job(&claim, &error.explain(), now).await
            }
        },
    };
    if let Err(error) = recorded {
        tracing::warn!(job_id = %claim.job, %error, "could not record how the listing ended");
    }
}

async fn turns(engine: &Engine, claim: JobClaim) -> Result<(), Error> {
    let mut listing = engine.listing(claim).await?;
    loop {
        match engine.list_batch(&mut listing).await? {
            Turn::More => {}
            // The lease is given back, which tells that nothing more is taken in. Resumed, the
            // job is claimed anew and goes on at its cursor.
            Turn::Wait(_) | Turn::Exhausted | Turn::Stopped => return Ok(()),
        }
    }
}

/// Beats for the job's lease; returns when it is lost.
async fn lost(engine: &Engine, claim: &JobClaim, settings: &Settings) {
    loop {
        tokio::time::sleep(settings.heartbeat).await;
        let now = engine.parts().clock.now();
        let catalog = &engine.parts().catalog;
        match catalog.heartbeat_job(claim, settings.lease, now).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => tracing::warn!(%error, "heartbeat of a job failed"),
        }
    }
}
