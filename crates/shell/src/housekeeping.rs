//! Rounds of the guard and the janitor, and looks at how things stand, at start and from
//! time to time.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use engine::Engine;
use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::Settings;

/// How often free memory is given back to the system.
const MEMORY_EVERY: Duration = Duration::from_secs(60);

/// A round that fails, or panics, is logged and made again at its next time.
pub(crate) async fn run(engine: Arc<Engine>, settings: Settings, stop: CancellationToken) {
    let guard = every("guard", settings.guard_every, || async {
        if let Err(error) = engine.guard(settings.lease).await {
            tracing::warn!(error = error.explain(), "the guard could not end its round");
        }
    });
    let janitor = every("janitor", settings.janitor_every, || async {
        if let Err(error) = engine.tidy().await {
            tracing::warn!(
                error = error.explain(),
                "the janitor could not end its round"
            );
        }
    });
    let memory = every("memory", MEMORY_EVERY, || async {
        // On a thread of its own: others wait for the arena that is looked through.
        drop(tokio::task::spawn_blocking(sandbox::give_back_free_memory).await);
    });
    let load = every("load", settings.load_every, || look(&engine));
    let holdings = every("holdings", settings.holdings_every, || async {
        told(engine.record_holdings().await);
    });
    tokio::select! {
        () = stop.cancelled() => {}
        () = guard => {}
        () = janitor => {}
        () = memory => {}
        () = load => {}
        () = holdings => {}
    }
}

/// Records how queue and flushes stand.
pub(crate) async fn look(engine: &Engine) {
    told(engine.record_load().await);
}

/// Documents are processed whether or not their figures can be kept.
fn told(recorded: Result<(), engine::Error>) {
    if let Err(error) = recorded {
        tracing::warn!(error = error.explain(), "figures could not be recorded");
    }
}

/// The first round at once, the next this long after the start of the last. A panic is our bug,
/// and ends the round it is in: nobody would see that all rounds have ended with it.
async fn every<F: Future<Output = ()>>(
    part: &'static str,
    period: Duration,
    round: impl Fn() -> F,
) {
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if AssertUnwindSafe(round()).catch_unwind().await.is_err() {
            tracing::error!(part, "a round of housekeeping panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_round_that_panics_is_the_last_of_none() {
        let (begun, again) = (AtomicU32::new(0), tokio::sync::Notify::new());
        let rounds = every("test", Duration::from_millis(1), || async {
            assert!(begun.fetch_add(1, Ordering::Relaxed) > 0, "a bug");
            again.notify_one();
        });
        tokio::select! {
            () = rounds => {}
            () = again.notified() => {}
        }
        assert!(begun.load(Ordering::Relaxed) > 1);
    }
}
