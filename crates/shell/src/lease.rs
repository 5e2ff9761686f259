//! The claims this process holds, kept alive by a timer.
//!
//! A claim whose lease was lost is told so: its task stops. Were it to go on,
//! the fence would refuse its writes; stopping only saves the work.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use catalog::Claim;
use engine::Engine;
use tokio_util::sync::CancellationToken;

#[derive(Clone, Default)]
pub(crate) struct Held(Arc<Mutex<HashMap<u64, Entry>>>);

struct Entry {
    claim: Claim,
    lost: CancellationToken,
}

impl Held {
    /// Registers a claim by its fence, which no other claim shares.
    pub(crate) fn hold(&self, claim: Claim) -> Hold {
        let lost = CancellationToken::new();
        let token = claim.token;
        let entry = Entry {
            claim,
            lost: lost.clone(),
        };
        self.lock().insert(token, entry);
        Hold {
            held: self.clone(),
            token,
            lost,
        }
    }

    pub(crate) fn claims(&self) -> Vec<Claim> {
        self.lock().values().map(|e| e.claim.clone()).collect()
    }

    fn lose(&self, token: u64) {
        if let Some(entry) = self.lock().get(&token) {
            entry.lost.cancel();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Entry>> {
        self.0
            .lock()
            .expect("nothing panics while it holds the claims")
    }
}

/// A claim is held for as long as this lives.
pub(crate) struct Hold {
    held: Held,
    token: u64,
    lost: CancellationToken,
}

impl Hold {
    pub(crate) async fn lost(&self) {
        self.lost.cancelled().await;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.held.lock().remove(&self.token);
    }
}

/// Beats for as long as it is polled, also while the last deliveries end. A beat that fails is tried again at the next tick; the
/// lease is long enough for several.
pub(crate) async fn beat(engine: Arc<Engine>, held: Held, every: Duration, lease: Duration) {
    let mut tick = tokio::time::interval(every);
    let mut suspected = HashSet::new();
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let claims = held.claims();
        if claims.is_empty() {
            continue;
        }
        let now = engine.parts().clock.now();
        match engine.parts().catalog.heartbeat(&claims, lease, now).await {
            Ok(still) => {
                let unknown: HashSet<u64> = claims
                    .iter()
                    .zip(still)
                    .filter(|(_, held)| !held)
                    .map(|(claim, _)| claim.token)
                    .collect();
                // A step that ended while we asked is unknown too; it is gone by the next beat.
                for token in unknown.intersection(&suspected) {
                    held.lose(*token);
                }
                suspected = unknown;
            }
            Err(error) => tracing::warn!(%error, "heartbeat failed"),
        }
    }
}
