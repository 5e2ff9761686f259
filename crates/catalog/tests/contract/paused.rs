//! What a pause holds back goes on when it ends, and nothing else does.

use std::time::Duration;

use catalog::{Claim, RunError, Wait};
use chrono::{DateTime, Utc};
use model::PAUSED;

use crate::World;

/// Given back for that reason.
fn wait(why: &str, not_before: DateTime<Utc>) -> Wait {
    Wait {
        not_before,
        why: why.to_owned(),
    }
}

fn broken() -> RunError {
    RunError {
        code: "retries_exhausted".into(),
        message: "the disk hums".into(),
        hint: None,
    }
}

pub async fn a_resumed_job_hastens_nothing_that_waits_for_anything_else(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let listing = world.job("folder").await;
    let files = [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")];
    world.bring(&listing, &files, true).await;
    let claims = world.claim(9).await;
    let [paused, limited, failed, late] = claims.try_into().unwrap();
    let now = world.clock.now();
    catalog.pause_job(tenant, listing.job, now).await.unwrap();
    let in_minutes = |n: u64| now + Duration::from_secs(n * 60);
    let gave = wait(PAUSED, in_minutes(0));
    catalog.release(&paused, gave, now).await.unwrap();
    let why = "the provider asked us to slow down";
    let gave = wait(why, in_minutes(5));
    catalog.release(&limited, gave, now).await.unwrap();
    let retried = catalog.retry_later(&failed, broken(), in_minutes(2), now);
    retried.await.unwrap();
    catalog.resume_job(tenant, listing.job, now).await.unwrap();
    // The gate was asked before the job was resumed, and is told of only now.
    let gave = wait(PAUSED, in_minutes(1));
    catalog.release(&late, gave, now).await.unwrap();

    let shown = async |claim: &Claim| catalog.run(tenant, claim.run).await.unwrap().waiting;
    assert_eq!(shown(&paused).await, None);
    assert_eq!(shown(&late).await, None);
    assert_eq!(shown(&limited).await.as_deref(), Some(why));
    assert!(shown(&failed).await.unwrap().starts_with("attempt 1"));
    for (minutes, due) in [
        (0, vec![paused.run, late.run]),
        (2, vec![failed.run]),
        (5, vec![limited.run]),
    ] {
        let after = in_minutes(minutes) - world.clock.now();
        world.clock.pass(after.to_std().unwrap());
        let mut claimed: Vec<_> = world.claim(9).await.iter().map(|c| c.run).collect();
        claimed.retain(|run| due.contains(run));
        claimed.sort();
        let mut due = due;
        due.sort();
        assert_eq!(claimed, due, "after {minutes} minutes");
    }
}
